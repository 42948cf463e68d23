//! `tidegate pack POLICY -o FILE.wasm`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use tidegate_core::cases::{self, Cases};
use tidegate_core::policy::Mode;

use crate::exit::Exit;
use crate::lint::{self, Kind};
use crate::output::{Output, QUIET, count};
use crate::packed::{self, Digest, Engine, Section};
use crate::policy_file;

/// `tidegate pack POLICY -o FILE.wasm`.
#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The policy: a file, or a folder with a `policy.json`
    policy: PathBuf,
    /// The module to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Hold the policy in this mode, whatever its document says
    #[arg(long, value_enum, value_name = "MODE")]
    mode: Option<Held>,
    /// The engine to pack it into, instead of the one inside this tool
    #[arg(long, value_name = "FILE")]
    engine: Option<PathBuf>,
}

/// The mode that a module can be held in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Held {
    /// Decides, counts and logs, and changes nothing for callers.
    Shadow,
}

#[derive(Serialize)]
struct Report<'a> {
    file: &'a std::path::Path,
    #[serde(flatten)]
    section: &'a Section,
    sha256: Digest,
    bytes: usize,
    /// How many steps of cases ran; none where there are no cases.
    steps: Option<usize>,
}

impl Pack {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        let file = policy_file::file(&self.policy);
        let real = |path: &std::path::Path| path.canonicalize().ok();
        if real(&self.output).is_some_and(|output| real(&file) == Some(output)) {
            bail!(
                "`{}` is the policy itself, and would be replaced by the module; name another file",
                self.output.display()
            );
        }
        let held = policy_file::held(&file)?;
        let document = &held.document;
        let linted = lint::policy(&file, document);
        for finding in &linted.findings {
            match finding.kind {
                Kind::Mistake => output.error(&finding.to_string()),
                Kind::Warning => output.progress(finding),
            }
        }
        let Some(policy) = linted.policy else {
            return Ok(Exit::Failed);
        };
        let tests = policy_file::cases(&file);
        // A link that leads nowhere is there too: whoever made it meant cases to be run.
        let steps = if tests.is_symlink() || tests.exists() {
            let shown = tests.display();
            let tests = match Cases::parse(&policy_file::read(&tests)?) {
                Ok(tests) => tests,
                Err(mistake) => {
                    output.error(&format!("{shown}: {mistake}"));
                    return Ok(Exit::Failed);
                }
            };
            let (steps, failures) = cases::run(&policy, &tests);
            for failure in &failures {
                output.error(&format!("{shown}: {failure}"));
            }
            if !failures.is_empty() {
                return Ok(Exit::Failed);
            }
            Some(steps)
        } else {
            None
        };
        let engine = Engine::get(self.engine.as_deref())?;
        // What is held in shadow by a module is held so by the next. A document that says so itself needs no holding.
        let held_back = held.is_in_shadow() && policy.mode == Mode::Enforce;
        let shadow = self.mode == Some(Held::Shadow) || held_back;
        let written = packed::pack(&engine, document, shadow)
            .with_context(|| format!("`{}` cannot be packed", file.display()))?;
        policy_file::replace(&self.output, &written.bytes)?;
        let report = Report {
            file: &self.output,
            section: &written.section,
            sha256: Digest::of(&written.bytes),
            bytes: written.bytes.len(),
            steps,
        };
        report.print(*output);
        output.json(&report)?;
        Ok(Exit::Done)
    }
}

impl Report<'_> {
    fn print(&self, output: Output) {
        let Section {
            policy,
            version,
            mode,
            engine,
            engine_digest,
            digest,
        } = self.section;
        output.line(format_args!("packed  {}", self.file.display()));
        output.line(format_args!("policy  {policy} {version}, {mode}"));
        output.line(match self.steps {
            Some(steps) => format!("cases   {} as expected", count(steps, "step")),
            None => format!("cases   {QUIET}none beside the policy{QUIET:#}"),
        });
        output.line(format_args!(
            "engine  {engine} {QUIET}{engine_digest}{QUIET:#}"
        ));
        output.line(format_args!("digest  {digest}"));
        output.line(format_args!("sha256  {}", self.sha256));
        output.line(format_args!("size    {}", count(self.bytes, "byte")));
    }
}
