//! One line of a log: the values of the fields that are asked for, and nothing else of it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::flat::{self, Expected};
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
    /// The names of the last line in their order: lines of one log look alike.
    last: Vec<Expected>,
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
        if !line.starts_with(b"{") {
            return Err("it is not a JSON object".to_owned());
        }
        let mut pointers = record.hold(self.keys.len(), line);
        let set = |field, value: &[u8], start| pointers.set(field, value, start);
        if flat::read(line, &self.last, set).is_none() {
            let line =
                simdutf8::basic::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
            record.clear(self.keys.len());
            self.parse(line, record)?;
        }
        self.date(record)
    }

    /// Reads a line of any kind, and remembers its names.
    fn parse(&mut self, line: &str, record: &mut Record) -> Result<(), String> {
        let mut fault = None;
        let mut json = serde_json::Deserializer::from_str(line);
        let object = Object {
            reader: self,
            record,
            fault: &mut fault,
        };
        let read = json.deserialize_map(object).and_then(|()| json.end());
        if let Err(error) = read {
            return Err(match fault {
                Some(fault) => fault,
                None if error.is_eof() => "it ends in the middle of its JSON object".to_owned(),
                None => "it is not JSON".to_owned(),
            });
        }
        Ok(())
    }

    /// Reads the time and the status from the fields.
    fn date(&mut self, record: &mut Record) -> Result<(), String> {
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

    /// The names of the last line.
    #[cfg(test)]
    pub(super) fn last(&self) -> &[Expected] {
        &self.last
    }

    /// Remembers which fields the name at this place of a line is asked for.
    fn learn(&mut self, place: usize, name: &str) {
        let keys = self.keys.iter().enumerate();
        let asked = keys.filter(|(_, (first, _))| first == name);
        let whole = asked.clone().all(|(_, (_, rest))| rest.is_empty());
        let fields = asked.map(|(index, _)| index).collect();
        let known = Expected::new(place == 0, name, fields, whole);
        match self.last.get_mut(place) {
            Some(last) => *last = known,
            None => self.last.push(known),
        }
    }
}

/// The object that a line is.
struct Object<'a> {
    reader: &'a mut Reader,
    record: &'a mut Record,
    /// What is wrong with a value that is JSON.
    fault: &'a mut Option<String>,
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self {
            reader,
            record,
            fault,
        } = self;
        let mut place = 0_usize;
        while let Some(name) = map.next_key_seed(Name)? {
            let known = reader.last.get(place);
            if known.is_none_or(|last| *last.name != *name) {
                reader.learn(place, &name);
            }
            let fields = reader.last.get(place);
            let fields = fields.map_or(&[][..], |last| &last.fields);
            place = place.saturating_add(1);
            let steps = |index: usize| reader.keys.get(index).map_or(&[][..], |(_, rest)| rest);
            let set = match *fields {
                [] => map.next_value::<IgnoredAny>().map(|_| Ok(()))?,
                [index] if steps(index).is_empty() => {
                    map.next_value_seed(Text { record, index })?
                }
                _ => {
                    let value = map.next_value::<&RawValue>()?;
                    let mut fields = fields.iter().copied();
                    fields.try_for_each(|index| set_nested(record, index, value, steps(index)))
                }
            };
            if let Err(why) = set {
                let index = fields.first().copied().unwrap_or(0);
                let name = reader.names.get(index).map_or("", String::as_str);
                *fault = Some(format!("`{name}` {why}"));
                return Err(A::Error::custom(""));
            }
        }
        Ok(())
    }
}

/// A name, borrowed from the line unless it has escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

/// A value that becomes a field's text; what cannot is told.
struct Text<'a> {
    record: &'a mut Record,
    index: usize,
}

type Set = Result<(), &'static str>;

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = Set;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Set, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text<'_> {
    type Value = Set;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    #[inline]
    fn visit_str<E>(self, text: &str) -> Result<Set, E> {
        self.record.set(self.index, text.as_bytes());
        Ok(Ok(()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Set, E> {
        let text = itoa::Buffer::new().format(number).to_owned();
        self.record.set(self.index, text.as_bytes());
        Ok(Ok(()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Set, E> {
        self.record.set(self.index, number.to_string().as_bytes());
        Ok(Ok(()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Set, E> {
        self.record.set(self.index, number.to_string().as_bytes());
        Ok(Ok(()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Set, E> {
        self.record.set(self.index, value.to_string().as_bytes());
        Ok(Ok(()))
    }

    fn visit_unit<E>(self) -> Result<Set, E> {
        Ok(Ok(()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Set, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Err("is an object; name a text in it, by a JSON pointer"))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Set, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Err("is a list; name a text in it, by a JSON pointer"))
    }
}

/// Sets a field to what lies deeper in a value; what is not there is absent.
fn set_nested(record: &mut Record, index: usize, value: &RawValue, steps: &[String]) -> Set {
    let mut value = value;
    let mut inner: std::collections::BTreeMap<Cow<'_, str>, &RawValue>;
    for step in steps {
        inner = match serde_json::from_str(value.get()) {
            Ok(inner) => inner,
            Err(_) => return Ok(()),
        };
        match inner.get(step.as_str()) {
            Some(found) => value = found,
            None => return Ok(()),
        }
    }
    let mut json = serde_json::Deserializer::from_str(value.get());
    Text { record, index }
        .deserialize(&mut json)
        .unwrap_or(Err("is no text"))
}
