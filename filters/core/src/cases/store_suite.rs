//! What every store has to do: the contract of [`Store`], and the records on top of it. The same suite runs on the store in
//! memory, and inside Envoy on the one that its workers share.

mod contract;
mod failing;
mod records;

use crate::store::{Store, StoreError};

type Check<S> = fn(&mut dyn FnMut() -> S) -> Result<(), String>;

/// Runs the suite. Each store that `make` returns is one to which nobody has written.
///
/// # Errors
/// The first check that does not hold, and in what.
pub fn suite<S: Store>(mut make: impl FnMut() -> S) -> Result<(), String> {
    let checks: &[(&str, Check<S>)] = &[
        ("a value that was never written is empty", contract::absent),
        ("a swap succeeds once", contract::swaps_once),
        ("one of two first writings wins", contract::first_writings),
        ("values are byte equal", contract::byte_equal),
        ("values stand apart", contract::apart),
        ("a key is claimed once", records::claimed_once),
        ("an owner alone settles", records::owner_settles),
        ("an answer is its execution's", records::answers),
        ("a late owner destroys nothing", records::late_owner),
        ("a full set is full until a record ends", records::full_set),
        ("room is taken and given back", records::room),
        (
            "a claim that is given back forgets nothing",
            records::put_back,
        ),
        ("bytes that are none of ours are errors", records::malformed),
        ("sweeping takes what is over", records::sweeps),
        ("a call that fails breaks nothing", failing::every_call),
    ];
    for (name, check) in checks {
        check(&mut make).map_err(|wrong| format!("{name}: {wrong}"))?;
    }
    Ok(())
}

fn hold(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

fn done<T>(result: Result<T, StoreError>) -> Result<T, String> {
    result.map_err(|error| format!("the store failed: {error:?}"))
}
