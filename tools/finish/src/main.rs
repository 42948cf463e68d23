//! `tidegate-finish IN OUT`: gives a built module what it asks for a policy that was packed into it, that there is none, and
//! the section by which tools know its version.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use walrus::{Module, ModuleConfig, RawCustomSection, ValType};

/// The custom section by which tools know the engine's version.
const VERSION: &str = "tidegate-engine";

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(from), Some(to), None) = (arguments.next(), arguments.next(), arguments.next())
    else {
        bail!("write `tidegate-finish IN OUT`");
    };
    // Names and producers go: no use to Envoy, and one of them names this tool's version.
    let mut config = ModuleConfig::new();
    config
        .generate_name_section(false)
        .generate_producers_section(false);
    let mut module = config
        .parse_file(&from)
        .with_context(|| from.display().to_string())?;
    unpacked(&mut module)?;
    // The version of the workspace is one: this tool's is the engine's.
    module.customs.add(RawCustomSection {
        name: VERSION.to_owned(),
        data: env!("CARGO_PKG_VERSION").as_bytes().to_vec(),
    });
    module
        .emit_wasm_file(&to)
        .with_context(|| to.display().to_string())?;
    Ok(())
}

/// What the module asks of whoever packs a policy into it, by the names under which it is exported for that.
const PACKED: [(&str, &str); 4] = [
    ("policy_size", "tidegate_policy_size"),
    ("policy_read", "tidegate_policy_read"),
    ("policy_mode", "tidegate_policy_mode"),
    ("module_id", "tidegate_module_id"),
];

/// Answers what the module asks for the policy in it: there is none. `tidegate pack` gives these functions other bodies.
fn unpacked(module: &mut Module) -> Result<()> {
    for (import, export) in PACKED {
        let function = module
            .imports
            .get_func("tidegate", import)
            .with_context(|| format!("the module does not import `tidegate.{import}`"))?;
        let results = module
            .types
            .results(module.funcs.get(function).ty())
            .to_vec();
        module.replace_imported_func(function, |(body, _)| {
            for result in results {
                match result {
                    ValType::I64 => body.i64_const(0),
                    _ => body.i32_const(0),
                };
            }
        })?;
        module.exports.add(export, function);
    }
    Ok(())
}
