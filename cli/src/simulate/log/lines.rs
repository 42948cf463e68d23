//! Splits a stream into lines, in one buffer that does not grow.

use std::io::{ErrorKind, Read, Result};

/// How much is read at once, in bytes.
const CHUNK: usize = 512 * 1024;

/// The longest line, in bytes; Envoy's own are a few hundred.
pub(crate) const MAX_LINE: usize = CHUNK;

/// The lines of a stream.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    stream: R,
    buffer: Vec<u8>,
    /// What was read and not handed out: from here, up to there.
    start: usize,
    end: usize,
    over: bool,
    /// The beginning of this line was dropped already: it is longer than the buffer.
    long: bool,
}

/// A line, or why there is none to be had.
pub(crate) enum Line<'a> {
    /// Without its end.
    Whole(&'a [u8]),
    /// It is longer than [`MAX_LINE`]; it was passed over.
    TooLong,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self {
            stream,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            over: false,
            long: false,
        }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// The stream's.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>> {
        let length = loop {
            let waiting = self.buffer.get(self.start..self.end).unwrap_or_default();
            if let Some(length) = memchr::memchr(b'\n', waiting) {
                break length;
            }
            if self.over {
                if waiting.is_empty() {
                    return Ok(None);
                }
                break waiting.len();
            }
            self.fill()?;
        };
        let start = self.start;
        let end = start.saturating_add(length);
        self.start = end.saturating_add(1).min(self.end);
        if core::mem::take(&mut self.long) {
            return Ok(Some(Line::TooLong));
        }
        let line = self.buffer.get(start..end).unwrap_or_default();
        Ok(Some(Line::Whole(line.strip_suffix(b"\r").unwrap_or(line))))
    }

    /// Reads more behind what waits.
    fn fill(&mut self) -> Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end = self.end.saturating_sub(self.start);
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.long = true;
            self.end = 0;
        }
        loop {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.stream.read(room) {
                Ok(0) => self.over = true,
                Ok(count) => self.end = self.end.saturating_add(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &[u8]) -> Vec<Option<usize>> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(match line {
                Line::Whole(line) => Some(line.len()),
                Line::TooLong => None,
            });
        }
        found
    }

    #[test]
    fn a_line_longer_than_the_buffer_is_one_line_and_those_around_it_stay_whole() {
        let mut text = b"one\r\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', MAX_LINE * 2 + 7));
        text.extend(b"\n\nfour");
        assert_eq!(lengths(&text), [Some(3), None, Some(0), Some(4)]);
        assert_eq!(lengths(b""), []);
        assert_eq!(lengths(b"\n"), [Some(0)]);
    }

    #[test]
    fn lines_across_chunks_are_whole() {
        let line = [b'y'; 1_000];
        let text: Vec<u8> = (0..2_000)
            .flat_map(|_| line.iter().copied().chain([b'\n']))
            .collect();
        assert_eq!(lengths(&text), vec![Some(1_000); 2_000]);
    }
}
