//! What a shared cache may keep.

use tidegate_core::cache::{Instruction, Use, Verdict, Veto, judge};

use crate::lines;

const SCOPED: Instruction = Instruction::new(Use::Scoped);

fn verdict(told: Instruction, headers: &[(&str, &str)]) -> Verdict {
    judge(Some(&told), &lines(headers))
}

fn kept(told: Instruction, headers: &[(&str, &str)]) -> bool {
    matches!(verdict(told, headers), Verdict::Keep { .. })
}

#[test]
fn c4_private_and_no_store_in_any_letter_case() {
    for directive in [
        "private",
        "Private",
        "PRIVATE",
        "no-store",
        "No-Store",
        "NO-STORE",
        "private=\"x\"",
        "max-age=60, NO-store",
        " , private",
        "private; max-age=60",
        "max-age=60, x=\"oops, private",
        "max-age=60, x=\"a\\\"b\", private",
    ] {
        for told in [SCOPED, Instruction::new(Use::Public)] {
            assert_eq!(
                verdict(told, &[("cache-control", directive)]),
                Verdict::Veto(Veto::Directive),
                "{directive}"
            );
        }
    }
    let two = [
        ("cache-control", "max-age=60"),
        ("cache-control", "No-Store"),
    ];
    assert_eq!(verdict(SCOPED, &two), Verdict::Veto(Veto::Directive));
    for directive in [
        "public",
        "max-age=60",
        "no-cache",
        "x-private=1",
        "a=\"private, no-store\"",
        "",
    ] {
        assert!(kept(SCOPED, &[("cache-control", directive)]), "{directive}");
    }
}

#[test]
fn a_cache_that_reads_lower_case_alone_gets_lower_case() {
    let keep = |control: Option<&str>| Verdict::Keep {
        control: control.map(|text| text.as_bytes().to_vec()),
    };
    let of = |headers: &[(&str, &str)]| verdict(SCOPED, headers);
    assert_eq!(of(&[]), keep(None));
    assert_eq!(of(&[("cache-control", "max-age=60, no-cache")]), keep(None));
    assert_eq!(
        of(&[("cache-control", "Max-Age=60,NO-CACHE")]),
        keep(Some("max-age=60, no-cache"))
    );
    assert_eq!(
        of(&[("cache-control", "max-age=60"), ("cache-control", "public")]),
        keep(Some("max-age=60, public"))
    );
}

#[test]
fn c5_c6_vary() {
    let own = Instruction {
        own: true,
        ..SCOPED
    };
    for vary in ["*", "accept, *", " * "] {
        assert_eq!(
            verdict(own, &[("vary", vary)]),
            Verdict::Veto(Veto::Vary),
            "{vary}"
        );
    }
    for vary in ["Authorization", "accept, COOKIE"] {
        assert_eq!(
            verdict(SCOPED, &[("vary", vary)]),
            Verdict::Veto(Veto::Vary),
            "{vary}"
        );
        assert!(kept(own, &[("vary", vary)]), "{vary}");
    }
    assert!(kept(SCOPED, &[("vary", "accept-encoding")]));
}

#[test]
fn c7_c23_cookies_and_fields_between_proxies() {
    assert_eq!(
        verdict(SCOPED, &[("set-cookie", "a=b")]),
        Verdict::Veto(Veto::SetCookie)
    );
    for name in [
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
    ] {
        assert_eq!(
            verdict(SCOPED, &[(name, "x")]),
            Verdict::Veto(Veto::Proxy),
            "{name}"
        );
    }
}

#[test]
fn c3_a_response_to_an_authorized_request_must_say_that_it_may_be_shared() {
    let told = Instruction {
        authorized: true,
        ..SCOPED
    };
    for directive in ["max-age=60", "", "no-cache"] {
        assert_eq!(
            verdict(told, &[("cache-control", directive)]),
            Verdict::Veto(Veto::Authorization),
            "{directive}"
        );
    }
    for directive in [
        "public",
        "PUBLIC, max-age=60",
        "s-maxage=1",
        "max-age=60, must-revalidate",
    ] {
        assert!(kept(told, &[("cache-control", directive)]), "{directive}");
    }
}

#[test]
fn c19_a_targeted_field_counts_in_place_of_cache_control() {
    let told = Instruction {
        authorized: true,
        ..SCOPED
    };
    let of = |targeted: &str, own: &str| {
        verdict(
            told,
            &[
                ("cdn-cache-control", targeted),
                ("cache-control", own),
                ("expires", "0"),
            ],
        )
    };
    assert_eq!(
        of("public, max-age=60", "no-store"),
        Verdict::Keep {
            control: Some(b"public, max-age=60".to_vec())
        }
    );
    assert_eq!(
        of("private", "public, max-age=60"),
        Verdict::Veto(Veto::Directive)
    );
    assert_eq!(
        of("max-age=60", "public"),
        Verdict::Veto(Veto::Authorization)
    );
    // Of a wrong type, what would let a cache keep more counts for nothing, and what would let it keep less counts.
    for wrong in [
        "public=0, x",
        "s-maxage=\"x\", x",
        "must-revalidate=(a), x",
        "max-age=1.5, public=?0, x",
    ] {
        assert_eq!(
            of(wrong, "public"),
            Verdict::Veto(Veto::Authorization),
            "{wrong}"
        );
    }
    for strict in [
        "private=0, public",
        "no-store=\"x\", public",
        "public, private=(a b)",
    ] {
        assert_eq!(
            of(strict, "public"),
            Verdict::Veto(Veto::Directive),
            "{strict}"
        );
    }
    // Empty or malformed, it counts for nothing.
    for ignored in ["", "max-age=60,", "max age", "No-Store"] {
        assert_eq!(
            of(ignored, "public"),
            Verdict::Keep { control: None },
            "{ignored}"
        );
        assert_eq!(
            of(ignored, "no-store"),
            Verdict::Veto(Veto::Directive),
            "{ignored}"
        );
    }
}

#[test]
fn c8_what_is_for_no_copy_and_what_did_not_come_through_the_gate_is_not_kept() {
    let public = [("cache-control", "public, max-age=60")];
    assert_eq!(
        verdict(Instruction::new(Use::Bypass), &public),
        Verdict::Veto(Veto::Bypass)
    );
    assert_eq!(judge(None, &lines(&public)), Verdict::Veto(Veto::Bypass));
    assert_eq!(
        verdict(Instruction::new(Use::Off), &public),
        Verdict::Untouched
    );
}
