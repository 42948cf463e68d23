//! The page for people: one document without anything around it, readable and usable without its script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::view::{About, Bucket, Limits, Record, Scope, View};
use crate::policy::Policy;

/// Puts the live part of the page as it is now in place of what is shown, every two seconds: not while a form in it is open.
pub(super) const SCRIPT: &str = "\
setInterval(async()=>{\
const old=document.getElementById('live');\
if(!old||document.hidden||old.querySelector('details[open]'))return;\
try{\
const answer=await fetch(location.href,{headers:{accept:'text/html'},cache:'no-store'});\
const page=new DOMParser().parseFromString(await answer.text(),'text/html');\
const live=page.getElementById('live');\
if(answer.ok&&live&&!old.querySelector('details[open]'))old.replaceWith(document.adoptNode(live));\
}catch{}\
},2000)";

const STYLE: &str = "\
:root{color-scheme:light dark;font:15px/1.45 system-ui,sans-serif}\
body{margin:1.5rem auto;max-width:78rem;padding:0 1rem}\
table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}\
th,td{text-align:left;padding:.25rem .7rem .25rem 0;border-bottom:1px solid #8884;vertical-align:top}\
th{font-weight:600}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
code{font-size:.85em}\
form.ask{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end;margin:.5rem 0 1.5rem}\
form.ask label{display:flex;flex-direction:column;font-size:.85em}\
input,button{font:inherit}\
summary{cursor:pointer}\
.quiet{opacity:.7}\
nav a{margin-right:1rem}";

/// The page that shows a view.
pub(super) fn page(policy: &Policy, view: &View) -> String {
    let live = !matches!(view, View::Reset(_) | View::Released(_));
    let shown = match view {
        View::Home(home) => html! { (about(&home.policy)) (limits(&home.limits)) },
        View::Policy(policy) => about(policy),
        View::Limits(view) => limits(view),
        View::Records(view) => html! {
            p.quiet { "at " (view.now) }
            @if let Some(note) = view.note { p { (note) } }
            @for record in &view.records { (self::record(record)) }
        },
        View::Reset(view) => html! {
            @for filled in &view.reset {
                p { "The bucket of " code { (filled.scope) } " in " b { (filled.limit) } " held " (filled.before) ", and holds " (filled.after) " now." }
            }
            p.quiet { (view.note) }
        },
        View::Released(view) => html! {
            p { "The record " code { (view.id) } " was " b { (view.before) } ", and has ended: the next request with its key runs." }
        },
    };
    let title = format!("{} · tidegate", policy.name);
    let body = html! {
        @if live { section #live { (shown) } } @else { section { (shown) } }
        @if matches!(view, View::Home(_) | View::Limits(_)) { (ask_caller()) }
        @if matches!(view, View::Home(_) | View::Records(_)) && policy.records() { (ask_record()) }
    };
    document(&title, &body, live)
}

/// The page that says why there is none.
pub(super) fn refusal(title: &str, detail: &str) -> String {
    document(title, &html! { p { (detail) } }, false)
}

fn document(title: &str, body: &Markup, live: bool) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                // Under the header's `no-referrer` a browser would not say that a form is our own.
                meta name="referrer" content="same-origin";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                nav {
                    a href="/" { "overview" }
                    a href="/limits" { "most refused" }
                    a href="/limits?order=recent" { "refused last" }
                    a href="/limits?order=drained" { "most drained" }
                    a href="/policy" { "policy" }
                }
                (body)
                @if live { script { (PreEscaped(SCRIPT)) } }
            }
        }
    };
    page.into_string()
}

fn about(view: &About) -> Markup {
    html! {
        p {
            "policy " b { (view.policy) } " version " b { (view.version) } ", " (view.mode)
            @if let Some(percent) = view.canary_percent { " at " (percent) " %" }
            @if let Some(digest) = &view.digest { ", module " code { (digest) } }
            ", engine " (view.engine) ", at " (view.now)
        }
        @if !view.running.is_empty() {
            ul { @for one in &view.running {
                li {
                    "version " (one.version) " on " (one.vms) " VMs, enforced for " (one.enforced_percent) " %"
                    @if let Some(digest) = &one.digest { ", module " code { (digest) } }
                }
            } }
        }
        table {
            tr { th { "limit" } th { "per" } th { "rate" } th.n { "burst" } th.n { "most keys" } th {} }
            @for limit in &view.limits {
                tr {
                    td { (limit.name) } td { (limit.per.join(", ")) } td { (limit.rate) }
                    td.n { (limit.burst) } td.n { (limit.max_keys) }
                    td { @if limit.shadow { "in shadow" } }
                }
            }
        }
    }
}

fn limits(view: &Limits) -> Markup {
    html! {
        p.quiet { "at " (view.now) }
        @if let Some(note) = view.note { p { (note) } }
        @if let Some(scopes) = &view.scopes {
            h2 { "Refused" }
            @if scopes.is_empty() { p { "nobody" } } @else { (self::scopes(scopes)) }
            @if let Some(more @ 1..) = view.more { p.quiet { "and " (more) " more" } }
        }
        @if let Some(buckets) = &view.buckets {
            h2 { "Buckets" }
            @if buckets.is_empty() { p { "none" } } @else { (self::buckets(buckets)) }
        }
        @for one in &view.not_told {
            p.quiet { "the bucket in " b { (one.limit) } " is not told by this: it is per " (one.per.join(", ")) }
        }
        @if let Some(next) = &view.next {
            p { a href={ "/limits?order=drained&next=" (next) } { "go on looking" } }
        }
    }
}

fn scopes(scopes: &[Scope]) -> Markup {
    html! { table {
        tr {
            th { "rule" } th { "caller" } th.n { "refused" } th { "since" } th { "last" }
            th.n { "level" } th.n { "next" } th { "rate" } th {}
        }
        @for scope in scopes {
            tr {
                td { (scope.rule) @if !scope.enforced { " (shadow)" } }
                td {
                    @if let Some(label) = &scope.label { b { (label) } " " }
                    a href={ "/limits?scope=" (scope.scope) } { code { (scope.scope) } }
                }
                td.n { (scope.refused) } td { (scope.since) } td { (scope.last) }
                @if let Some(bucket) = &scope.bucket {
                    td.n { (bucket.level) " of " (bucket.burst) } td.n { (bucket.wait_ms) " ms" } td { (bucket.rate) }
                    td { (reset(bucket)) }
                } @else { td {} td {} td {} td {} }
            }
        }
    } }
}

fn buckets(buckets: &[Bucket]) -> Markup {
    html! { table {
        tr {
            th { "limit" } th { "scope" } th.n { "level" } th.n { "next" } th { "full at" } th { "rate" } th.n { "refused" } th {}
        }
        @for bucket in buckets {
            tr {
                td { (bucket.limit) @if let Some(route) = &bucket.route { " on " (route) } }
                td {
                    code { (bucket.scope) }
                    @if let Some(identity) = &bucket.identity { br; span.quiet { (identity) } }
                    @if bucket.shared { br; "shares the bucket of a full set" }
                }
                td.n { (bucket.level) " of " (bucket.burst) @if bucket.assumed { "?" } }
                td.n { (bucket.wait_ms) " ms" } td { (bucket.full_at) } td { (bucket.rate) } td.n { (bucket.refused) }
                td { @if bucket.full_in_ms > 0 { (reset(bucket)) } }
            }
        }
    } }
}

/// The form that fills a bucket, behind one more click.
fn reset(bucket: &Bucket) -> Markup {
    html! { details {
        summary { "reset" }
        form method="post" action="/limits/reset" {
            input type="hidden" name="limit" value=(bucket.limit);
            input type="hidden" name="scope" value=(bucket.scope);
            button { "fill this bucket" }
        }
    } }
}

fn record(record: &Record) -> Markup {
    html! {
        h2 { (record.state) }
        table {
            tr { th { "record" } td { code { (record.id) } } }
            tr { th { "lease ends" } td { (record.lease_ends) } }
            tr { th { "ends" } td { (record.ends) } }
            tr { th { "fingerprint" } td { (if record.fingerprint { "known" } else { "none" }) } }
            @if let Some(answer) = &record.answer {
                tr { th { "answer" } td { (answer.status) ", " (answer.length) " bytes" } }
            }
        }
        details {
            summary { "release" }
            form method="post" action="/records/release" {
                input type="hidden" name="id" value=(record.id);
                @if record.state == "running" {
                    label { input type="checkbox" name="force" value="true"; " although it runs: the next request may be a second execution" }
                }
                button { "end this record" }
            }
        }
    }
}

fn input(name: &str) -> Markup {
    html! { label { (name) input name=(name) autocomplete="off"; } }
}

fn ask_caller() -> Markup {
    html! {
        h2 { "One caller" }
        form.ask action="/limits" {
            @for name in ["tenant", "account", "plan", "address", "issuer", "route", "method", "host"] { (input(name)) }
            button { "show" }
        }
        form.ask action="/limits" { (input("scope")) button { "show" } }
    }
}

fn ask_record() -> Markup {
    html! {
        h2 { "One record" }
        form.ask action="/records" {
            @for name in ["method", "host", "path", "key", "tenant", "account", "issuer"] { (input(name)) }
            button { "show" }
        }
        form.ask action="/records" { (input("id")) button { "show" } }
    }
}
