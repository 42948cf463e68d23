//! The page, in a browser.

use tidegate_e2e::Browser;
use tokio::task::spawn_blocking;

use super::{amy, start};

/// Whether there is a browser; in CI there is one.
fn is_there() -> bool {
    let there = Browser::is_there();
    assert!(there || std::env::var_os("CI").is_none(), "no chromium");
    if !there {
        println!("no chromium; the page is not looked at");
    }
    there
}

#[tokio::test(flavor = "multi_thread")]
async fn with_scripts_the_page_shows_what_has_changed_by_itself() {
    if !is_there() {
        return;
    }
    let (envoy, _origin) = start(1).await;
    let url = envoy.live("/");
    let mut browser = spawn_blocking(move || {
        let mut browser = Browser::start(true).unwrap();
        browser.open(&url).unwrap();
        let text = browser.text().unwrap();
        assert!(
            text.contains("policy live version 7.1") && text.contains("nobody"),
            "{text}"
        );
        // Kept as long as nobody loads the page anew.
        browser.value("window.same = true").unwrap();
        browser
    })
    .await
    .unwrap();
    for _ in 0..5 {
        amy(&envoy, "/x").await;
    }
    let scope = super::shown(
        &envoy,
        &format!("/limits?account={}&limit=account", super::SECRET),
    )
    .await;
    let scope = scope["buckets"][0]["scope"].as_str().unwrap().to_owned();
    spawn_blocking(move || {
        browser.until(&format!("document.body.innerText.includes('{scope}')")).unwrap();
        let text = browser.text().unwrap();
        assert!(text.contains("0 of 3") && !text.contains("nobody"), "{text}");
        assert_eq!(browser.value("window.same").unwrap(), true);
        // While somebody is about to reset, nothing is swapped under the hand.
        browser.value("document.querySelector('summary').click(); document.querySelector('#live').dataset.kept = 'yes'").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(4_500));
        assert_eq!(browser.value("document.querySelector('#live').dataset.kept").unwrap(), "yes");
        browser.value("document.querySelector('details[open] button').click()").unwrap();
        browser.until("document.body.innerText.includes('held 0, and holds 3 now')").unwrap();
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_everything_can_be_done() {
    if !is_there() {
        return;
    }
    let (envoy, _origin) = start(1).await;
    for _ in 0..3 {
        assert_eq!(amy(&envoy, "/x").await.status, 200);
    }
    let url = envoy.live("/limits?order=drained");
    spawn_blocking(move || {
        let mut browser = Browser::start(false).unwrap();
        browser.open(&url).unwrap();
        assert!(
            browser.text().unwrap().contains("0 of 3"),
            "{}",
            browser.text().unwrap()
        );
        // One click opens the form, another sends it.
        assert_eq!(
            browser
                .value("document.querySelector('details').open")
                .unwrap(),
            false
        );
        browser
            .value("document.querySelector('summary').click()")
            .unwrap();
        browser
            .value("document.querySelector('details[open] button').click()")
            .unwrap();
        browser
            .until("document.body.innerText.includes('held 0, and holds 3 now')")
            .unwrap();
        // The forms of a caller.
        browser.open(&url.replace("?order=drained", "")).unwrap();
        browser
            .value("document.querySelector('input[name=account]').value = 'amy'")
            .unwrap();
        browser
            .value("document.querySelector('form.ask button').click()")
            .unwrap();
        browser
            .until("document.body.innerText.includes('are the same')")
            .unwrap();
    })
    .await
    .unwrap();
    assert_eq!(amy(&envoy, "/x").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_origin_cannot_reset() {
    if !is_there() {
        return;
    }
    let (envoy, origin) = start(1).await;
    for _ in 0..3 {
        assert_eq!(amy(&envoy, "/x").await.status, 200);
    }
    // Another port is another origin.
    let page = format!(
        "<form method=post action='{}'><input name=limit value=account><input name=account value={}><button>x</button></form>",
        envoy.live("/limits/reset"),
        super::SECRET
    );
    let page = tidegate_e2e::Reply::status(http::StatusCode::OK)
        .header("content-type", "text/html")
        .body(page);
    origin.answer("/evil", page);
    let url = format!("http://{}/evil", origin.address());
    spawn_blocking(move || {
        let mut browser = Browser::start(true).unwrap();
        browser.open(&url).unwrap();
        browser
            .value("document.querySelector('button').click()")
            .unwrap();
        browser
            .until("document.body.innerText.includes('a page of another site')")
            .unwrap();
    })
    .await
    .unwrap();
    assert_eq!(amy(&envoy, "/x").await.status, 429);
}
