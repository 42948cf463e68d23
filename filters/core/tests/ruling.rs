//! What a gate did, in words; and where a policy in shadow would have done otherwise.
#![cfg(not(target_family = "wasm"))]

use tidegate_core::policy::Mode;
use tidegate_core::ruling::{Direction, REPLAY, Ruling};

const RULINGS: [Ruling<'static>; 4] = [
    Ruling::Allowed,
    Ruling::Replayed,
    Ruling::Refused("account"),
    Ruling::Refused("tenant-ceiling"),
];

#[test]
fn what_is_shown_can_be_read_again() {
    for ruling in RULINGS {
        let shown = ruling.shown(Mode::Enforce);
        assert_eq!(Ruling::read(&shown), Some(ruling), "{shown}");
        assert_eq!(Ruling::meant(&shown), Some(ruling), "{shown}");
        // In shadow nothing was done of it.
        let shown = ruling.shown(Mode::Shadow);
        assert_eq!(Ruling::read(&shown), Some(Ruling::Allowed), "{shown}");
        assert_eq!(Ruling::meant(&shown), Some(ruling), "{shown}");
    }
    // A response that was withheld says nothing of the request.
    let withheld = "refused:response-owner-mismatch";
    assert_eq!(Ruling::read(withheld), Some(Ruling::Allowed));
    for text in ["", "-", "refused", "allowed:x", "denied:account"] {
        assert_eq!(Ruling::read(text), None, "{text}");
    }
}

#[test]
fn each_pair_has_its_direction() {
    use Direction::{Looser, Other, Stricter};
    let [allowed, replayed, account, ceiling] = RULINGS;
    let table = [
        (allowed, replayed, Some((REPLAY, Other))),
        (allowed, account, Some(("account", Looser))),
        (replayed, allowed, Some((REPLAY, Other))),
        (replayed, account, Some(("account", Other))),
        (account, allowed, Some(("account", Stricter))),
        (account, replayed, Some(("account", Other))),
        (account, ceiling, Some(("account", Other))),
        (ceiling, account, Some(("tenant-ceiling", Other))),
    ];
    for (would, did, expected) in table {
        assert_eq!(would.against(did), expected, "{would:?} {did:?}");
    }
    for ruling in RULINGS {
        assert_eq!(ruling.against(ruling), None, "{ruling:?}");
    }
}
