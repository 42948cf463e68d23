//! The outcome: a table for a terminal, and the parts of docs/clients.md that are made of it.

use comfy_table::Table;
use serde_json::{Value, json};

use crate::cases::{Cases, Row};
use crate::cors::Read;
use crate::hey::Load;
use crate::reaction::{Reaction, Seen};

/// All that was seen.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) load: Load,
    pub(crate) reads: Vec<Read>,
}

/// The cases, as the columns of tables.
const CASES: [(&str, Case); 6] = [
    ("429, GET", |cases| cases.read.as_ref()),
    ("429, POST", |cases| cases.charge.as_ref()),
    ("409, the first runs", |cases| cases.running.as_ref()),
    ("409, outcome unknown", |cases| cases.unknown.as_ref()),
    ("422, key reused", |cases| cases.reused.as_ref()),
    ("503", |cases| cases.full.as_ref()),
];

type Case = fn(&Cases) -> Option<&Seen>;

/// What each case came to, in the order of the columns.
fn reactions(row: &Row) -> [String; 6] {
    let say = |reaction: Option<Reaction>| reaction.map_or_else(String::new, |r| r.to_string());
    row.seen.reactions().map(say)
}

impl Report {
    /// Statuses and the pauses between them, and what they come to.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::ASCII_MARKDOWN);
        let heads = CASES.iter().map(|(head, _)| (*head).to_owned());
        table.set_header(["client".to_owned()].into_iter().chain(heads));
        for row in &self.rows {
            let times = |case: Case| case(&row.seen).map_or_else(String::new, Seen::times);
            let cells = CASES.iter().map(|(_, case)| times(*case));
            table.add_row([row.client.id.to_owned()].into_iter().chain(cells));
        }
        let load = &self.load;
        let mut text = table.to_string();
        text += &format!(
            "\nhey: {} requests, of which {} were admitted, each at its time, and {} refused\n",
            load.attempts.len(),
            load.admitted,
            load.refused
        );
        for read in &self.reads {
            text += &format!(
                "a page of another origin, CORS by {}: status {:?}, retry-after {:?}\n",
                read.by, read.status, read.retry_after
            );
        }
        text
    }

    /// The same as JSON.
    pub(crate) fn json(&self) -> Value {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                let heads = CASES.iter().map(|(head, _)| (*head).to_owned());
                let reactions = reactions(row).into_iter().map(Value::from);
                let reactions: serde_json::Map<_, _> = heads.zip(reactions).collect();
                json!({
                    "id": row.client.id, "client": row.client.name, "setting": row.client.setting,
                    "reactions": reactions, "cases": row.seen,
                })
            })
            .collect();
        json!({"clients": rows, "hey": self.load, "other_origin": self.reads})
    }

    /// The table of docs/clients.md: what does not change from run to run.
    pub(crate) fn clients(&self) -> String {
        let mut lines = vec![String::new(); 2];
        lines[0] = "| client | setting |".to_owned();
        lines[1] = "|---|---|".to_owned();
        for (head, _) in CASES {
            lines[0] += &format!(" {head} |");
            lines[1] += "---|";
        }
        for row in &self.rows {
            let reactions = reactions(row).join(" | ");
            let (name, setting) = (&row.client.name, row.client.setting);
            lines.push(format!("| {name} | {setting} | {reactions} |"));
        }
        lines.push(format!(
            "| hey | `-c 1 -q 5` | keeps its own pace; admitted once in 3 s |{}",
            " – |".repeat(CASES.len() - 1)
        ));
        lines.join("\n")
    }

    /// The table of docs/clients.md about pages of other origins.
    pub(crate) fn reads(&self) -> String {
        let mut lines = vec![
            "| CORS is answered by | the page sees of a 429 |".to_owned(),
            "|---|---|".to_owned(),
        ];
        for read in &self.reads {
            let seen = match (read.status, &read.retry_after) {
                (None, _) => "nothing: `fetch` fails as if there were no network".to_owned(),
                (Some(status), None) => format!("its status ({status}), no `Retry-After`"),
                (Some(status), Some(_)) => format!("its status ({status}) and `Retry-After`"),
            };
            lines.push(format!("| {} | {seen} |", read.by));
        }
        lines.join("\n")
    }
}
