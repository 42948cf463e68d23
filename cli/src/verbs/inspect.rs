//! `tidegate inspect FILE.wasm`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::exit::Exit;
use crate::output::{BAD, GOOD, Output, QUIET, count};
use crate::packed::{self, Anatomy, Contents, Digest, Packed, Section};
use crate::policy_file;

/// `tidegate inspect FILE.wasm`.
#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The module
    file: PathBuf,
    /// Print the policy that is packed in it, byte for byte, and nothing else
    #[arg(long)]
    policy: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    bytes: usize,
    sha256: Digest,
    /// What was packed; none in an engine.
    packed: Option<&'a Section>,
    /// The version of an engine without a policy.
    engine: Option<&'a str>,
    /// The digest of what is in it.
    digest: Option<Digest>,
    intact: bool,
    faults: Vec<String>,
    /// Whether packing the policy again gives the same bytes.
    repacks: Option<bool>,
    policy: Option<Value>,
    imports: &'a [String],
    exports: &'a [String],
    sections: &'a [packed::Part],
}

impl Inspect {
    pub(crate) fn run(self, output: &Output) -> Result<Exit> {
        let bytes = policy_file::read_module(&self.file)?;
        let shown = self.file.display();
        let looked = Anatomy::of(&bytes)
            .and_then(|parts| packed::look(&bytes, &parts).map(|contents| (parts, contents)));
        let (parts, contents) = match looked {
            Ok(looked) => looked,
            Err(error) => {
                output.error(&format!("`{shown}`: {error:#}"));
                return Ok(Exit::Failed);
            }
        };
        let packed = match &contents {
            Contents::Packed(packed) => Some(packed.as_ref()),
            Contents::Engine(_) | Contents::Foreign => None,
        };
        if self.policy {
            return document(*output, &self.file, packed);
        }
        let mut faults = packed.map(|p| p.faults.clone()).unwrap_or_default();
        if matches!(contents, Contents::Foreign) {
            faults.push("it is neither an engine nor a packed module".to_owned());
        }
        let report = Report {
            file: &self.file,
            bytes: bytes.len(),
            sha256: Digest::of(&bytes),
            packed: packed.map(|packed| &packed.section),
            engine: match &contents {
                Contents::Engine(version) => version.as_deref(),
                Contents::Packed(_) | Contents::Foreign => None,
            },
            digest: packed.map(|packed| packed.digest),
            intact: faults.is_empty(),
            faults,
            repacks: packed.and_then(|packed| packed.repacks),
            policy: packed.and_then(|p| serde_json::from_slice(&p.document).ok()),
            imports: &parts.imports,
            exports: &parts.exports,
            sections: &parts.sections,
        };
        report.print(*output);
        output.json(&report)?;
        for fault in &report.faults {
            output.error(&format!("`{shown}`: {fault}"));
        }
        Ok(if report.intact {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}

/// Prints the document and nothing else, so that it can be kept as a file.
fn document(output: Output, file: &Path, packed: Option<&Packed>) -> Result<Exit> {
    use std::io::Write as _;
    let Some(packed) = packed else {
        output.error(&format!("`{}`: no policy is packed in it", file.display()));
        return Ok(Exit::Failed);
    };
    std::io::stdout().write_all(&packed.document)?;
    for fault in &packed.faults {
        output.error(&format!("`{}`: {fault}", file.display()));
    }
    Ok(if packed.is_intact() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

impl Report<'_> {
    fn print(&self, output: Output) {
        output.line(format_args!("module   {}", self.file.display()));
        match (self.packed, self.engine) {
            (Some(section), _) => self.print_packed(output, section),
            (None, Some(version)) => {
                output.line(format_args!("engine   {version}"));
                output.line("policy   no policy");
            }
            (None, None) => output.line("policy   no policy"),
        }
        output.line(format_args!("sha256   {}", self.sha256));
        output.line(format_args!("size     {}", count(self.bytes, "byte")));
        for section in self.sections {
            output.line(format_args!("  {:>9}  {}", section.bytes, section.name));
        }
        output.line(format_args!("imports  {}", self.imports.len()));
        for import in self.imports {
            output.line(format_args!("  {import}"));
        }
        output.line(format_args!("exports  {}", self.exports.len()));
        for export in self.exports {
            output.line(format_args!("  {export}"));
        }
    }

    fn print_packed(&self, output: Output, section: &Section) {
        let Section {
            policy,
            version,
            mode,
            engine,
            engine_digest,
            digest: told,
        } = section;
        output.line(format_args!("policy   {policy} {version}, {mode}"));
        output.line(format_args!(
            "engine   {engine} {QUIET}{engine_digest}{QUIET:#}"
        ));
        let verdict = if self.intact {
            format!("{GOOD}intact{GOOD:#}")
        } else {
            format!("{BAD}not intact{BAD:#}")
        };
        output.line(format_args!("digest   {told} {verdict}"));
        output.line(match self.repacks {
            Some(true) => "repacked the same bytes".to_owned(),
            Some(false) => format!("repacked {BAD}other bytes{BAD:#}"),
            None => format!("repacked {QUIET}not tried: this tool has another engine{QUIET:#}"),
        });
    }
}
