//! Packs a policy into an engine. The same engine, document and mode give the same bytes, wherever and whenever.

use anyhow::{Context as _, Result, anyhow, ensure};
use tidegate_core::policy::Policy;
use walrus::ir::{Instr, MemoryInit};
use walrus::{
    DataKind, FunctionBuilder, FunctionId, FunctionKind, MemoryId, Module, ModuleConfig,
    RawCustomSection, ValType,
};

use super::read::{mode, version};
use super::{Anatomy, Digest, Engine, SECTION, Section, exports};

/// What the engine's version is called where it tells none.
const UNKNOWN: &str = "unknown";

/// A module that was packed.
pub struct Written {
    /// The file.
    pub bytes: Vec<u8>,
    /// What it says of itself.
    pub section: Section,
}

/// The functions of an engine that get other bodies.
struct Hooks {
    size: FunctionId,
    read: FunctionId,
    mode: FunctionId,
    id: FunctionId,
    memory: MemoryId,
}

/// Packs `document` into `engine`, held in shadow or as the document says.
///
/// # Errors
/// The document has mistakes, or the engine is none, or has a policy already.
pub fn pack(engine: &Engine, document: &[u8], shadow: bool) -> Result<Written> {
    let policy = Policy::parse(document)
        .map_err(|mistakes| anyhow!("the policy has {} mistakes", mistakes.len()))?;
    let parts = Anatomy::of(&engine.bytes).context("the engine")?;
    ensure!(
        !parts.customs.contains_key(SECTION),
        "the engine has a policy already; name an unpacked one, `tidegate.wasm` as it was built"
    );
    let mut module = ModuleConfig::new()
        .generate_name_section(false)
        .generate_producers_section(false)
        .parse(&engine.bytes)
        .context("the engine")?;
    let hooks = Hooks::of(&module)?;
    let engine_digest = Digest::of(&engine.bytes);
    let digest = Digest::of_module(&engine_digest, shadow, document);
    let section = Section {
        policy: policy.name.clone(),
        version: policy.version.clone(),
        mode: mode(&policy, shadow),
        engine: version(&parts).unwrap_or_else(|| UNKNOWN.to_owned()),
        engine_digest,
        digest,
    };
    hooks.fill(&mut module, document, shadow, &digest)?;
    module.customs.add(RawCustomSection {
        name: SECTION.to_owned(),
        data: serde_json::to_vec(&section)?,
    });
    Ok(Written {
        bytes: module.emit_wasm(),
        section,
    })
}

impl Hooks {
    fn of(module: &Module) -> Result<Self> {
        use ValType::{I32, I64};
        let hook = |name: &str, takes: &[ValType], gives: &[ValType]| {
            let id = module.exports.get_func(name).ok();
            let id = id.with_context(|| {
                format!("the engine does not export `{name}`: it is not one that takes a policy")
            })?;
            let function = module.funcs.get(id);
            let ty = module.types.get(function.ty());
            ensure!(
                matches!(function.kind, FunctionKind::Local(_))
                    && ty.params() == takes
                    && ty.results() == gives,
                "the engine's `{name}` is not of the kind that takes a policy"
            );
            Ok(id)
        };
        let mut memories = module.memories.iter();
        let (Some(memory), None) = (memories.next(), memories.next()) else {
            return Err(anyhow!("the engine does not have one memory"));
        };
        let hooks = Self {
            size: hook(exports::SIZE, &[], &[I32])?,
            read: hook(exports::READ, &[I32], &[])?,
            mode: hook(exports::MODE, &[], &[I32])?,
            id: hook(exports::ID, &[], &[I64])?,
            memory: memory.id(),
        };
        // Were they one function, the body of one would be that of the other.
        ensure!(
            hooks.size != hooks.mode,
            "the engine's `{}` and `{}` are one function",
            exports::SIZE,
            exports::MODE
        );
        Ok(hooks)
    }

    fn fill(
        &self,
        module: &mut Module,
        document: &[u8],
        shadow: bool,
        digest: &Digest,
    ) -> Result<()> {
        let length = i32::try_from(document.len()).context("the policy is too large")?;
        let data = module.data.add(DataKind::Passive, document.to_vec());
        constant(module, self.size, ValType::I32, |body| {
            body.i32_const(length);
        });
        constant(module, self.mode, ValType::I32, |body| {
            body.i32_const(i32::from(shadow));
        });
        let id = digest.id().cast_signed();
        constant(module, self.id, ValType::I64, |body| {
            body.i64_const(id);
        });
        let address = module.locals.add(ValType::I32);
        let mut read = FunctionBuilder::new(&mut module.types, &[ValType::I32], &[]);
        read.func_body()
            .local_get(address)
            .i32_const(0)
            .i32_const(length)
            .instr(Instr::MemoryInit(MemoryInit {
                memory: self.memory,
                data,
            }));
        module.funcs.get_mut(self.read).kind = FunctionKind::Local(read.local_func(vec![address]));
        Ok(())
    }
}

/// Gives a function the body that gives one number.
fn constant(
    module: &mut Module,
    function: FunctionId,
    gives: ValType,
    write: impl FnOnce(&mut walrus::InstrSeqBuilder<'_>),
) {
    let mut body = FunctionBuilder::new(&mut module.types, &[], &[gives]);
    write(&mut body.func_body());
    module.funcs.get_mut(function).kind = FunctionKind::Local(body.local_func(vec![]));
}
