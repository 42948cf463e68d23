//! The role `admin`: what operators see of the state that requests have made, and the two things that they may change in it.
//!
//! A request comes as [`Asked`] and becomes a [`Reply`]; nothing here calls the host. [`access`] says who may ask, [`fields`] reads
//! what is asked for, [`caller`] finds the keys of a caller, and [`about`], [`limits`], [`reset`] and [`records`] make the [`view`]s that are
//! told as JSON, or by [`page`] to people.
//!
//! # Invariants
//! - *Private*: who does not come by an address of this machine, by its own name and from its own pages, is answered nothing else.
//! - *Looking changes nothing*: a GET reads by [`Store::peek`] and makes no value.
//! - *Digests only*: values of identities and keys are read from the request and are in no answer and in no line of a log.

mod about;
mod access;
mod caller;
mod drained;
mod fields;
mod limits;
mod page;
mod records;
mod reply;
mod reset;
mod view;

pub use self::reply::Reply;

use self::fields::Fields;
use self::reply::Refusal;
use self::view::View;
use crate::ledger::event::Moment;
use crate::policy::Policy;
use crate::store::Store;

/// The largest body that is read, in bytes.
pub const MOST_BODY: usize = 64 << 10;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The path with its query.
    pub path: &'a [u8],
    /// The authority.
    pub authority: &'a [u8],
    /// Every header line, names in lower case.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// The body.
    pub body: &'a [u8],
    /// The address of this machine by which the connection came, with its port.
    pub local: &'a [u8],
}

/// What is known beside the store.
#[derive(Clone, Copy)]
pub struct Engine<'a> {
    /// The version of the engine.
    pub version: &'a str,
    /// The first bytes of the digest of the packed module; 0 where the policy is not packed.
    pub digest: u64,
    /// Which versions run on how many VMs, as their metric is labelled; asked when it is needed.
    pub running: &'a dyn Fn() -> Vec<(String, u64)>,
}

/// The refusal of a request that may not ask at all, whatever comes in its body.
pub fn refusal(policy: &Policy, asked: &Asked<'_>) -> Option<Reply> {
    let refusal = access::check(&policy.admin, asked).err()?;
    Some(refusal.reply(asked))
}

/// The answer to a request.
pub fn answer<S: Store>(
    policy: &Policy,
    engine: &Engine<'_>,
    store: &mut S,
    asked: &Asked<'_>,
    at: Moment,
) -> Reply {
    let answered =
        access::check(&policy.admin, asked).and_then(|()| view(policy, engine, store, asked, at));
    match answered {
        Ok((view, log)) => Reply::of(policy, &view, asked, log),
        Err(refusal) => refusal.reply(asked),
    }
}

/// What a request is shown, and what is to be logged of it.
fn view<S: Store>(
    policy: &Policy,
    engine: &Engine<'_>,
    store: &mut S,
    asked: &Asked<'_>,
    at: Moment,
) -> Result<(View, Option<String>), Refusal> {
    let mut split = asked.path.splitn(2, |byte| *byte == b'?');
    let (path, query) = (split.next().unwrap_or_default(), split.next());
    let change = match path {
        b"/" | b"/policy" | b"/limits" | b"/records" => false,
        b"/limits/reset" | b"/records/release" => true,
        _ => return Err(Refusal::unknown()),
    };
    match (change, asked.method) {
        (true, b"POST") | (false, b"GET" | b"HEAD") => {}
        (true, _) => return Err(Refusal::method("POST")),
        (false, _) => return Err(Refusal::method("GET, HEAD")),
    }
    let fields = Fields::read(query.unwrap_or_default(), asked)?;
    match path {
        b"/policy" => {
            fields.end("")?;
            let view = about::about(policy, engine, at);
            Ok((View::Policy(view), None))
        }
        b"/limits" => {
            let view = limits::limits(policy, store, fields, at)?;
            Ok((View::Limits(view), None))
        }
        b"/records" => {
            let view = records::records(policy, store, fields, at)?;
            Ok((View::Records(view), None))
        }
        b"/limits/reset" => {
            let (view, log) = reset::reset(policy, store, fields, at)?;
            Ok((View::Reset(view), Some(log)))
        }
        b"/records/release" => {
            let (view, log) = records::release(policy, store, fields, at)?;
            Ok((View::Released(view), Some(log)))
        }
        _ => {
            fields.end("")?;
            let policy_view = about::about(policy, engine, at);
            let limits = limits::limits(policy, store, fields, at)?;
            let home = view::Home::new(policy_view, limits);
            Ok((View::Home(Box::new(home)), None))
        }
    }
}
