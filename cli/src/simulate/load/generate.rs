//! From a load to its requests, in the order of their times.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};

use super::rate::Times;
use super::spec::{Group, Kind, Pick, Spec};
use crate::simulate::field::{Field, Fields, Key, Target};
use crate::simulate::number::{float, whole};
use crate::simulate::record::Record;

const SECOND: f64 = 1e9;

/// The requests of a load.
pub(crate) struct Generator {
    fields: Fields,
    places: Places,
    groups: Vec<State>,
    text: String,
    count: u64,
}

/// The numbers of the fields that every request has.
struct Places {
    method: Option<usize>,
    path: Option<usize>,
    host: Option<usize>,
    address: Option<usize>,
    tenant: Option<usize>,
    account: Option<usize>,
    plan: Option<usize>,
    cost: Option<usize>,
}

/// A group at work.
struct State {
    group: Group,
    start: u64,
    times: Times,
    next: Option<u64>,
    random: fastrand::Rng,
    turn: u64,
    /// The weights of the kinds, each with those before it.
    weights: Vec<u64>,
    /// For each kind its headers' fields.
    headers: Vec<Vec<(usize, String)>>,
}

impl Generator {
    /// The requests of these loads together.
    ///
    /// # Errors
    /// A time that is none.
    pub(crate) fn new(specs: &[Spec]) -> Result<Self> {
        let mut named: Vec<Field> = Vec::new();
        let all = specs.iter().flat_map(|spec| &spec.groups);
        for name in all
            .flat_map(|g| &g.requests)
            .flat_map(|kind| kind.headers.keys())
        {
            let field = Field {
                target: Target::Header(name.to_ascii_lowercase()),
                key: Key::Pointer(vec!["headers".to_owned(), name.to_ascii_lowercase()]),
            };
            if !named.contains(&field) {
                named.push(field);
            }
        }
        let fields = Fields::new(&named)?;
        let mut groups = Vec::new();
        for spec in specs {
            let start = crate::simulate::moment::parse(&spec.start).ok_or_else(|| {
                let hint = "write one like `2026-11-29T00:00:00Z`";
                anyhow!("`{}` is not a time to start at; {hint}", spec.start)
            })?;
            for group in &spec.groups {
                let number = u64::try_from(groups.len()).unwrap_or(0);
                let seed = spec.seed.wrapping_mul(1_000_003).wrapping_add(number);
                groups.push(State::new(group, &fields, start, seed));
            }
        }
        let find = |target| fields.find(&target);
        let places = Places {
            method: find(Target::Method),
            path: find(Target::Path),
            host: find(Target::Host),
            address: find(Target::Address),
            tenant: find(Target::Tenant),
            account: find(Target::Account),
            plan: find(Target::Plan),
            cost: find(Target::Cost),
        };
        Ok(Self {
            places,
            groups,
            fields,
            text: String::new(),
            count: 0,
        })
    }

    /// The fields of its records.
    pub(crate) const fn fields(&self) -> &Fields {
        &self.fields
    }

    /// About how many requests there are.
    pub(crate) fn total(&self) -> f64 {
        self.groups.iter().map(|state| state.times.total()).sum()
    }

    /// Writes the next request into `record`; `false` at the end.
    pub(crate) fn next(&mut self, record: &mut Record) -> bool {
        let earliest = self
            .groups
            .iter_mut()
            .filter_map(|state| state.next.map(|time| (time, state)))
            .min_by_key(|(time, _)| *time);
        let Some((time, state)) = earliest else {
            return false;
        };
        self.count = self.count.saturating_add(1);
        record.clear(self.fields.len());
        record.time = time;
        state.write(&self.places, self.count, &mut self.text, record);
        state.advance();
        true
    }
}

impl State {
    fn new(group: &Group, fields: &Fields, start: u64, seed: u64) -> Self {
        let mut sum = 0_u64;
        let weights = group.requests.iter().map(|kind| {
            sum = sum.saturating_add(kind.weight);
            sum
        });
        let weights = weights.collect();
        let headers = group.requests.iter().map(|kind| {
            let headers = kind.headers.iter().filter_map(|(name, value)| {
                let target = Target::Header(name.to_ascii_lowercase());
                Some((fields.find(&target)?, value.clone()))
            });
            headers.collect()
        });
        let time_of_day = (start / 1_000_000_000) % 86_400;
        let time_of_day = f64::from(u32::try_from(time_of_day).unwrap_or(0));
        let mut state = Self {
            headers: headers.collect(),
            start,
            times: Times::new(&group.rate, group.arrivals, time_of_day, seed),
            next: None,
            random: fastrand::Rng::with_seed(!seed),
            turn: 0,
            weights,
            group: group.clone(),
        };
        state.advance();
        state
    }

    fn advance(&mut self) {
        let start = self.start;
        self.next = self
            .times
            .next()
            .map(|time| start.saturating_add(nanos(time)));
    }

    /// The number of the caller of the next request, from 0.
    fn caller(&mut self) -> u64 {
        let callers = self.group.callers;
        match self.group.pick {
            Pick::Turn => {
                let turn = self.turn;
                self.turn = turn.saturating_add(1).checked_rem(callers).unwrap_or(0);
                turn
            }
            Pick::Random => self.random.u64(..callers),
            Pick::Skewed => {
                // A tenth of the callers has the cube root of a tenth of the requests: 46 %.
                let draw = self.random.f64();
                scaled(draw * draw * draw, callers)
            }
        }
    }

    fn kind(&mut self) -> usize {
        let Some(sum) = self
            .weights
            .last()
            .copied()
            .filter(|_| self.weights.len() > 1)
        else {
            return 0;
        };
        let draw = self.random.u64(..sum);
        self.weights.partition_point(|weight| *weight <= draw)
    }

    fn write(&mut self, places: &Places, count: u64, text: &mut String, record: &mut Record) {
        let number = self.caller();
        let kind = self.kind();
        let Self { group, headers, .. } = self;
        let Some(Kind {
            method,
            path,
            host,
            cost,
            status,
            ..
        }) = group.requests.get(kind)
        else {
            return;
        };
        let tenant = number.checked_rem(group.tenants).unwrap_or(0);
        let numbers = Numbers {
            caller: number.saturating_add(1),
            tenant: tenant.saturating_add(1),
            request: count,
        };
        let mut set = |place: Option<usize>, template: Option<&String>| {
            if let (Some(place), Some(template)) = (place, template) {
                numbers.fill(template, text);
                record.set(place, text.as_bytes());
            }
        };
        set(places.method, Some(method));
        set(places.path, Some(path));
        set(places.host, host.as_ref());
        set(places.tenant, group.tenant.as_ref());
        set(places.account, group.account.as_ref());
        set(places.plan, group.plan.as_ref());
        for (place, value) in headers.get(kind).into_iter().flatten() {
            set(Some(*place), Some(value));
        }
        text.clear();
        // Writing to a string cannot fail.
        let _ = write!(text, "{}", group.address.address(number));
        if let Some(place) = places.address {
            record.set(place, text.as_bytes());
        }
        if let (Some(place), Some(cost)) = (places.cost, cost) {
            text.clear();
            let _ = write!(text, "{cost}");
            record.set(place, text.as_bytes());
        }
        record.status = status.unwrap_or(0);
    }
}

/// What stands for `{n}`, `{t}` and `{i}`.
struct Numbers {
    caller: u64,
    tenant: u64,
    request: u64,
}

impl Numbers {
    fn fill(&self, template: &str, text: &mut String) {
        text.clear();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let names = [
                ("n}", self.caller),
                ("t}", self.tenant),
                ("i}", self.request),
            ];
            let found = names
                .into_iter()
                .find_map(|(name, number)| Some((after.strip_prefix(name)?, number)));
            rest = match found {
                Some((after, number)) => {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{number}");
                    after
                }
                None => {
                    text.push('{');
                    after
                }
            };
        }
        text.push_str(rest);
    }
}

/// A time of the load; a billionth of a second more or less is nobody's.
fn nanos(seconds: f64) -> u64 {
    whole((seconds * SECOND).round())
}

/// A share of a number of callers; the last is kept from being one too many.
fn scaled(share: f64, number: u64) -> u64 {
    whole(share * float(number)).min(number.saturating_sub(1))
}
