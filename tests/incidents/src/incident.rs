//! What a scenario shows: figures of the guard that failed then and of Tidegate beside it, and the outcomes that are stated.

use crate::chart::Chart;

/// An outage that was replayed.
#[derive(Debug)]
pub(crate) struct Incident {
    /// Its number in the list of incidents.
    pub(crate) number: u8,
    pub(crate) title: &'static str,
    /// What happened then, in a sentence or two.
    pub(crate) story: &'static str,
    /// The guard that failed.
    pub(crate) then: &'static str,
    /// The policy that stands against it.
    pub(crate) policy: &'static str,
    /// In what the replay differs from what happened.
    pub(crate) scale: Vec<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) chart: Option<Chart>,
}

/// A line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) then: String,
    pub(crate) now: String,
    pub(crate) stated: Option<Stated>,
}

/// An outcome that has to hold.
#[derive(Debug)]
pub(crate) struct Stated {
    pub(crate) wanted: String,
    pub(crate) holds: bool,
}

impl Incident {
    /// Figures that nothing is stated about.
    pub(crate) fn figure(
        &mut self,
        what: impl Into<String>,
        then: impl ToString,
        now: impl ToString,
    ) {
        self.rows.push(Row {
            what: what.into(),
            then: then.to_string(),
            now: now.to_string(),
            stated: None,
        });
    }

    /// Figures, and what has to hold of them.
    pub(crate) fn check(
        &mut self,
        what: impl Into<String>,
        then: impl ToString,
        now: impl ToString,
        wanted: impl Into<String>,
        holds: bool,
    ) {
        self.rows.push(Row {
            what: what.into(),
            then: then.to_string(),
            now: now.to_string(),
            stated: Some(Stated {
                wanted: wanted.into(),
                holds,
            }),
        });
    }

    /// The rows whose stated outcome does not hold.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(|row| row.stated.as_ref().is_some_and(|stated| !stated.holds))
    }
}

/// A number as people write it: `487,195`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A share in percent: `73.9 %`.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::{grouped, share};

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(487_195), "487,195");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(share(74, 100), "74.0 %");
        assert_eq!(share(0, 0), "-");
    }
}
