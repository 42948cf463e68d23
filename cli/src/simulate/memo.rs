//! Remembers what is known of callers: most of them come again, and who comes again is not looked at again. Decisions are
//! not remembered.

use smallvec::SmallVec;
use tidegate_core::cases::Known;

use super::record::Record;

/// How many callers are remembered at most, as many as are counted exactly. Each has one place, and who comes to a place
/// takes it over.
const PLACES: usize = 65_536;

/// A place where nobody came to yet.
const NOBODY: usize = usize::MAX;

/// What is known of callers.
pub(crate) struct Memo {
    /// The fields that it comes from.
    fields: Vec<usize>,
    /// Who is remembered, and for each place which of them.
    callers: Vec<Remembered>,
    places: Vec<usize>,
}

/// What is known of a caller on a route.
struct Remembered {
    route: Option<usize>,
    /// The values of the fields, each behind its length.
    values: Values,
    known: Known,
}

/// Of most callers beside the rest that is remembered: each place in memory is a wait.
type Values = SmallVec<[u8; 64]>;

impl Memo {
    pub(crate) fn new(fields: Vec<usize>) -> Self {
        Self::with(PLACES, fields)
    }

    fn with(count: usize, fields: Vec<usize>) -> Self {
        Self {
            fields,
            callers: Vec::new(),
            places: vec![NOBODY; count],
        }
    }

    /// What is known of the caller with this number on this route; `find` finds it out if that is not remembered.
    #[inline]
    pub(crate) fn known(
        &mut self,
        record: &Record,
        caller: u64,
        route: Option<usize>,
        find: impl FnOnce() -> Option<Known>,
    ) -> Option<&Known> {
        let Self {
            fields,
            callers,
            places,
        } = self;
        let place = place(caller, route, places.len());
        let place = places.get_mut(place)?;
        let there = callers.get(*place);
        if there.is_none_or(|there| there.route != route || !there.is_of(record, fields)) {
            let caller = Remembered {
                route,
                values: values(record, fields),
                known: find()?,
            };
            match callers.get_mut(*place) {
                Some(there) => *there = caller,
                None => {
                    *place = callers.len();
                    callers.push(caller);
                }
            }
        }
        callers.get(*place).map(|there| &there.known)
    }
}

impl Remembered {
    /// Whether these are the values of `record`.
    fn is_of(&self, record: &Record, fields: &[usize]) -> bool {
        let mut rest = self.values.as_slice();
        for field in fields {
            let value = record.get(*field);
            let Some((length, behind)) = rest.split_first_chunk() else {
                return false;
            };
            if u32::from_le_bytes(*length) != length_of(value) {
                return false;
            }
            let Some(behind) = behind.strip_prefix(value) else {
                return false;
            };
            rest = behind;
        }
        rest.is_empty()
    }
}

fn values(record: &Record, fields: &[usize]) -> Values {
    let mut values = Values::new();
    for field in fields {
        let value = record.get(*field);
        values.extend_from_slice(&length_of(value).to_le_bytes());
        values.extend_from_slice(value);
    }
    values
}

/// Lines are far shorter than that.
fn length_of(value: &[u8]) -> u32 {
    u32::try_from(value.len()).unwrap_or(u32::MAX)
}

/// The place of a caller on a route.
fn place(caller: u64, route: Option<usize>, places: usize) -> usize {
    let route = route.map_or(0, |route| route.saturating_add(1));
    let digest = usize::try_from(caller >> 32).unwrap_or(0);
    digest
        .wrapping_add(route.wrapping_mul(0x9e37_79b9))
        .checked_rem(places)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use tidegate_core::key::Secret;
    use tidegate_core::policy::Policy;

    use super::*;
    use crate::simulate::field::Fields;
    use crate::simulate::present::{Presenter, Scratch};

    const POLICY: &[u8] = br#"{"policy": "p", "version": "1",
        "identity": {"tenant": [{"jwt": "tenant"}], "account": [{"header": "x-account"}]},
        "limits": {"tenant": {"per": ["tenant"], "rate": "1/s"}, "account": {"per": ["account", "method"], "rate": "1/s"},
                   "place": {"per": ["tenant", "account", "route", "address"], "rate": "1/s"}},
        "always": ["tenant", "account"],
        "routes": [{"name": "a", "match": {"path": "/a"}, "limits": ["place"]},
                   {"name": "b", "match": {"path": "/b"}, "limits": ["place"]}]}"#;

    /// A log's members, and values that run into each other where one follows another.
    const MEMBERS: [(&str, [&str; 4]); 5] = [
        ("method", ["", "GET", "POST", "G"]),
        ("client", ["", "192.0.2.1", "192.0.2.11", "192.0.2."]),
        ("tenant", ["", "a", "ab", "abc"]),
        ("account", ["", "c", "bc", "abc"]),
        ("plan", ["", "p", "q", "r"]),
    ];

    #[test]
    fn who_meets_another_in_a_place_is_never_taken_for_them() {
        let fields = Fields::new(&[]).unwrap();
        let policy = Policy::parse(POLICY).unwrap();
        let presenter = Presenter::new(&policy, &fields);
        let mut scratch = Scratch::default();
        let mut memo = Memo::with(4, presenter.beside_path());
        let (mut record, mut random) = (Record::default(), fastrand::Rng::with_seed(5));
        let (mut found, mut again) = (0, 0);
        for _ in 0..40_000 {
            record.clear(fields.len());
            for (name, values) in MEMBERS {
                let key = super::super::field::Key::Name(name.to_owned());
                let field = fields.iter().position(|field| field.key == key).unwrap();
                // Mostly one of two callers.
                let value = if random.u8(..) < 200 {
                    random.usize(1..3)
                } else {
                    random.usize(..4)
                };
                record.set(field, values[value].as_bytes());
            }
            let route = random.usize(..3).checked_sub(1);
            let wanted = {
                presenter.show(&record, &mut scratch, |request| {
                    let route = route.and_then(|route| policy.routes.get(route));
                    Known::of(&policy, request, route, Secret::none())
                })
            };
            let mut asked = false;
            // All come to a few places.
            let known = memo.known(&record, random.u64(..) & 3 << 32, route, || {
                asked = true;
                wanted.clone()
            });
            assert_eq!(known, wanted.as_ref());
            found += usize::from(wanted.is_some());
            again += usize::from(!asked);
        }
        assert!(found > 20_000 && again > 100, "{found} {again}");
    }
}
