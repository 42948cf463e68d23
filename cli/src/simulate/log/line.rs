//! One line of a log: the values of the fields that are asked for, and nothing else of it.

use std::borrow::Cow;

use sonic_rs::{LazyValue, to_object_iter};

use super::time::Times;
use crate::simulate::field::{Fields, Key, Target};
use crate::simulate::record::Record;

/// Reads lines into records.
#[derive(Debug)]
pub(crate) struct Reader {
    /// For each field its first step, and the steps behind that.
    keys: Vec<(String, Vec<String>)>,
    names: Vec<String>,
    time: usize,
    status: usize,
    times: Times,
    /// The names of the last line in their order, each with the fields that it is asked for: lines of one log look alike.
    last: Vec<(String, Vec<usize>)>,
}

impl Reader {
    pub(crate) fn new(fields: &Fields) -> Self {
        let key = |key: &Key| match key {
            Key::Name(name) => (name.clone(), Vec::new()),
            Key::Pointer(steps) => match steps.split_first() {
                Some((first, rest)) => (first.clone(), rest.to_vec()),
                None => (String::new(), Vec::new()),
            },
        };
        let place = |target| fields.find(&target).unwrap_or(usize::MAX);
        Self {
            keys: fields.iter().map(|field| key(&field.key)).collect(),
            names: fields.iter().map(|field| field.key.to_string()).collect(),
            time: place(Target::Time),
            status: place(Target::Status),
            times: Times::default(),
            last: Vec::new(),
        }
    }

    /// Reads a line into `record`.
    ///
    /// # Errors
    /// Why it is not a request that can be replayed.
    pub(crate) fn read(&mut self, line: &[u8], record: &mut Record) -> Result<(), String> {
        record.clear(self.keys.len());
        if !line.starts_with(b"{") {
            return Err("it is not a JSON object".to_owned());
        }
        if !line.ends_with(b"}") {
            return Err("it ends in the middle of its JSON object".to_owned());
        }
        for (place, entry) in to_object_iter(line).enumerate() {
            let (name, value) = entry.map_err(|_| "it is not JSON".to_owned())?;
            if self.last.get(place).is_none_or(|(last, _)| *last != *name) {
                self.learn(place, &name);
            }
            let fields = self.last.get(place).map_or(&[][..], |(_, fields)| fields);
            for index in fields {
                let rest = self.keys.get(*index).map_or(&[][..], |(_, rest)| rest);
                if rest.is_empty() {
                    set(record, *index, value.as_raw_str())
                } else {
                    set_nested(record, *index, &value, rest)
                }
                .map_err(|fault| {
                    let name = self.names.get(*index).map_or("", String::as_str);
                    format!("`{name}` {fault}")
                })?;
            }
        }
        let time = record.get(self.time);
        if time.is_empty() {
            let name = self.names.get(self.time).map_or("", String::as_str);
            return Err(format!("it has no `{name}` to tell the time by"));
        }
        record.time = self
            .times
            .read(time)
            .ok_or_else(|| "its time is neither RFC 3339 nor a number since 1970".to_owned())?;
        record.status = core::str::from_utf8(record.get(self.status))
            .ok()
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        Ok(())
    }

    /// Remembers which fields the name at this place of a line is asked for.
    fn learn(&mut self, place: usize, name: &str) {
        let keys = self.keys.iter().enumerate();
        let asked = keys
            .filter(|(_, (first, _))| first == name)
            .map(|(index, _)| index);
        let known = (name.to_owned(), asked.collect());
        match self.last.get_mut(place) {
            Some(last) => *last = known,
            None => self.last.push(known),
        }
    }
}

/// Sets a field to a value in its JSON text.
fn set(record: &mut Record, index: usize, raw: &str) -> Result<(), &'static str> {
    match raw.as_bytes() {
        [b'"', inside @ .., b'"'] => {
            if memchr::memchr(b'\\', inside).is_none() {
                record.set(index, inside);
            } else {
                let text: Cow<'_, str> = serde_json::from_str(raw).map_err(|_| "is no text")?;
                record.set(index, text.as_bytes());
            }
            Ok(())
        }
        b"null" => Ok(()),
        [b'-' | b'0'..=b'9', ..] | b"true" | b"false" => {
            record.set(index, raw.as_bytes());
            Ok(())
        }
        [b'{', ..] => Err("is an object; name a text in it, by a JSON pointer"),
        _ => Err("is a list; name a text in it, by a JSON pointer"),
    }
}

/// Sets a field to what lies deeper in a value; what is not there is absent.
fn set_nested(
    record: &mut Record,
    index: usize,
    value: &LazyValue<'_>,
    steps: &[String],
) -> Result<(), &'static str> {
    let found = sonic_rs::get(value.as_raw_str(), steps.iter().map(String::as_str));
    match found {
        Ok(found) => set(record, index, found.as_raw_str()),
        Err(_) => Ok(()),
    }
}
