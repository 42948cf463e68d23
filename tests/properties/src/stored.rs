//! Values of shared data, which anybody may have written: an older module, another one, a bit that fell over.

use tidegate_core::admin;
use tidegate_core::cases::CaseFacts;
use tidegate_core::denial::Denial;
use tidegate_core::engine;
use tidegate_core::gcra::FullAt;
use tidegate_core::idempotency::Turn;
use tidegate_core::key::Key;
use tidegate_core::ledger::event::Moment;
use tidegate_core::ledger::set as scopes;
use tidegate_core::policy::Policy;
use tidegate_core::records::{Stored, drive, set as records_set};
use tidegate_core::store::Slot;
use tidegate_core::table::{self, MAX_SET_LEN, Place, WAYS};

use crate::asked::{Asked, Line};
use crate::values::Values;

const POLICY: &[u8] = br#"{
  "policy": "stored", "version": "1",
  "identity": {"account": [{"header": "x-account"}]},
  "limits": {"account": {"per": ["account"], "rate": "60/min", "burst": 10, "max_keys": 16}},
  "always": ["account"],
  "capacity": {"records": 64, "bytes": "64KiB"},
  "routes": [
    {"name": "charges", "match": {"methods": ["POST"], "path": "/charges"}, "idempotency": {"key": "required", "fingerprint": "key-only"}},
    {"name": "events", "match": {"methods": ["POST"], "path": "/events"}, "dedupe": {"by": [{"header": "webhook-id"}]}},
    {"name": "reports", "match": {"methods": ["GET"], "path": "/reports"}, "cache": {"scope": ["account"]}}
  ]
}"#;

/// Read as written, or refused; sets in their bounds; a decision over such values is one, and an operator is shown something.
pub fn stored(data: &[u8]) {
    let (now, bytes) = match data.split_first_chunk::<8>() {
        Some((now, bytes)) => (u64::from_le_bytes(*now), bytes),
        None => (1, data),
    };
    buckets(bytes, now);
    if let Ok(read) = records_set::read(bytes) {
        assert!(read.len() <= usize::from(records_set::WAYS));
        let written = records_set::write(&read);
        assert!(written.len() <= records_set::MAX_LEN);
        assert_eq!(records_set::read(&written), Ok(read), "records");
    }
    if let Some(answer) = Stored::read(bytes) {
        assert_eq!(answer.write().as_deref(), Some(bytes), "an answer");
    }
    let read = scopes::read(bytes);
    let written = scopes::write(&read);
    assert!(read.len() <= scopes::WAYS && written.len() <= scopes::MAX_LEN);
    assert_eq!(scopes::read(&written), read, "scopes");
    decides(bytes, now);
}

/// A set of a limit's table.
fn buckets(bytes: &[u8], now: u64) {
    let key = Key::from_bytes([7; Key::LEN]);
    let Ok(found) = table::find(bytes, &key, now) else {
        let mut set = bytes.to_vec();
        table::put(&mut set, &key, Place::New, FullAt(now), now).expect_err("no set is written to");
        assert_eq!(set, bytes, "what is no set is left alone");
        return;
    };
    let busy = table::busy(bytes, now).expect("a set");
    assert!(busy <= WAYS);
    let owed = |set: &[u8]| -> Vec<(Key, FullAt)> {
        let all = table::buckets(set).expect("a set");
        all.filter(|(_, state)| !state.is_idle(now)).collect()
    };
    let mut set = bytes.to_vec();
    let state = FullAt(now.saturating_add(1_000));
    table::put(&mut set, &key, found.place, state, now).expect("a set");
    assert!(set.len() <= MAX_SET_LEN, "{} bytes", set.len());
    let again = table::find(&set, &key, now).expect("still a set");
    if found.place == Place::Overflow {
        assert_eq!(again.state, state);
        assert_eq!(owed(&set), owed(bytes), "another's debt");
        return;
    }
    assert!(state == again.state, "a debt is lost");
    // Nobody else's debt goes, and nobody else gets one.
    let others = |set: &[u8]| -> Vec<(Key, FullAt)> {
        owed(set)
            .into_iter()
            .filter(|(owner, _)| *owner != key)
            .collect()
    };
    assert_eq!(others(&set), others(bytes), "another's debt");
}

/// Decides over a store in which these bytes stand everywhere.
fn decides(bytes: &[u8], now: u64) {
    let policy = Policy::parse(POLICY).expect("a policy");
    let requests = [
        &b"GET /reports api.test\nx-account: amy"[..],
        b"POST /charges api.test\nx-account: amy\nidempotency-key: \"k\"",
        b"POST /events api.test\nx-account: amy\nwebhook-id: e",
    ];
    for text in requests {
        let mut store = Values::of(bytes.to_vec());
        let asked = Asked::read(text);
        let lines = asked.lines();
        let facts = CaseFacts {
            address: "192.0.2.1:4711".to_owned(),
            ..CaseFacts::default()
        };
        let request = asked.request(&lines, &facts);
        let decision = engine::decide(&policy, &request, &mut store, &mut (), now);
        let recorded = decision
            .route
            .is_some_and(|route| route.idempotency.is_some());
        let broken = if recorded {
            records_set::read(bytes).is_err()
        } else {
            table::busy(bytes, now).is_err()
        };
        if broken {
            assert_eq!(
                decision.denial,
                Some(Denial::StoreUnavailable),
                "it went on"
            );
        }
        if let Turn::Run(running) = &decision.turn {
            assert!(recorded && decision.denial.is_none());
            let _ = format!("{running:?}");
        }
        // Either may fail, for the bytes are anything.
        let _ = drive::sweep_some(&mut store, &policy.room, now);
        let _ = drive::used(&mut store);
        bounded(&store);
    }
    // Their pages are long, and cost more than all else: one is looked at, by turns.
    shown(&policy, &mut Values::of(bytes.to_vec()), now, bytes.len());
}

/// Whatever was written is within its bounds.
fn bounded(store: &Values) {
    for (slot, bytes) in store.written() {
        let most = match slot {
            Slot::Buckets(..) => MAX_SET_LEN,
            Slot::Records(_) => records_set::MAX_LEN,
            Slot::Refused(_) => scopes::MAX_LEN,
            _ => 128 << 10,
        };
        assert!(bytes.len() <= most, "{slot:?}: {} bytes", bytes.len());
    }
}

/// Operators are answered, and looking changes nothing.
fn shown(policy: &Policy, store: &mut Values, now: u64, turn: usize) {
    let engine = admin::Engine {
        version: "0.1.0",
        digest: 0,
        running: &Vec::new,
    };
    let headers: [Line<'_>; 1] = [(b"accept", b"application/json")];
    let paths = [
        "/policy",
        "/limits",
        "/limits?limit=account&account=amy",
        "/records",
        "/records?route=charges&account=amy&key=k&host=api.test",
        "/",
    ];
    let path = paths[turn % paths.len()];
    let asked = admin::Asked {
        method: b"GET",
        path: path.as_bytes(),
        authority: b"127.0.0.1:9000",
        headers: &headers,
        body: b"",
        local: b"127.0.0.1:9000",
    };
    let at = Moment { now, of_day: 1 };
    let reply = admin::answer(policy, &engine, store, &asked, at);
    assert!((200..600).contains(&reply.status), "{path}");
    let changed = store.written().count();
    assert_eq!(changed, 0, "looking changed something");
}
