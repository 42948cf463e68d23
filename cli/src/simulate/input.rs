//! From files, standard input or a load to the stage.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
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

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What is played.
pub(crate) enum Source {
    Logs(Logs),
    Load {
        specs: Vec<Spec>,
        /// Where it is written to as a log, beside being played.
        emit: Option<PathBuf>,
    },
}

/// Logs, side by side.
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
    /// Plays all logs side by side: whichever has the earliest request comes first, as it came then.
    fn play(&self, stage: &mut Stage) -> Result<Read> {
        let piped = self.files.iter().filter(|file| is_stdin(file)).count();
        ensure!(
            piped <= 1,
            "`-` is named {piped} times; standard input is one log"
        );
        let sizes = self.files.iter().filter_map(|file| fs::metadata(file).ok());
        let bar = if piped > 0 {
            progress::stream()
        } else {
            progress::bytes(sizes.map(|data| data.len()).sum())
        };
        let mut read = Read::default();
        let mut logs = Vec::new();
        let mut next = BinaryHeap::new();
        for file in &self.files {
            let mut log = self.open(file, &bar)?;
            if let Some(time) = log.next(&mut read)? {
                next.push(Reverse((time, logs.len())));
            }
            logs.push(log);
        }
        while let Some(Reverse((_, index))) = next.pop() {
            let Some(log) = logs.get_mut(index) else {
                break;
            };
            // As long as no other log has an earlier one, nobody need be asked.
            let others = next.peek().map_or(u64::MAX, |Reverse((time, _))| *time);
            loop {
                log.play(stage);
                match log.next(&mut read)? {
                    Some(time) if time <= others => {}
                    Some(time) => {
                        next.push(Reverse((time, index)));
                        break;
                    }
                    None => break,
                }
            }
        }
        bar.finish_and_clear();
        Ok(read)
    }

    fn open(&self, file: &Path, bar: &ProgressBar) -> Result<Log> {
        let (name, stream): (_, Box<dyn io::Read>) = if is_stdin(file) {
            ("standard input".to_owned(), Box::new(io::stdin()))
        } else {
            let name = file.display().to_string();
            let stream = File::open(file).with_context(|| format!("`{name}` cannot be read"))?;
            (name, Box::new(stream))
        };
        let bar = bar.clone();
        Ok(Log {
            name,
            number: 0,
            lines: Lines::new(Watched { stream, bar }),
            reader: Reader::new(&self.fields),
            reorder: Reorder::new(self.window),
            over: false,
        })
    }
}

/// One log that is being read.
struct Log {
    name: String,
    /// The line that was read last.
    number: u64,
    lines: Lines<Watched>,
    reader: Reader,
    reorder: Reorder,
    /// Whether its end was reached.
    over: bool,
}

impl Log {
    /// Reads on until its next request is known, and says when that came; `None`: there is none.
    fn next(&mut self, read: &mut Read) -> Result<Option<u64>> {
        while !self.over && self.reorder.next(false).is_none() {
            self.line(read)
                .with_context(|| format!("`{}` cannot be read", self.name))?;
        }
        Ok(self.reorder.next(self.over))
    }

    /// Plays that request.
    fn play(&mut self, stage: &mut Stage) {
        self.reorder.pop(|record| stage.play(record));
    }

    /// Reads a line.
    fn line(&mut self, read: &mut Read) -> io::Result<()> {
        let Some(line) = self.lines.next()? else {
            self.over = true;
            return Ok(());
        };
        self.number = self.number.saturating_add(1);
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong => {
                read.lines = read.lines.saturating_add(1);
                let why = format!("it is longer than {MAX_LINE} bytes");
                read.unreadable(&self.name, self.number, why);
                return Ok(());
            }
        };
        // What some programs begin a file with.
        let line = match line.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if self.number == 1 => rest,
            _ => line,
        };
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        read.lines = read.lines.saturating_add(1);
        let (place, record) = self.reorder.blank();
        match self.reader.read(line, record) {
            Ok(()) => self.reorder.push(place),
            Err(why) => {
                self.reorder.discard(place);
                read.unreadable(&self.name, self.number, why);
            }
        }
        Ok(())
    }
}

impl Read {
    fn unreadable(&mut self, name: &str, number: u64, why: String) {
        self.unreadable = self.unreadable.saturating_add(1);
        if self.examples.len() < EXAMPLES {
            self.examples.push((name.to_owned(), number, why));
        }
    }
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// A stream whose bytes the progress is told of.
struct Watched {
    stream: Box<dyn io::Read>,
    bar: ProgressBar,
}

impl io::Read for Watched {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(room)?;
        self.bar.inc(u64::try_from(count).unwrap_or(0));
        Ok(count)
    }
}
