//! A load as an access log, which `--log` reads back.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

use serde::Serialize as _;
use serde_json::Serializer;

use crate::simulate::field::{Fields, Key, Target};
use crate::simulate::moment;
use crate::simulate::record::Record;

/// Writes records as lines.
pub(crate) struct Emitter {
    file: BufWriter<File>,
    /// Fields beside the time and the status: those of their own, and those in `headers`.
    own: Vec<(usize, String)>,
    headers: Vec<(usize, String)>,
}

impl Emitter {
    /// Writes to a new file.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn new(path: &Path, fields: &Fields) -> Result<Self> {
        let mut own = Vec::new();
        let mut headers = Vec::new();
        for (index, field) in fields.iter().enumerate() {
            match (&field.target, &field.key) {
                (Target::Time | Target::Status, _) => {}
                (Target::Header(name), _) => headers.push((index, name.clone())),
                (_, Key::Name(name)) => own.push((index, name.clone())),
                (_, Key::Pointer(_)) => {}
            }
        }
        Ok(Self {
            file: BufWriter::with_capacity(1 << 20, File::create(path)?),
            own,
            headers,
        })
    }

    /// Writes a record.
    ///
    /// # Errors
    /// The disk is full, or the like.
    pub(crate) fn write(&mut self, record: &Record) -> Result<()> {
        let file = &mut self.file;
        write!(file, "{{\"time\":\"{}\"", moment::precise(record.time))?;
        for (index, name) in &self.own {
            let value = record.get(*index);
            if !value.is_empty() {
                write!(file, ",\"{name}\":")?;
                text(file, value)?;
            }
        }
        if record.status != 0 {
            write!(file, ",\"status\":{}", record.status)?;
        }
        let mut open = false;
        for (index, name) in &self.headers {
            let value = record.get(*index);
            if !value.is_empty() {
                file.write_all(if open { b"," } else { b",\"headers\":{" })?;
                open = true;
                text(file, name.as_bytes())?;
                file.write_all(b":")?;
                text(file, value)?;
            }
        }
        file.write_all(if open { b"}}\n" } else { b"}\n" })
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The disk is full, or the like.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.file.flush()
    }
}

fn text(file: &mut impl Write, value: &[u8]) -> Result<()> {
    // A load is JSON, so its values are text.
    let value = String::from_utf8_lossy(value);
    value.serialize(&mut Serializer::new(file))?;
    Ok(())
}
