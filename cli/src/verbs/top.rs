//! `tidegate top`.

use std::io::{IsTerminal as _, stdin, stdout};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;

use crate::exit::Exit;
use crate::output::Output;
use crate::ship::admin::Address;
use crate::top::ask::{Refused, Role};
use crate::top::screen::Screen;
use crate::top::table::{Before, head, table};

/// Shows who is refused most, live; `q` ends it.
///
/// It asks the role `admin` of a gate, whose listener `--admin` names. Callers are told by the label that the policy gives them, or by
/// the digest that logs and events have.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The address of the listener of the role `admin`, like `127.0.0.1:9902`
    #[arg(long, value_name = "ADDRESS")]
    admin: Address,
    /// How often it is asked
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// How many callers are shown: 1 to 1,000
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    top: u16,
    /// Print one table, and end
    #[arg(long)]
    once: bool,
}

impl Top {
    pub(super) fn run(self, output: &Output) -> Result<Exit> {
        let Self {
            admin,
            interval,
            top,
            once,
        } = self;
        let role = Role::new(admin);
        let top = usize::from(top);
        let live = !once && !output.is_json() && stdout().is_terminal() && stdin().is_terminal();
        if !live {
            let answer = role.refused(top)?;
            output.json(&answer)?;
            let refused = Refused::read(answer)?;
            let rows = Before::default().rows(&refused, None);
            output.line(head(&refused));
            output.line(table(&rows).trim_fmt());
            return Ok(Exit::Done);
        }
        // Before the screen is taken: who is asked wrongly is told so where they asked.
        let mut answer = role.refused(top)?;
        let mut before = Before::default();
        let mut asked: Option<Instant> = None;
        let screen = Screen::take()?;
        loop {
            let refused = Refused::read(answer)?;
            let rows = before.rows(&refused, asked.map(|asked| asked.elapsed()));
            asked = Some(Instant::now());
            screen.show(&format!(
                "{}\n\n{}",
                head(&refused),
                table(&rows).trim_fmt()
            ))?;
            if !screen.wait(interval)? {
                return Ok(Exit::Done);
            }
            answer = role.refused(top)?;
        }
    }
}

/// A duration of 100 ms to an hour.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).ok();
    let bounds = Duration::from_millis(100)..=Duration::from_secs(3600);
    interval
        .filter(|interval| bounds.contains(interval))
        .ok_or_else(|| "it is not a duration from `100ms` to `1h`; write one, like `2s`".to_owned())
}
