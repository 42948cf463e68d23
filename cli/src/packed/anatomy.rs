//! What a module consists of, found without running it and without believing it: every byte may be anything.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use wasmparser::{DataKind, ExternalKind, Operator, Parser, Payload, TypeRef, Validator};

use super::is_module;

/// The parts of a module.
#[derive(Debug)]
pub struct Anatomy<'a> {
    /// `module.name` of each import, in order.
    pub imports: Vec<String>,
    /// The name of each export, in order.
    pub exports: Vec<String>,
    /// The sections, in order.
    pub sections: Vec<Part>,
    /// Custom sections by name; of two with one name, the last.
    pub customs: BTreeMap<String, &'a [u8]>,
    functions: BTreeMap<String, usize>,
    bodies: Vec<wasmparser::FunctionBody<'a>>,
    segments: Vec<Option<&'a [u8]>>,
    imported: usize,
}

/// A section and its size.
#[derive(Debug, Clone, Serialize)]
pub struct Part {
    /// Its name; of a custom section, the one that it has.
    pub name: String,
    /// Its content, in bytes.
    pub bytes: usize,
}

impl<'a> Anatomy<'a> {
    /// Takes a module apart.
    ///
    /// # Errors
    /// Why this is not a module that a host would take.
    pub fn of(bytes: &'a [u8]) -> Result<Self> {
        ensure!(is_module(bytes), "it is no wasm module");
        Validator::new()
            .validate_all(bytes)
            .context("it is a damaged wasm module")?;
        let mut parts = Self {
            imports: Vec::new(),
            exports: Vec::new(),
            sections: Vec::new(),
            customs: BTreeMap::new(),
            functions: BTreeMap::new(),
            bodies: Vec::new(),
            segments: Vec::new(),
            imported: 0,
        };
        for payload in Parser::new(0).parse_all(bytes) {
            parts.take(payload.context("it is a damaged wasm module")?)?;
        }
        Ok(parts)
    }

    fn take(&mut self, payload: Payload<'a>) -> Result<()> {
        let part = |name: &str, range: std::ops::Range<usize>| Part {
            name: name.to_owned(),
            bytes: range.len(),
        };
        match payload {
            Payload::TypeSection(s) => self.sections.push(part("type", s.range())),
            Payload::ImportSection(s) => {
                self.sections.push(part("import", s.range()));
                for import in s.into_imports() {
                    let import = import?;
                    if matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)) {
                        self.imported = self.imported.saturating_add(1);
                    }
                    self.imports
                        .push(format!("{}.{}", import.module, import.name));
                }
            }
            Payload::FunctionSection(s) => self.sections.push(part("function", s.range())),
            Payload::TableSection(s) => self.sections.push(part("table", s.range())),
            Payload::MemorySection(s) => self.sections.push(part("memory", s.range())),
            Payload::GlobalSection(s) => self.sections.push(part("global", s.range())),
            Payload::ExportSection(s) => {
                self.sections.push(part("export", s.range()));
                for export in s {
                    let export = export?;
                    self.exports.push(export.name.to_owned());
                    if export.kind == ExternalKind::Func {
                        let index = usize::try_from(export.index)?;
                        self.functions.insert(export.name.to_owned(), index);
                    }
                }
            }
            Payload::ElementSection(s) => self.sections.push(part("element", s.range())),
            Payload::CodeSectionStart { range, .. } => self.sections.push(part("code", range)),
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::DataSection(s) => {
                self.sections.push(part("data", s.range()));
                for segment in s {
                    let segment = segment?;
                    let passive = matches!(segment.kind, DataKind::Passive);
                    self.segments.push(passive.then_some(segment.data));
                }
            }
            Payload::CustomSection(s) => {
                self.sections.push(part(s.name(), s.range()));
                self.customs.insert(s.name().to_owned(), s.data());
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a function is exported under this name.
    pub fn has_function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// The number that an exported function gives, if it does nothing else.
    pub fn constant(&self, name: &str) -> Option<i64> {
        match self.operators(name)?.as_slice() {
            [Operator::I32Const { value }, Operator::End] => Some(i64::from(*value)),
            [Operator::I64Const { value }, Operator::End] => Some(*value),
            _ => None,
        }
    }

    /// The passive data that an exported function copies from its beginning to where its argument says, if it does nothing else.
    pub fn copied(&self, name: &str) -> Option<&'a [u8]> {
        match self.operators(name)?.as_slice() {
            [
                Operator::LocalGet { local_index: 0 },
                Operator::I32Const { value: 0 },
                Operator::I32Const { value: length },
                Operator::MemoryInit { data_index, mem: 0 },
                Operator::End,
            ] => {
                let segment = *self.segments.get(usize::try_from(*data_index).ok()?)?;
                segment?.get(..usize::try_from(*length).ok()?)
            }
            _ => None,
        }
    }

    /// The first few operators of an exported function; none of them is in one of ours beyond these.
    fn operators(&self, name: &str) -> Option<Vec<Operator<'a>>> {
        const MOST: usize = 8;
        let index = self.functions.get(name)?.checked_sub(self.imported)?;
        let reader = self.bodies.get(index)?.get_operators_reader().ok()?;
        reader.into_iter().take(MOST).collect::<Result<_, _>>().ok()
    }
}
