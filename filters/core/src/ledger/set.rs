//! How several scopes look in the store.
//!
//! ```text
//! format: u8 = 1 | entry * 0..=WAYS                                                              little-endian
//! entry: rule text | flags u8 | key 16 | caller 16 | label text | units u64, period u64, burst u64 (0: no quota)
//!        | count, first, last, since, before, logged, logged count: u64 | phase u8 | attempts u8 | due, told: u64
//! text: length u8 | bytes
//! ```

use super::entry::{Entry, Id};
use super::notice::{Notice, Phase};
use super::recent::Seen;
use crate::key::Key;
use crate::quota::{Period, Quota, Rate};

/// How many scopes a set holds.
pub const WAYS: usize = 16;

/// The format of a set; part of its name in the store too.
pub const FORMAT: u8 = 1;

/// The size of a set that is full, in bytes.
pub const MAX_LEN: usize = 1 + WAYS * (2 * (1 + MAX_TEXT_LEN) + 2 * Key::LEN + 1 + 12 * 8 + 2);

/// The longest text, in bytes.
const MAX_TEXT_LEN: usize = 64;

const SHADOW: u8 = 1;
const LOGGED: u8 = 2;

/// The scopes of a set. Bytes that are none of ours are no scopes: what is lost is of no consequence for requests.
pub fn read(bytes: &[u8]) -> Vec<Entry> {
    let Some((&FORMAT, rest)) = bytes.split_first() else {
        return Vec::new();
    };
    let mut rest = Reader(rest);
    let mut entries = Vec::new();
    while entries.len() < WAYS
        && let Some(entry) = rest.entry()
    {
        entries.push(entry);
    }
    entries
}

/// Writes a set.
pub fn write(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    for entry in entries {
        put(&mut bytes, entry);
    }
    bytes
}

/// The entry of a scope; one that was not known takes the place of the one that was refused longest ago. `None` where all
/// others are such as somebody is being told of.
pub(super) fn entry<'e>(entries: &'e mut Vec<Entry>, id: Id, seen: &Seen) -> Option<&'e mut Entry> {
    let found = entries.iter().position(|entry| entry.id == id);
    let at = match found {
        Some(at) => at,
        None if entries.len() < WAYS => {
            entries.push(Entry::new(id, seen));
            entries.len().saturating_sub(1)
        }
        None => {
            let idle = entries.iter().enumerate();
            let idle = idle.filter(|(_, entry)| !entry.notice.is_open());
            let (oldest, _) = idle.min_by_key(|(_, entry)| entry.last)?;
            *entries.get_mut(oldest)? = Entry::new(id, seen);
            oldest
        }
    };
    entries.get_mut(at)
}

fn put(bytes: &mut Vec<u8>, entry: &Entry) {
    let Entry {
        id: Id { rule, shadow, key },
        caller,
        label,
        quota,
        count,
        first,
        last,
        since,
        before,
        logged,
        logged_count,
        notice,
    } = entry;
    text(bytes, rule);
    bytes.push(if *shadow { SHADOW } else { 0 } | if logged.is_some() { LOGGED } else { 0 });
    bytes.extend_from_slice(&key.to_bytes());
    bytes.extend_from_slice(&caller.to_bytes());
    text(bytes, label);
    let (units, period, burst) = quota.map_or((0, 0, 0), |quota| {
        let rate = quota.rate();
        (rate.units(), rate.period().nanos(), quota.burst())
    });
    let logged = logged.unwrap_or(0);
    for number in [
        units,
        period,
        burst,
        *count,
        *first,
        *last,
        *since,
        *before,
        logged,
        *logged_count,
    ] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&[notice.phase as u8, notice.attempts]);
    bytes.extend_from_slice(&notice.due.to_le_bytes());
    bytes.extend_from_slice(&notice.told.to_le_bytes());
}

/// Writes a text, of which [`MAX_TEXT_LEN`] bytes are kept.
fn text(bytes: &mut Vec<u8>, text: &str) {
    let end = text.floor_char_boundary(MAX_TEXT_LEN);
    let kept = text.get(..end).unwrap_or_default();
    bytes.push(u8::try_from(kept.len()).unwrap_or(0));
    bytes.extend_from_slice(kept.as_bytes());
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let [length] = self.take()?;
        let length = usize::from(length);
        if length > MAX_TEXT_LEN {
            return None;
        }
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn entry(&mut self) -> Option<Entry> {
        let rule = self.text()?;
        let [flags] = self.take()?;
        let id = Id {
            rule,
            shadow: flags & SHADOW != 0,
            key: Key::from_bytes(self.take()?),
        };
        let caller = Key::from_bytes(self.take()?);
        let label = self.text()?;
        let quota = quota(self.number()?, self.number()?, self.number()?);
        let (count, first, last) = (self.number()?, self.number()?, self.number()?);
        let (since, before) = (self.number()?, self.number()?);
        let (logged, logged_count) = (self.number()?, self.number()?);
        let [phase, attempts] = self.take()?;
        let notice = Notice {
            phase: Phase::of(phase)?,
            attempts,
            due: self.number()?,
            told: self.number()?,
        };
        Some(Entry {
            id,
            caller,
            label,
            quota,
            count,
            first,
            last,
            since,
            before,
            logged: (flags & LOGGED != 0).then_some(logged),
            logged_count,
            notice,
        })
    }
}

fn quota(units: u64, period: u64, burst: u64) -> Option<Quota> {
    let periods = [Period::Second, Period::Minute, Period::Hour, Period::Day];
    let period = periods.into_iter().find(|known| known.nanos() == period)?;
    Quota::new(Rate::new(units, period).ok()?, burst).ok()
}
