//! From files, standard input or a load to the stage.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;
use tidegate_core::policy::Policy;

use super::field::Fields;
use super::load::{Emitter, Generator, Spec};
use super::log::{Line, Lines, MAX_LINE, Reader, Reorder};
use super::progress;
use super::record::Record;
use super::stage::Stage;

/// How many lines that cannot be read are shown.
const EXAMPLES: usize = 5;

/// After how many requests the progress is told.
const TOLD: u64 = 16_384;

/// What is played.
pub(crate) enum Source {
    Logs(Logs),
    Load {
        specs: Vec<Spec>,
        /// Where it is written to as a log, beside being played.
        emit: Option<PathBuf>,
    },
}

/// Logs, one after the other.
pub(crate) struct Logs {
    /// `-` is standard input.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) fields: Fields,
    /// For how long a request is held back in case an earlier one comes, in nanoseconds.
    pub(crate) window: u64,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// Lines that are not empty.
    pub(crate) lines: u64,
    /// Lines that are no request.
    pub(crate) unreadable: u64,
    /// The first of them: file, line, and why.
    pub(crate) examples: Vec<(String, u64, String)>,
}

/// Plays everything.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn run(
    source: &Source,
    policy: Policy,
    other: Option<Policy>,
) -> Result<(Stage, Fields, Read)> {
    match source {
        Source::Logs(logs) => {
            let mut stage = Stage::new(policy, other, &logs.fields);
            let read = logs.play(&mut stage)?;
            Ok((stage, logs.fields.clone(), read))
        }
        Source::Load { specs, emit } => {
            let mut generator = Generator::new(specs)?;
            let mut stage = Stage::new(policy, other, generator.fields());
            generate(&mut generator, emit.as_deref(), &mut stage)?;
            Ok((stage, generator.fields().clone(), Read::default()))
        }
    }
}

fn generate(generator: &mut Generator, emit: Option<&Path>, stage: &mut Stage) -> Result<()> {
    let failed = || {
        let file = emit.map(|file| file.display().to_string());
        format!("`{}` cannot be written", file.unwrap_or_default())
    };
    let mut emitter = match emit {
        Some(file) => Some(Emitter::new(file, generator.fields()).with_context(failed)?),
        None => None,
    };
    let bar = progress::requests(super::number::whole(generator.total()));
    let mut record = Record::default();
    while generator.next(&mut record) {
        if let Some(emitter) = &mut emitter {
            emitter.write(&record).with_context(failed)?;
        }
        stage.play(&record);
        if stage.requests().is_multiple_of(TOLD) {
            bar.set_position(stage.requests());
        }
    }
    bar.finish_and_clear();
    match emitter {
        Some(emitter) => emitter.finish().with_context(failed),
        None => Ok(()),
    }
}

impl Logs {
    fn play(&self, stage: &mut Stage) -> Result<Read> {
        let mut read = Read::default();
        let mut reader = Reader::new(&self.fields);
        let mut reorder = Reorder::new(self.window);
        let piped = self.files.iter().any(|file| is_stdin(file));
        let sizes = self.files.iter().filter_map(|file| fs::metadata(file).ok());
        let bar = if piped {
            progress::stream()
        } else {
            progress::bytes(sizes.map(|data| data.len()).sum())
        };
        for file in &self.files {
            let name = if is_stdin(file) {
                "standard input".to_owned()
            } else {
                file.display().to_string()
            };
            let stream: Box<dyn io::Read> = if is_stdin(file) {
                Box::new(io::stdin().lock())
            } else {
                Box::new(File::open(file).with_context(|| format!("`{name}` cannot be read"))?)
            };
            let stream = Watched {
                stream,
                bar: bar.clone(),
            };
            let mut whole = One {
                name: &name,
                number: 0,
                read: &mut read,
            };
            whole
                .play(stream, &mut reader, &mut reorder, stage)
                .with_context(|| format!("`{name}` cannot be read"))?;
        }
        while reorder.pop(true, |record| stage.play(record)) {}
        bar.finish_and_clear();
        Ok(read)
    }
}

/// One log.
struct One<'a> {
    name: &'a str,
    number: u64,
    read: &'a mut Read,
}

impl One<'_> {
    fn play(
        &mut self,
        stream: impl io::Read,
        reader: &mut Reader,
        reorder: &mut Reorder,
        stage: &mut Stage,
    ) -> io::Result<()> {
        let mut lines = Lines::new(stream);
        while let Some(line) = lines.next()? {
            self.number = self.number.saturating_add(1);
            let line = match line {
                Line::Whole(line) if line.trim_ascii().is_empty() => continue,
                Line::Whole(line) => line,
                Line::TooLong => {
                    self.read.lines = self.read.lines.saturating_add(1);
                    self.unreadable(format!("it is longer than {MAX_LINE} bytes"));
                    continue;
                }
            };
            self.read.lines = self.read.lines.saturating_add(1);
            let (place, record) = reorder.blank();
            match reader.read(line.trim_ascii(), record) {
                Ok(()) => reorder.push(place),
                Err(why) => {
                    reorder.discard(place);
                    self.unreadable(why);
                }
            }
            while reorder.pop(false, |record| stage.play(record)) {}
        }
        Ok(())
    }

    fn unreadable(&mut self, why: String) {
        let read = &mut *self.read;
        read.unreadable = read.unreadable.saturating_add(1);
        if read.examples.len() < EXAMPLES {
            read.examples.push((self.name.to_owned(), self.number, why));
        }
    }
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// A stream whose bytes the progress is told of.
struct Watched<R> {
    stream: R,
    bar: ProgressBar,
}

impl<R: io::Read> io::Read for Watched<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(room)?;
        self.bar.inc(u64::try_from(count).unwrap_or(0));
        Ok(count)
    }
}
