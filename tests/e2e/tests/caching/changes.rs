//! After a change that succeeded its caller's copies of that path are not served again.

use http::{Method, StatusCode};
use tidegate_e2e::Reply;

use crate::is_clean;
use crate::stand::{Kind, Setup, Stand};

/// More than the workers: a client of its own for each, so that every worker is asked.
const TIMES: usize = 6;

const OTHERS: [&str; 5] = ["bob", "cat", "dan", "eve", "fay"];

impl Stand {
    fn answers(&self, status: StatusCode) {
        let reply = Reply::status(status).header("cache-control", "public, max-age=600");
        self.origin.answer("/mine/x", reply);
    }

    /// How often the origin is asked for what `caller` asks for a few times.
    async fn asked(&self, path: &str, caller: &str) -> u64 {
        let before = self.origin.total();
        for _ in 0..TIMES {
            let answer = self.get(path, caller, &[]).await;
            assert!(answer.text().contains(caller), "{answer:?}");
            is_clean(&answer);
        }
        self.origin.total() - before
    }

    async fn change(&self, method: &Method, path: &str, caller: &str) {
        let call = self.call(method.clone(), path, caller);
        let answer = call.body("{}").send().await.unwrap();
        is_clean(&answer);
    }
}

/// Ends what changed, and nothing else.
pub(crate) async fn ends_what_changed(stand: &Stand, kind: Kind) {
    stand.answers(StatusCode::OK);
    for caller in ["amy"].into_iter().chain(OTHERS) {
        assert_eq!(stand.asked("/mine/x", caller).await, 1, "{kind:?} {caller}");
    }
    assert_eq!(stand.asked("/mine/x?q=1", "amy").await, 1);
    // What failed changed nothing, and neither does what only reads.
    stand.answers(StatusCode::INTERNAL_SERVER_ERROR);
    stand.change(&Method::POST, "/mine/x", "amy").await;
    stand.answers(StatusCode::CONFLICT);
    stand.change(&Method::PUT, "/mine/x", "amy").await;
    stand.answers(StatusCode::OK);
    stand.change(&Method::OPTIONS, "/mine/x", "amy").await;
    assert_eq!(stand.asked("/mine/x", "amy").await, 0, "{kind:?}");

    // The copies of nginx last to their end, as its configuration says.
    let ends = u64::from(kind != Kind::Nginx);
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
        // Whatever the query, the path is what changed.
        stand.change(&method, "/mine/x?by=amy", "amy").await;
        for path in ["/mine/x", "/mine/x?q=1"] {
            assert_eq!(
                stand.asked(path, "amy").await,
                ends,
                "{kind:?} {method} {path}"
            );
        }
    }
    stand.answers(StatusCode::SEE_OTHER);
    stand.change(&Method::POST, "/mine/x", "amy").await;
    stand.answers(StatusCode::OK);
    assert_eq!(stand.asked("/mine/x", "amy").await, ends, "{kind:?} 303");

    let mut ended = 0;
    for caller in OTHERS {
        ended += stand.asked("/mine/x", caller).await;
    }
    // Of the places where Envoy notes changes down two callers may, seldom, share one.
    assert!(ended <= 1, "{kind:?}: {ended} copies of others ended");
    assert_eq!(stand.mismatches().await, 0);
}

#[tokio::test]
async fn c20_a_change_ends_the_copies_of_one_worker_too() {
    for kind in Kind::ENVOYS {
        let stand = Setup::new(kind).start().await;
        ends_what_changed(&stand, kind).await;
    }
}
