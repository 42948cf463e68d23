//! Who is refused most, as a table.

use std::collections::HashMap;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use super::ask::{Refused, Scope};
use crate::output::cut;

/// How often each scope was refused at the last look.
#[derive(Debug, Default)]
pub(crate) struct Before(HashMap<(String, bool, String), u64>);

/// A scope, and how often it was refused per second since the last look; `None` at the first one.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) scope: Scope,
    pub(crate) rate: Option<f64>,
}

impl Before {
    /// The rows of this look, those that are refused fastest first; the next look is compared with it.
    pub(crate) fn rows(&mut self, refused: &Refused, passed: Option<Duration>) -> Vec<Row> {
        let name = |scope: &Scope| (scope.rule.clone(), scope.enforced, scope.scope.clone());
        let rate = |scope: &Scope| {
            let seconds = passed?.as_secs_f64();
            // Who was not known before was refused since.
            let before = self.0.get(&name(scope)).copied().unwrap_or(0);
            #[allow(clippy::cast_precision_loss, reason = "it is shown to people")]
            let count = scope.refused.saturating_sub(before) as f64;
            (seconds > 0.0).then_some(count / seconds)
        };
        let row = |scope: &Scope| Row {
            rate: rate(scope),
            scope: scope.clone(),
        };
        let mut rows: Vec<Row> = refused.scopes.iter().map(row).collect();
        rows.sort_by(|one, other| {
            let rates = (other.rate.unwrap_or(0.0)).total_cmp(&one.rate.unwrap_or(0.0));
            rates.then(other.scope.refused.cmp(&one.scope.refused))
        });
        let counts = refused
            .scopes
            .iter()
            .map(|scope| (name(scope), scope.refused));
        self.0 = counts.collect();
        rows
    }
}

/// The line above the table.
pub(crate) fn head(refused: &Refused) -> String {
    let Refused {
        policy,
        version,
        now,
        scopes,
        more,
    } = refused;
    let known = u64::try_from(scopes.len())
        .unwrap_or(u64::MAX)
        .saturating_add(*more);
    format!("policy `{policy}` version `{version}`, {known} refused, {now}")
}

/// The table of these rows.
pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "REFUSED/S",
        "REFUSED",
        "SINCE",
        "LEVEL",
        "NEXT",
        "RULE",
        "CALLER",
    ]);
    for Row { scope, rate } in rows {
        let Scope {
            rule,
            enforced,
            scope,
            label,
            refused,
            since_ms,
            bucket,
        } = scope;
        let dash = || "-".to_owned();
        let rule = if *enforced {
            rule.clone()
        } else {
            format!("{rule} (shadow)")
        };
        // A label is the policy's, and may hold what a terminal obeys.
        let label = label.as_ref().map(|label| label.escape_debug().to_string());
        table.add_row([
            rate.map_or_else(dash, |rate| format!("{rate:.1}")),
            refused.to_string(),
            since(*since_ms),
            bucket
                .as_ref()
                .map_or_else(dash, |b| format!("{}/{}", b.level, b.burst)),
            bucket
                .as_ref()
                .map_or_else(dash, |b| format!("{} ms", b.wait_ms)),
            cut(&rule, 40),
            label.map_or_else(|| scope.clone(), |label| cut(&label, 40)),
        ]);
    }
    for column in table.column_iter_mut().take(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// For how long, to the second.
fn since(millis: u64) -> String {
    humantime::format_duration(Duration::from_secs(millis / 1000)).to_string()
}
