//! Puts the engine into the tool, so that `tidegate pack` needs nothing else: the file that `TIDEGATE_ENGINE` names at
//! build time, in a relative path from the root of the repository. Without it the tool has none, and says so.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=TIDEGATE_ENGINE");
    let engine = match env::var_os("TIDEGATE_ENGINE") {
        None => Vec::new(),
        Some(file) => {
            let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("..");
            let file = root.join(file);
            println!("cargo::rerun-if-changed={}", file.display());
            fs::read(&file)
                .map_err(|error| format!("TIDEGATE_ENGINE: `{}`: {error}", file.display()))?
        }
    };
    let to = Path::new(&env::var("OUT_DIR")?).join("engine.wasm");
    fs::write(to, engine)?;
    Ok(())
}
