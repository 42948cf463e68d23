//! A worker: one request, from its claim to its end, by the shipped code of `records::drive`.
//!
//! That code is straight: it calls the store and goes on with the answer. To stop it between any two calls, each function of
//! `drive` is run from its start with the answers that it has had so far; the first call beyond them is noted, and it and
//! all that follow are refused, so that the code comes to an end. Whatever it says after that is not looked at. What a
//! function returned is all that the worker knows when it calls the next.

use tidegate_core::key::Secret;
use tidegate_core::records::machine::Wanted;
use tidegate_core::records::{
    Claimed, Digest, Owner, Place, Record, Room, Settled, State, Stored, drive,
};
use tidegate_core::store::{Slot, Store, StoreError, Swap, Version};

use crate::world::{Value, Values};

/// How long an execution may run.
pub(crate) const LEASE: u64 = 10;

/// How long its record is kept.
pub(crate) const TTL: u64 = 20;

/// What a worker asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    Now,
    Read(Slot),
    Swap(Slot, Version, Vec<u8>),
}

/// What it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Told {
    Now(u64),
    Read(Value, u32),
    Swapped(bool),
    Failed,
}

/// What a worker is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// A request.
    Request(Request),
    /// Sweeping the set.
    Sweep,
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) key: u8,
    /// What it says.
    pub(crate) body: u8,
    /// Whether it claims before it has read its body.
    pub(crate) early: bool,
    pub(crate) ending: Ending,
}

/// What becomes of it, if it is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Answer,
    /// The answer is stored twice, as by a caller who was not sure.
    AnswerTwice,
    Release,
    Unknown,
    /// Nothing was heard for some time, and then there was an answer.
    UnknownThenAnswer,
    /// It settles the record of another key too.
    Meddle,
}

/// What is the same for all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) ways: u8,
    pub(crate) room: u64,
    pub(crate) retries: bool,
}

/// What a worker did that others can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A claim was ours: this is an execution.
    Began { key: u8, now: u64 },
    /// It went to the origin with this body.
    Sent { body: u8 },
    /// It begins to give its key back.
    Releases,
    /// There was a record.
    Taken(Record),
    /// There was no room.
    Full,
    /// An answer was replayed.
    Replayed(Record, Vec<u8>),
    /// A record was said to have an answer, and there was none.
    Gone(Record),
    /// The owner's answer was not stored although its record was its own.
    Stored(bool),
    /// A call failed, of one who last looked at the clock then.
    Failed { error: StoreError, since: u64 },
}

pub(crate) fn key(number: u8) -> Digest {
    Digest::from_bytes([number; 32])
}

pub(crate) fn body(number: u8) -> Digest {
    Digest::from_bytes([0xb0 | number; 32])
}

pub(crate) fn owner(worker: usize) -> Owner {
    Owner([0xa0 | u8::try_from(worker).unwrap(); 16])
}

/// The answer that an execution is given; no two are alike.
pub(crate) fn answer_of(owner: Owner) -> Vec<u8> {
    let stored = Stored {
        owner,
        status: 200,
        headers: vec![(b"n", &owner.0[..1])],
        body: &owner.0[..8],
    };
    stored.write().unwrap()
}

/// The size of every answer.
pub(crate) const ANSWER: u64 = 23 + 8 + 2 + 8;

/// What a worker knows between two calls of `drive`, and all that it did that matters later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memory {
    at: At,
    /// Of its events those that others are judged by.
    pub(crate) lasting: Vec<Event>,
}

/// Which call of `drive` is next, or under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Claiming {
        now: u64,
    },
    Replaying(Record),
    /// The calls that follow a claim, by number.
    Executing {
        now: u64,
        place: Place,
        call: u8,
    },
    GivingBack {
        now: u64,
        place: Place,
    },
    End,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self {
            at: At::Start,
            lasting: Vec::new(),
        }
    }
}

/// How far a worker has come.
pub(crate) struct Progress {
    /// What it asks for next; `None` if it has come to its end.
    pub(crate) next: Option<Call>,
    /// What it knew when it began the call of `drive` that it is in.
    pub(crate) memory: Memory,
    /// What it was told in that call.
    pub(crate) told: Vec<Told>,
    /// What it did when it was told that.
    pub(crate) events: Vec<Event>,
}

/// Goes on with a worker from what it knew and what it was told since.
pub(crate) fn run(
    worker: usize,
    job: Job,
    rules: &Rules,
    mut memory: Memory,
    mut told: Vec<Told>,
    values: &Values,
) -> Progress {
    let mut events = Vec::new();
    loop {
        if memory.at == At::End {
            told.clear();
            return Progress {
                next: None,
                memory,
                told,
                events,
            };
        }
        let mut replay = Replay {
            told: &told,
            values,
            at: 0,
            next: None,
            events: Vec::new(),
        };
        let at = replay.call(memory.at, job, owner(worker), rules);
        if replay.next.is_some() {
            return Progress {
                next: replay.next,
                memory,
                told,
                events,
            };
        }
        let new = replay.events;
        let lasting = |event: &&Event| {
            matches!(
                event,
                Event::Began { .. } | Event::Sent { .. } | Event::Releases
            )
        };
        memory.lasting.extend(new.iter().filter(lasting).cloned());
        memory.at = at;
        events.extend(new);
        told.clear();
    }
}

struct Replay<'a> {
    told: &'a [Told],
    values: &'a Values,
    at: usize,
    next: Option<Call>,
    events: Vec<Event>,
}

impl Replay<'_> {
    /// The next answer; `None` once there is none.
    fn ask(&mut self, call: impl FnOnce() -> Call) -> Option<Told> {
        if self.next.is_some() {
            return None;
        }
        let told = self.told.get(self.at).copied();
        self.at += 1;
        if told.is_none() {
            self.next = Some(call());
        }
        told
    }

    /// Makes one call of `drive`; what it says counts if nothing was left to be asked.
    fn call(&mut self, at: At, job: Job, owner: Owner, rules: &Rules) -> At {
        let since = match at {
            At::Claiming { now } | At::Executing { now, .. } | At::GivingBack { now, .. } => now,
            At::Start | At::Replaying(_) | At::End => 0,
        };
        let then = match (at, job) {
            (At::Start, _) => match self.ask(|| Call::Now) {
                Some(Told::Now(now)) => Ok(At::Claiming { now }),
                Some(other) => panic!("{other:?}"),
                None => Ok(At::End),
            },
            (At::Claiming { now }, Job::Sweep) => drive::sweep(self, 0, now).map(|()| At::End),
            (_, Job::Sweep) => Ok(At::End),
            (_, Job::Request(request)) => self.request(at, request, owner, rules),
        };
        then.unwrap_or_else(|error| {
            self.events.push(Event::Failed { error, since });
            At::End
        })
    }

    fn request(
        &mut self,
        at: At,
        request: Request,
        owner: Owner,
        rules: &Rules,
    ) -> Result<At, StoreError> {
        let room = room(rules);
        match at {
            At::Start | At::End => Ok(At::End),
            At::Claiming { now } => {
                let wanted = wanted(request, owner, rules);
                let claimed = drive::claim(self, &room, &wanted, now)?;
                Ok(self.claimed(request, claimed, now))
            }
            At::Replaying(record) => {
                let event = match drive::answer(self, &room, &record)? {
                    Some(bytes) => Event::Replayed(record, bytes),
                    None => Event::Gone(record),
                };
                self.events.push(event);
                Ok(At::End)
            }
            At::GivingBack { place, .. } => {
                drive::settle(self, &place, Settled::Released)?;
                Ok(At::End)
            }
            At::Executing {
                now,
                place,
                call: 0,
            } => {
                let own = Settled::Known(body(request.body));
                if !drive::settle(self, &place, own)? {
                    return Ok(At::End);
                }
                Ok(self.executes(request, place, now))
            }
            At::Executing { now, place, call } => {
                let more = self.ending(request.ending, call, &place, &room, owner)?;
                Ok(if more {
                    let call = call + 1;
                    At::Executing { now, place, call }
                } else {
                    At::End
                })
            }
        }
    }

    fn claimed(&mut self, request: Request, claimed: Claimed, now: u64) -> At {
        let (place, known) = match claimed {
            Claimed::Ours { place, known } => (place, known),
            Claimed::Full => {
                self.events.push(Event::Full);
                return At::End;
            }
            Claimed::Taken(record) => {
                self.events.push(Event::Taken(record));
                return match record.state {
                    State::Done(_) => At::Replaying(record),
                    _ => At::End,
                };
            }
        };
        let key = request.key;
        self.events.push(Event::Began { key, now });
        if !request.early {
            return self.executes(request, place, now);
        }
        if known.is_some_and(|known| !known.is(&body(request.body))) {
            // Another request: it goes no further.
            self.events.push(Event::Releases);
            return At::GivingBack { now, place };
        }
        At::Executing {
            now,
            place,
            call: 0,
        }
    }

    /// Goes to the origin, or gives back what it claimed.
    fn executes(&mut self, request: Request, place: Place, now: u64) -> At {
        if request.ending == Ending::Release {
            self.events.push(Event::Releases);
            return At::GivingBack { now, place };
        }
        let body = request.body;
        self.events.push(Event::Sent { body });
        At::Executing {
            now,
            place,
            call: 1,
        }
    }

    /// Whether there is more to do.
    fn ending(
        &mut self,
        ending: Ending,
        call: u8,
        place: &Place,
        room: &Room,
        owner: Owner,
    ) -> Result<bool, StoreError> {
        let answer = answer_of(owner);
        match (ending, call) {
            (Ending::Answer | Ending::AnswerTwice, 1)
            | (Ending::AnswerTwice | Ending::UnknownThenAnswer, 2) => {
                let stored = drive::store_answer(self, room, place, &answer)?;
                self.events.push(Event::Stored(stored));
                Ok(ending == Ending::AnswerTwice && call == 1)
            }
            (Ending::Unknown | Ending::UnknownThenAnswer, 1) => {
                drive::settle(self, place, Settled::Unknown)?;
                Ok(ending == Ending::UnknownThenAnswer)
            }
            (Ending::Meddle, _) => {
                let mut other = *place;
                other.key = key(u8::from(place.key == key(0)));
                let settled = if call == 1 {
                    Settled::Released
                } else {
                    Settled::Done(1)
                };
                drive::settle(self, &other, settled)?;
                Ok(call == 1)
            }
            other => panic!("{other:?}"),
        }
    }
}

fn room(rules: &Rules) -> Room {
    Room {
        records: u32::from(rules.ways),
        bytes: rules.room,
    }
}

fn wanted(request: Request, owner: Owner, rules: &Rules) -> Wanted {
    Wanted {
        key: key(request.key),
        fingerprint: (!request.early).then(|| body(request.body)),
        owner,
        lease: LEASE,
        ttl: TTL,
        retries: rules.retries,
        ways: rules.ways,
        shadow: false,
    }
}

impl Store for Replay<'_> {
    fn secret(&self) -> Secret {
        Secret::new([7; 16])
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        match self.ask(|| Call::Read(slot)) {
            Some(Told::Read(value, version)) => {
                Ok((self.values.bytes(value).to_vec(), Version(version)))
            }
            Some(Told::Failed) | None => Err(StoreError::Unavailable),
            Some(other) => panic!("{other:?}"),
        }
    }

    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        match self.ask(|| Call::Swap(slot, version, bytes.to_vec())) {
            Some(Told::Swapped(true)) => Ok(Swap::Done),
            Some(Told::Swapped(false)) => Ok(Swap::Lost),
            Some(Told::Failed) | None => Err(StoreError::Unavailable),
            Some(other) => panic!("{other:?}"),
        }
    }
}
