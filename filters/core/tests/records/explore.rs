//! Goes through every interleaving of a few workers' calls, with time passing and calls failing anywhere in between.
//!
//! A state is what stands in the store, the time, and what each worker knows; states that were met before are not
//! gone through again, so the number of schedules that are covered is far larger than the number of states. A crash is a
//! worker that is never scheduled again: every state is also the one in which all workers that have not come to their end
//! crashed, and [`invariants`] looks at it as such.

use std::collections::HashMap;
use std::rc::Rc;

use tidegate_core::store::Swap;

use crate::invariants::{self, Seen};
use crate::worker::{self, Call, Event, Job, LEASE, Memory, Rules, Told};
use crate::world::{Kind, Shared, Value, Values};

/// The times at which something may happen: leases and records end at these exactly.
pub(crate) const TIMES: &[u64] = &[0, LEASE, 2 * LEASE, 3 * LEASE];

/// What is explored.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) rules: Rules,
    pub(crate) jobs: Vec<Job>,
    pub(crate) kind: Kind,
    /// How often time may pass: of [`TIMES`].
    pub(crate) times: usize,
    /// How many calls may fail.
    pub(crate) failures: u8,
}

/// How much was explored.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Explored {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    /// How many different schedules lead through these states.
    pub(crate) schedules: f64,
}

/// A point in a worker's life: all that it knows.
type Point = u32;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    now: u64,
    shared: Shared,
    points: Vec<Point>,
    failed: u8,
}

/// What a worker does at a point: found once by running it.
struct Life {
    memory: Memory,
    told: Vec<Told>,
    next: Option<Next>,
    lasting: Rc<Vec<Event>>,
    /// Where it is once it was told this, and what it did then.
    then: HashMap<Told, (Point, Rc<Vec<Event>>)>,
}

#[derive(Clone)]
struct Next {
    call: Call,
    /// What it would write.
    value: Option<Value>,
}

/// One step of a schedule.
#[derive(Clone, Copy)]
enum Step {
    Time(u64),
    Call(usize, Point, Told),
}

struct Explorer<'a> {
    setup: &'a Setup,
    values: Values,
    lives: Vec<Vec<Life>>,
    points: HashMap<(usize, String), Point>,
    met: HashMap<State, f64>,
    seen: Seen,
    /// How it came to the state that is looked at.
    trail: Vec<Step>,
    steps: usize,
}

/// Explores all there is.
///
/// # Errors
/// The first thing that is wrong, and how it came to that.
pub(crate) fn explore(setup: &Setup) -> Result<Explored, String> {
    let workers = setup.jobs.len();
    let mut explorer = Explorer {
        setup,
        values: Values::new(),
        lives: (0..workers).map(|_| Vec::new()).collect(),
        points: HashMap::new(),
        met: HashMap::new(),
        seen: Seen::default(),
        trail: Vec::new(),
        steps: 0,
    };
    let points = (0..workers)
        .map(|worker| explorer.point(worker, Memory::new(), Vec::new()).0)
        .collect();
    let start = State {
        now: TIMES[0],
        shared: Shared::new(),
        points,
        failed: 0,
    };
    match explorer.visit(start) {
        Ok(schedules) => Ok(Explored {
            states: explorer.met.len(),
            steps: explorer.steps,
            schedules,
        }),
        Err(wrong) => Err(format!(
            "{wrong}\nin {setup:?}\nafter\n  {}",
            explorer.told().join("\n  ")
        )),
    }
}

impl Explorer<'_> {
    /// Where a worker is that knows this, and what it did to come there.
    fn point(&mut self, worker: usize, memory: Memory, told: Vec<Told>) -> (Point, Rc<Vec<Event>>) {
        let job = self.setup.jobs[worker];
        let progress = worker::run(worker, job, &self.setup.rules, memory, told, &self.values);
        let events = Rc::new(progress.events);
        let known = format!("{:?} {:?}", progress.memory, progress.told);
        if let Some(point) = self.points.get(&(worker, known.clone())) {
            return (*point, events);
        }
        let next = progress.next.map(|call| Next {
            value: match &call {
                Call::Swap(_, _, bytes) => Some(self.values.number(bytes)),
                Call::Now | Call::Read(_) => None,
            },
            call,
        });
        let lives = &mut self.lives[worker];
        let point = u32::try_from(lives.len()).unwrap();
        lives.push(Life {
            lasting: Rc::new(progress.memory.lasting.clone()),
            memory: progress.memory,
            told: progress.told,
            next,
            then: HashMap::new(),
        });
        self.points.insert((worker, known), point);
        (point, events)
    }

    /// Where a worker is once it was told this, and what it did then.
    fn after(&mut self, worker: usize, point: Point, answer: Told) -> (Point, Rc<Vec<Event>>) {
        let life = &self.lives[worker][point as usize];
        if let Some(then) = life.then.get(&answer) {
            return then.clone();
        }
        let mut told = life.told.clone();
        told.push(answer);
        let then = self.point(worker, life.memory.clone(), told);
        let life = &mut self.lives[worker][point as usize];
        life.then.insert(answer, then.clone());
        then
    }

    fn lasting(&self, worker: usize, point: Point) -> Rc<Vec<Event>> {
        Rc::clone(&self.lives[worker][point as usize].lasting)
    }

    /// Goes through all that can follow; returns in how many ways.
    fn visit(&mut self, state: State) -> Result<f64, String> {
        if let Some(schedules) = self.met.get(&state) {
            return Ok(*schedules);
        }
        let mut running = false;
        let mut schedules = 0.0;
        for worker in 0..state.points.len() {
            let point = state.points[worker];
            let Some(next) = self.lives[worker][point as usize].next.clone() else {
                continue;
            };
            running = true;
            let may_fail = state.failed < self.setup.failures && next.call != Call::Now;
            // It fails without a trace, or after it was done.
            let outcomes: &[(bool, bool)] = match (may_fail, next.value.is_some()) {
                (false, _) => &[(true, true)],
                (true, false) => &[(true, true), (false, false)],
                (true, true) => &[(true, true), (false, false), (true, false)],
            };
            for (done, answered) in outcomes {
                let depth = self.trail.len();
                schedules += self.step(&state, worker, &next, *done, *answered)?;
                self.trail.truncate(depth);
            }
        }
        if running {
            if let Some(later) = TIMES[..self.setup.times]
                .iter()
                .find(|time| **time > state.now)
            {
                let mut then = state.clone();
                then.now = *later;
                self.trail.push(Step::Time(*later));
                self.look(&then)?;
                schedules += self.visit(then)?;
                self.trail.pop();
            }
        } else {
            schedules = 1.0;
            if state.failed == 0 {
                let values = state.shared.values();
                invariants::at_rest(&values, &self.values)?;
            }
        }
        self.met.insert(state, schedules);
        Ok(schedules)
    }

    /// One worker's next call, and all that can follow.
    fn step(
        &mut self,
        state: &State,
        worker: usize,
        next: &Next,
        done: bool,
        answered: bool,
    ) -> Result<f64, String> {
        self.steps += 1;
        let mut then = state.clone();
        let told = match (&next.call, next.value) {
            _ if !done => Told::Failed,
            (Call::Now, _) => Told::Now(state.now),
            (Call::Read(slot), _) => {
                let (value, version) = state.shared.read(*slot);
                Told::Read(value, version.0)
            }
            (Call::Swap(slot, version, _), Some(value)) => {
                let kind = self.setup.kind;
                let swap = then
                    .shared
                    .swap(kind, *slot, *version, value, &mut self.values);
                Told::Swapped(swap == Swap::Done)
            }
            (Call::Swap(..), None) => panic!("what is swapped has a value"),
        };
        let told = if answered { told } else { Told::Failed };
        then.failed += u8::from(!answered);
        let before = state.points[worker];
        self.trail.push(Step::Call(worker, before, told));
        let (after, events) = self.after(worker, before, told);
        then.points[worker] = after;
        if told != Told::Swapped(false) {
            let (old, new) = (state.shared.values()[0], then.shared.values()[0]);
            let rules = &self.setup.rules;
            let (old, new) = (self.values.bytes(old), self.values.bytes(new));
            invariants::changed(old, new, worker::owner(worker), state.now, rules)?;
        }
        for event in &*events {
            let others: Vec<_> = (0..then.points.len())
                .map(|other| self.lasting(other, then.points[other]))
                .collect();
            invariants::happened(worker, event, &others, then.now, self.setup)?;
        }
        self.look(&then)?;
        self.visit(then)
    }

    /// The schedule that led here, for people.
    fn told(&self) -> Vec<String> {
        let line = |step: &Step| {
            let (worker, point, told) = match step {
                Step::Time(now) => return format!("it is {now}"),
                Step::Call(worker, point, told) => (worker, point, told),
            };
            let life = &self.lives[*worker][*point as usize];
            let call = life.next.as_ref().map(|next| &next.call);
            let told_as = match told {
                Told::Read(value, _) => format!("{:02x?}", self.values.bytes(*value)),
                other => format!("{other:?}"),
            };
            let events = life.then.get(told).map(|(_, events)| events);
            format!("{worker} {call:02x?}: {told_as} {events:02x?}")
        };
        self.trail.iter().map(line).collect()
    }

    fn look(&mut self, state: &State) -> Result<(), String> {
        let (values, shared) = (&self.values, state.shared.values());
        self.seen.look(&shared, state.now, values, self.setup)
    }
}
