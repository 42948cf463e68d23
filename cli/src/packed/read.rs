//! What a module carries, and whether it is what it says.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tidegate_core::policy::{Mode, Policy};

use super::{Anatomy, Digest, ENGINE_SECTION, Engine, ModeNow, SECTION, Section, exports, write};
use crate::policy_file;

/// What a module carries.
#[derive(Debug)]
pub enum Contents {
    /// A policy.
    Packed(Box<Packed>),
    /// No policy, but room for one; and the engine's version, if it tells.
    Engine(Option<String>),
    /// Neither: it is no engine.
    Foreign,
}

/// A packed module.
#[derive(Debug)]
pub struct Packed {
    /// What it says of itself.
    pub section: Section,
    /// The policy's document.
    pub document: Vec<u8>,
    /// The digest of what is in it.
    pub digest: Digest,
    /// Where it is not what it says, a line each.
    pub faults: Vec<String>,
    /// Whether packing its document again gives the same bytes; none without its engine in this tool.
    pub repacks: Option<bool>,
}

impl Packed {
    /// Whether it is what it says.
    pub fn is_intact(&self) -> bool {
        self.faults.is_empty()
    }

    /// The policy.
    ///
    /// # Errors
    /// The mistakes of the document.
    pub fn policy(&self) -> Result<Policy> {
        Policy::parse(&self.document).map_err(|mistakes| {
            let lines: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
            anyhow::anyhow!("its policy has mistakes: {}", lines.join("; "))
        })
    }
}

/// Finds what a module carries.
///
/// # Errors
/// It has the section of a packed module, and lacks what belongs to it.
pub fn look(bytes: &[u8], parts: &Anatomy<'_>) -> Result<Contents> {
    let Some(section) = parts.customs.get(SECTION) else {
        let engine = [exports::SIZE, exports::READ, exports::MODE, exports::ID]
            .iter()
            .all(|name| parts.has_function(name));
        return Ok(if engine {
            Contents::Engine(version(parts))
        } else {
            Contents::Foreign
        });
    };
    let section: Section = serde_json::from_slice(section)
        .with_context(|| format!("its section `{SECTION}` is damaged"))?;
    let lacks = |name: &str| format!("its function `{name}` is not one of a packed module");
    let number = |name: &str| parts.constant(name).with_context(|| lacks(name));
    let size = number(exports::SIZE)?;
    let shadow = match number(exports::MODE)? {
        0 => false,
        1 => true,
        _ => bail!(lacks(exports::MODE)),
    };
    let id = number(exports::ID)?;
    let document = parts
        .copied(exports::READ)
        .with_context(|| lacks(exports::READ))?;
    let digest = Digest::of_module(&section.engine_digest, shadow, document);
    let mut packed = Packed {
        digest,
        document: document.to_vec(),
        faults: Vec::new(),
        repacks: None,
        section,
    };
    packed.faults = faults(&packed, shadow, size, id);
    if super::embedded_digest() == Some(packed.section.engine_digest) {
        let again = Engine::get(None).and_then(|engine| write::pack(&engine, document, shadow));
        let same = again.is_ok_and(|again| again.bytes == bytes);
        packed.repacks = Some(same);
        if !same {
            packed
                .faults
                .push("packing its policy again gives other bytes".to_owned());
        }
    }
    Ok(Contents::Packed(Box::new(packed)))
}

/// Reads a packed module that is what it says.
///
/// # Errors
/// The file cannot be read, is no packed module, or is not what it says.
pub fn open(file: &Path) -> Result<(Vec<u8>, Packed)> {
    let bytes = policy_file::read_module(file)?;
    let shown = || format!("`{}`", file.display());
    let contents = Anatomy::of(&bytes)
        .and_then(|parts| look(&bytes, &parts))
        .with_context(shown)?;
    let packed = match contents {
        Contents::Packed(packed) => *packed,
        Contents::Engine(_) => bail!(
            "{}: no policy is packed in it; write `tidegate pack POLICY -o FILE.wasm`",
            shown()
        ),
        Contents::Foreign => bail!(
            "{}: it was not packed; write `tidegate pack POLICY -o FILE.wasm`",
            shown()
        ),
    };
    if !packed.is_intact() {
        bail!(
            "{} is not what it says: {}",
            shown(),
            packed.faults.join("; ")
        );
    }
    Ok((bytes, packed))
}

/// The version that an engine tells.
pub(super) fn version(parts: &Anatomy<'_>) -> Option<String> {
    let text = std::str::from_utf8(parts.customs.get(ENGINE_SECTION)?).ok()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let right = !text.is_empty() && text.len() <= 64 && text.chars().all(plain);
    right.then(|| text.to_owned())
}

fn faults(packed: &Packed, shadow: bool, size: i64, id: i64) -> Vec<String> {
    let Packed {
        section,
        document,
        digest,
        ..
    } = packed;
    let mut faults = Vec::new();
    if section.digest != *digest {
        faults.push(format!(
            "its digest is `{digest}`, and it says `{}`",
            section.digest
        ));
    }
    if id.cast_unsigned() != digest.id() {
        faults.push("the digest that it would tell in metrics is another".to_owned());
    }
    if i64::try_from(document.len()) != Ok(size) {
        faults.push("the size that it tells is not that of its policy".to_owned());
    }
    match packed.policy() {
        Err(error) => faults.push(format!("{error:#}")),
        Ok(policy) => {
            let mode = mode(&policy, shadow);
            let told = (section.policy.as_str(), section.version.as_str());
            if told != (policy.name.as_str(), policy.version.as_str()) || section.mode != mode {
                faults.push(format!(
                    "its policy is `{}` version `{}` in mode `{mode}`, and it says `{}` version `{}` in mode `{}`",
                    policy.name, policy.version, section.policy, section.version, section.mode
                ));
            }
        }
    }
    faults
}

/// The mode that holds for a policy that is packed, in shadow or not.
pub(super) fn mode(policy: &Policy, shadow: bool) -> ModeNow {
    if shadow || policy.mode == Mode::Shadow {
        ModeNow::Shadow
    } else {
        ModeNow::Enforce
    }
}
