//! The policy that `tidegate pack` put into the module. It gives four functions another body, so that a module carries its
//! policy without being built again; `tools/finish` gives them the one of a module that carries none.
#![allow(
    unsafe_code,
    reason = "what is packed is behind functions that this crate does not have"
)]

use tidegate_core::policy::Packed;

#[link(wasm_import_module = "tidegate")]
unsafe extern "C" {
    fn policy_size() -> usize;
    fn policy_read(address: *mut u8);
    fn policy_mode() -> u32;
    fn module_id() -> u64;
}

/// The policy in the module; `None` if there is none.
pub(crate) fn packed() -> Option<Packed> {
    // SAFETY: it takes nothing and returns a number.
    let size = unsafe { policy_size() };
    if size == 0 {
        return None;
    }
    let mut document = vec![0; size];
    // SAFETY: it writes `policy_size` bytes.
    unsafe { policy_read(document.as_mut_ptr()) };
    Some(Packed {
        document,
        // SAFETY: it takes nothing and returns a number.
        shadow: unsafe { policy_mode() } != 0,
    })
}

/// The first eight bytes of the module's digest; 0 if it carries no policy.
pub(crate) fn id() -> u64 {
    // SAFETY: it takes nothing and returns a number.
    unsafe { module_id() }
}
