//! How requests, answers and waits look on paper and on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tidegate_e2e::{Answer, Envoy, Origin};

/// A heading.
pub(crate) fn chapter(text: &str) {
    println!("\n== {text}\n");
}

/// A request and its answer in one line.
pub(crate) fn line(who: &str, path: &str, answer: &Answer) {
    let left = answer.header("ratelimit").unwrap_or("absent");
    println!(
        "  {who:<6} GET {path:<8} {}   RateLimit: {left}",
        answer.status
    );
}

/// A request, who its answer was made for, and where that came from.
pub(crate) fn copy(who: &str, path: &str, answer: &Answer, copy: bool) {
    let from = if copy { "a copy" } else { "the origin" };
    let status = answer.header("cache-status").unwrap_or("absent");
    println!(
        "  {who:<6} GET {path:<8} {}   {:<18}   from {from:<10}   Cache-Status: {status}",
        answer.status,
        answer.text()
    );
}

/// A charge, its answer, and how often the origin charged so far.
pub(crate) fn charge(who: &str, path: &str, dollars: u32, answer: &Answer, charges: u64) {
    let header = |name| answer.header(name).unwrap_or("absent");
    println!(
        "  {who:<6} POST {path} ${dollars}   {:<24}   Retry-After: {:<6}   Idempotent-Replayed: {:<6}   charges: {charges}",
        answer.status.to_string(),
        header("retry-after"),
        header("idempotent-replayed"),
    );
}

/// A charge whose answer the client did not wait for.
pub(crate) fn gave_up(who: &str, path: &str, dollars: u32, after: Duration, charges: u64) {
    let after = format!("gives up after {} ms", after.as_millis());
    println!("  {who:<6} POST {path} ${dollars}   {after:<76}   charges: {charges}");
}

/// An answer from the status line to the end of its body.
pub(crate) fn whole(answer: &Answer) {
    println!("\n  {:?} {}", answer.version, answer.status);
    for (name, value) in &answer.headers {
        println!("  {name}: {}", String::from_utf8_lossy(value.as_bytes()));
    }
    println!();
    let body = answer
        .json()
        .map_or_else(|_| answer.text(), |json| format!("{json:#}"));
    for line in body.lines() {
        println!("  {line}");
    }
    println!();
}

/// Waits so many seconds, counting them down if there is a terminal to do it on.
pub(crate) async fn wait(seconds: u64) {
    println!("  waiting {seconds} s, as Retry-After says");
    // It draws on standard error, and not at all unless that is a terminal.
    let bar = ProgressBar::new(seconds);
    if let Ok(style) = ProgressStyle::with_template("  {bar:30} {msg}") {
        bar.set_style(style);
    }
    for left in (1..=seconds).rev() {
        bar.set_message(format!("{left} s"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        bar.inc(1);
    }
    bar.finish_and_clear();
}

/// Where to go on by hand.
pub(crate) fn addresses(envoy: &Envoy, origin: &Origin) {
    println!("\nEverything stays up until ctrl-c.\n");
    println!("  the gate     {}", envoy.url());
    println!("  Envoy admin  {}", envoy.admin());
    println!("  the origin   http://{}", origin.address());
    println!("\n  curl -i -H 'x-api-key: amy' {}", envoy.at("/hello"));
}
