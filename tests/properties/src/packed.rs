//! Modules from anywhere, and policies packed into one.

use std::borrow::Cow;
use std::sync::LazyLock;

use tidegate_core::policy::Policy;
use tidegate_tool::packed::{Anatomy, Contents, Engine, Packed, is_module, look, pack};

/// The engine of the tool's own tests.
static ENGINE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let text = include_str!("../../../cli/tests/packing/engine.wat");
    wat::parse_str(text).expect("an engine")
});

/// The packed module that damage is done to.
static MODULE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let document = br#"{"policy": "packed", "version": "1"}"#;
    pack(&engine(), document, false).expect("a policy").bytes
});

/// Bytes that begin like a module are one; what begins with `damage` is damage to a good one; all else is a policy to pack.
pub fn packed(data: &[u8]) {
    if is_module(data) {
        taken(data);
    } else if let Some(damage) = data.strip_prefix(b"damage") {
        damaged(damage);
    } else {
        again(data);
    }
}

/// What a module from anywhere carries, if it carries anything.
fn taken(bytes: &[u8]) -> Option<Packed> {
    let parts = Anatomy::of(bytes).ok()?;
    let sum: usize = parts.sections.iter().map(|part| part.bytes).sum();
    assert!(sum <= bytes.len(), "{sum} bytes of {}", bytes.len());
    let Contents::Packed(packed) = look(bytes, &parts).ok()? else {
        return None;
    };
    let document = &packed.document;
    let there = bytes
        .windows(document.len().max(1))
        .any(|w| w == &document[..]);
    assert!(
        document.is_empty() || there,
        "the policy stands in no module"
    );
    assert_eq!(packed.is_intact(), packed.faults.is_empty());
    if packed.is_intact() {
        let policy = packed.policy().expect("what is intact has a policy");
        assert_eq!(policy.name, packed.section.policy);
        assert_eq!(policy.version, packed.section.version);
    }
    Some(*packed)
}

/// Changes bytes of a packed module: each two of place, and one of value. What is called intact has the policy that was packed.
fn damaged(damage: &[u8]) {
    let mut bytes = MODULE.clone();
    for [high, low, value] in damage.as_chunks::<3>().0 {
        let at = usize::from(u16::from_be_bytes([*high, *low])) % bytes.len();
        bytes[at] = *value;
    }
    let Some(found) = taken(&bytes).filter(Packed::is_intact) else {
        return;
    };
    // Its digest covers the document, so another one would have to be told with it.
    let parts = Anatomy::of(&MODULE).expect("a module");
    let Ok(Contents::Packed(whole)) = look(&MODULE, &parts) else {
        panic!("the module is not packed");
    };
    if found.section.engine_digest == whole.section.engine_digest
        && found.section.digest == whole.section.digest
    {
        assert_eq!(
            found.document, whole.document,
            "another policy under the same digest"
        );
    }
}

/// A policy that can be packed comes out again, byte for byte, and the same module comes of it each time.
fn again(document: &[u8]) {
    let shadow = document.len() % 2 == 1;
    let written = pack(&engine(), document, shadow);
    assert_eq!(written.is_ok(), Policy::parse(document).is_ok());
    let Ok(written) = written else { return };
    let twice = pack(&engine(), document, shadow).expect("as before");
    assert_eq!(written.bytes, twice.bytes, "two modules of one policy");
    let packed = taken(&written.bytes).expect("what was packed is packed");
    assert_eq!(packed.document, document);
    assert_eq!(packed.section, written.section);
    assert!(packed.is_intact(), "{:?}", packed.faults);
}

fn engine() -> Engine {
    Engine {
        bytes: Cow::Borrowed(&ENGINE),
    }
}
