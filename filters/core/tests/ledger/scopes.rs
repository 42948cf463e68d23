//! What is known of scopes.

use serde_json::{Value, json};
use tidegate_core::key::{Key, Secret};
use tidegate_core::ledger::{Example, Recent, SETS, drive, recent, set};
use tidegate_core::store::{MemoryStore, Slot, Store, StoreError, Swap, Version};
use tidegate_core::table;

use crate::{NOW, S, Worker, known};

fn plain(_: &mut Value) {}

#[test]
fn workers_add_up_and_the_bucket_s_key_is_the_scope() {
    let store = &mut MemoryStore::new();
    let (mut one, mut other) = (Worker::new(plain), Worker::new(plain));
    one.get(store, "amy", NOW);
    for second in 1..=5 {
        one.get(store, "amy", NOW + second * S);
        other.get(store, "amy", NOW + second * S + 1);
    }
    one.tell(store, NOW + 6 * S);
    other.tell(store, NOW + 6 * S);
    let [entry] = known(store).try_into().unwrap();
    assert_eq!(entry.id.rule, "daily");
    assert!(!entry.id.shadow);
    assert_eq!(entry.count, 10);
    assert_eq!((entry.first, entry.last), (NOW + S, NOW + 5 * S + 1));
    assert_eq!(entry.since, entry.first);
    assert_eq!(entry.quota.unwrap().rate().to_string(), "1/day");
    // The caller is the account, and so is the bucket's.
    assert_eq!(entry.caller, entry.id.key);
    let limit = one.policy.limit_named("daily").unwrap();
    let bucket = table::peek(store, limit, &entry.id.key, NOW).unwrap();
    assert_eq!(bucket.state.0, NOW + 86_400 * S);
}

#[test]
fn a_rule_that_is_no_limit_refuses_the_caller_and_shadow_stands_apart() {
    let store = &mut MemoryStore::new();
    let mut worker = Worker::new(plain);
    worker.request(store, "POST", "/charges", "amy", NOW);
    worker.get(store, "amy", NOW);
    worker.get(store, "amy", NOW);
    worker.request(store, "GET", "/tried", "amy", NOW);
    worker.request(store, "GET", "/tried", "amy", NOW);
    worker.request(store, "GET", "/tried", "amy", NOW);
    worker.tell(store, NOW);
    let found: Vec<_> = known(store)
        .into_iter()
        .map(|entry| (entry.id.rule, entry.id.shadow, entry.count, entry.caller))
        .collect();
    let amy = found[0].3;
    assert_ne!(amy, Key::ZERO);
    let mut wanted = vec![
        ("daily".to_owned(), true, 3, amy),
        ("daily".to_owned(), false, 1, amy),
        ("idempotency-key-missing".to_owned(), false, 1, amy),
    ];
    wanted.sort_by(|one, other| one.0.cmp(&other.0).then(other.2.cmp(&one.2)));
    let mut found = found;
    found.sort_by(|one, other| one.0.cmp(&other.0).then(other.2.cmp(&one.2)));
    assert_eq!(found, wanted);
}

#[test]
fn a_body_that_is_refused_late_is_its_callers() {
    let store = &mut MemoryStore::new();
    let mut worker = Worker::new(|document| {
        document["routes"][0]["idempotency"]["max_body"] = json!("1KiB");
    });
    let headers = [(&b"x-key"[..], &b"amy"[..]), (b"idempotency-key", b"\"k\"")];
    let facts = tidegate_core::cases::CaseFacts {
        address: "192.0.2.1:4711".to_owned(),
        has_body: true,
        ..Default::default()
    };
    let request = tidegate_core::request::Request {
        method: b"POST",
        path: b"/charges",
        authority: b"api.test",
        headers: &headers,
        facts: &facts,
    };
    let policy = worker.policy.clone();
    let decision = tidegate_core::engine::decide(&policy, &request, store, &mut (), NOW);
    let tidegate_core::idempotency::Turn::Read(pending) = decision.turn else {
        panic!("{decision:?}");
    };
    let denial = tidegate_core::denial::Denial::BodyTooLarge;
    let decision = tidegate_core::engine::give_up(&policy, &pending, denial);
    let ruling = tidegate_core::ruling::Ruling::of(&policy, &decision, &decision.turn);
    worker.recent.note(&decision, ruling, NOW, Example::default);
    worker.tell(store, NOW);
    let [entry] = known(store).try_into().unwrap();
    assert_eq!(entry.id.rule, "body-too-large");
    assert_ne!(entry.caller, Key::ZERO);
}

#[test]
fn one_line_a_minute_by_all_workers_with_what_came_since() {
    let store = &mut MemoryStore::new();
    let mut workers = [Worker::new(plain), Worker::new(plain)];
    workers[0].get(store, "amy", NOW);
    let mut lines = Vec::new();
    for second in 1..=150 {
        let now = NOW + second * S;
        for worker in &mut workers {
            worker.get(store, "amy", now);
            lines.extend(worker.tell(store, now));
        }
    }
    let counts: Vec<_> = lines.iter().map(|line| line.count).collect();
    // At 1, 61 and 121 s.
    assert_eq!(counts, [1, 120, 120]);
    let line: Value = serde_json::from_str(&lines[1].json(&workers[0].policy)).unwrap();
    assert_eq!(line["log"], "tidegate.refused");
    assert_eq!(line["policy"], "strict");
    assert_eq!(line["rule"], "daily");
    assert_eq!(line["count"], 120);
    assert_eq!(line["total"], 121);
    assert_eq!(line["enforced"], true);
    assert_eq!(line["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(line["request_id"], "id-1");
    assert_eq!(line["scope"].as_str().unwrap().len(), 32);
    assert!(!line.to_string().contains("amy"));
    // What came since is logged when its minute is over, though nobody is refused any more.
    let looked = |store: &mut MemoryStore, now| {
        drive::look(store, &workers[0].policy, now)
            .unwrap()
            .unwrap()
    };
    assert!(looked(store, NOW + 180 * S).lines.is_empty());
    let [line] = looked(store, NOW + 181 * S).lines.try_into().unwrap();
    assert_eq!(line.count, 59);
    assert!(looked(store, NOW + 300 * S).lines.is_empty());
}

#[test]
fn a_flood_of_strangers_leaves_the_ones_who_come_again() {
    let store = &mut MemoryStore::new();
    let mut worker = Worker::new(plain);
    worker.get(store, "loud", NOW);
    for round in 1..=40 {
        let now = NOW + round * S;
        for stranger in 0..200 {
            let key = format!("{round}-{stranger}");
            worker.get(store, &key, now);
            worker.get(store, &key, now);
        }
        worker.get(store, "loud", now);
        let lines = worker.tell(store, now);
        assert!(lines.len() <= drive::MOST_LINES);
    }
    let entries = known(store);
    assert!(entries.len() <= SETS as usize * set::WAYS);
    assert_eq!(entries[0].count, 40);
    for number in 0..SETS {
        let (bytes, _) = store.read(Slot::Refused(number)).unwrap();
        assert!(bytes.len() <= set::MAX_LEN);
    }
}

#[test]
fn a_worker_holds_a_bounded_number_and_counts_the_rest() {
    let store = &mut MemoryStore::new();
    let mut worker = Worker::new(plain);
    for stranger in 0..recent::MOST_SCOPES + 10 {
        let key = stranger.to_string();
        worker.get(store, &key, NOW);
        worker.get(store, &key, NOW);
    }
    let told = drive::tell(store, &worker.policy, &mut worker.recent, NOW);
    assert_eq!(told.lost, 10);
}

/// A store in which others write one set of scopes all the time: the second that is written, while `busy`.
struct Busy {
    store: MemoryStore,
    written: Vec<u32>,
    busy: bool,
}

impl Store for Busy {
    fn secret(&self) -> Secret {
        self.store.secret()
    }

    fn read(&mut self, slot: Slot) -> Result<(Vec<u8>, Version), StoreError> {
        self.store.read(slot)
    }

    fn swap(&mut self, slot: Slot, version: Version, bytes: &[u8]) -> Result<Swap, StoreError> {
        if let Slot::Refused(set) = slot {
            if !self.written.contains(&set) {
                self.written.push(set);
            }
            if self.busy && self.written.get(1) == Some(&set) {
                return Ok(Swap::Lost);
            }
        }
        self.store.swap(slot, version, bytes)
    }
}

#[test]
fn a_set_that_others_write_all_the_time_costs_no_line_of_another() {
    const SCOPES: usize = 12;
    let store = &mut MemoryStore::new();
    let mut worker = Worker::new(plain);
    for account in 0..SCOPES {
        let key = account.to_string();
        worker.get(store, &key, NOW);
        worker.get(store, &key, NOW);
    }
    let mut store = Busy {
        store: core::mem::take(store),
        written: Vec::new(),
        busy: true,
    };
    let first = drive::tell(&mut store, &worker.policy, &mut worker.recent, NOW + S);
    assert_eq!(first.failed, 1);
    store.busy = false;
    let then = drive::tell(&mut store, &worker.policy, &mut worker.recent, NOW + 2 * S);
    assert_eq!(then.failed, 0);
    let logged = [first.lines, then.lines].concat();
    let mut keys: Vec<_> = logged.iter().map(|line| line.entry.id.key).collect();
    keys.sort_unstable_by_key(|key| key.to_bytes());
    keys.dedup();
    assert_eq!((logged.len(), keys.len()), (SCOPES, SCOPES));
}

#[test]
fn a_pause_begins_anew_and_bytes_of_others_are_nothing() {
    let store = &mut MemoryStore::new();
    let mut worker = Worker::new(plain);
    for second in [0, 1, 2, 100, 101] {
        worker.get(store, "amy", NOW + second * S);
        worker.tell(store, NOW + second * S);
    }
    let [entry] = known(store).try_into().unwrap();
    assert_eq!((entry.count, entry.count_since()), (4, 2));
    assert_eq!(entry.since, NOW + 100 * S);
    let bytes = set::write(core::slice::from_ref(&entry));
    assert_eq!(set::read(&bytes), [entry]);
    for end in 0..bytes.len() {
        assert!(set::read(&bytes[..end]).is_empty());
    }
    assert!(set::read(&[9; 200]).is_empty());
    assert!(Recent::default().is_empty());
}

#[test]
fn only_a_trace_parent_is_one() {
    let trace = |text: &str| Example::of(Some(text.as_bytes()), None).trace;
    let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    assert!(trace(good).is_some());
    for wrong in [
        "",
        "00",
        "00-4bf92f3577b34da6a3ce929d0e0e4736",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473\"-00f067aa0ba902b7-01",
        "zz-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ] {
        assert_eq!(trace(wrong), None, "{wrong}");
    }
    let id = |id: &[u8]| Example::of(None, Some(id)).id;
    assert_eq!(id(b"0b1c").as_deref(), Some("0b1c"));
    assert_eq!(id(b"a b"), None);
    assert_eq!(id(&[b'a'; 129]), None);
}

/// 64 bytes are the most that is written.
#[test]
fn a_text_that_is_longer_than_any_that_is_written_is_none_of_ours() {
    let entry = |length: u8| {
        let mut bytes = vec![set::FORMAT, length];
        bytes.extend(vec![b'r'; length.into()]);
        // Flags, keys, an empty label, numbers, phase and attempts, and two times.
        bytes.extend([0; 1 + 2 * Key::LEN + 1 + 10 * 8 + 2 + 2 * 8]);
        bytes
    };
    assert_eq!(set::read(&entry(64)).len(), 1);
    assert_eq!(set::read(&entry(65)).len(), 0);
}
