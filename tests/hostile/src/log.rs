//! Envoy's access log: each request is in it when it begins, and when it is over.

use std::collections::BTreeMap;

use serde_json::Value;

/// The lines of an access log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    begun: Vec<Value>,
    ended: Vec<Value>,
}

impl Log {
    pub(crate) fn new(lines: Vec<Value>) -> Self {
        let (begun, ended) = lines
            .into_iter()
            .partition(|line| line["line"] == "DownstreamStart");
        Self { begun, ended }
    }

    /// The lines of requests that are over.
    pub(crate) fn ended(&self) -> &[Value] {
        &self.ended
    }

    /// How each request ended, by its number.
    pub(crate) fn by_number(&self) -> BTreeMap<u64, &Value> {
        let numbered = self.ended.iter().filter_map(|line| {
            let number = line["number"].as_str()?.parse().ok()?;
            Some((number, line))
        });
        numbered.collect()
    }

    /// The lines of requests that have begun and are not over.
    pub(crate) fn open(&self) -> Vec<&Value> {
        let mut ends: BTreeMap<String, usize> = BTreeMap::new();
        for line in &self.ended {
            *ends.entry(request(line)).or_default() += 1;
        }
        let open = self.begun.iter().filter(|line| {
            let left = ends.entry(request(line)).or_default();
            let open = *left == 0;
            *left = left.saturating_sub(1);
            open
        });
        open.collect()
    }

    /// All that is written of the connections that brought the request of this number.
    pub(crate) fn beside(&self, number: u64) -> Vec<&Value> {
        let number = number.to_string();
        let all = || self.begun.iter().chain(&self.ended);
        let of = |line: &&Value| line["number"] == number.as_str();
        let connections: Vec<&Value> = all().filter(of).map(|line| &line["connection"]).collect();
        all()
            .filter(|line| connections.contains(&&line["connection"]))
            .collect()
    }
}

/// What is the same in the two lines of a request.
fn request(line: &Value) -> String {
    format!("{} {}", line["connection"], line["request_id"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_has_begun_and_is_not_over_is_open() {
        let line = |kind: &str, connection: u64, id: &str, number: &str| json!({"line": kind, "connection": connection, "request_id": id, "number": number});
        let log = Log::new(vec![
            line("DownstreamStart", 1, "a", "7"),
            line("DownstreamStart", 1, "b", "8"),
            line("DownstreamStart", 2, "b", "9"),
            line("DownstreamEnd", 1, "a", "7"),
            line("DownstreamEnd", 2, "b", "9"),
        ]);
        assert_eq!(log.open(), [&line("DownstreamStart", 1, "b", "8")]);
        assert_eq!(log.ended().len(), 2);
        let numbered: Vec<u64> = log.by_number().into_keys().collect();
        assert_eq!(numbered, [7, 9]);
        assert_eq!(log.beside(8).len(), 3);
        assert!(log.beside(1).is_empty());
    }
}
