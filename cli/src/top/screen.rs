//! The terminal while something is shown live: as it was before, however it ends.

use std::io::{Write as _, stdout};
use std::time::{Duration, Instant};

use anyhow::Result;
use crossterm::event::{Event, KeyCode, KeyModifiers, poll, read};
use crossterm::{cursor, execute, terminal};

/// The terminal; it gets back what it had when this goes.
#[derive(Debug)]
pub(crate) struct Screen;

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn take() -> Result<Self> {
        terminal::enable_raw_mode()?;
        let screen = Self;
        execute!(stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// Shows these lines, as many and as much of each as there is room for.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn show(&self, text: &str) -> Result<()> {
        // A terminal that does not say how large it is says 0.
        let (columns, rows) = match terminal::size()? {
            (0, _) | (_, 0) => (80, 24),
            size => size,
        };
        let mut out = String::new();
        for line in text.lines().take(usize::from(rows)) {
            let cut: String = line.chars().take(usize::from(columns)).collect();
            if !out.is_empty() {
                out.push_str("\r\n");
            }
            out.push_str(cut.trim_end());
        }
        execute!(
            stdout(),
            cursor::MoveTo(0, 0),
            terminal::Clear(terminal::ClearType::All)
        )?;
        stdout().write_all(out.as_bytes())?;
        stdout().flush()?;
        Ok(())
    }

    /// Waits so long, or until somebody wants to end; `false` if somebody does.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub(crate) fn wait(&self, interval: Duration) -> Result<bool> {
        let begun = Instant::now();
        loop {
            let left = interval.saturating_sub(begun.elapsed());
            if !poll(left)? {
                return Ok(true);
            }
            if let Event::Key(key) = read()? {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(false),
                    KeyCode::Char('c' | 'd') if control => return Ok(false),
                    _ => {}
                }
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // What cannot be given back now never can.
        let _ = execute!(stdout(), cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}
