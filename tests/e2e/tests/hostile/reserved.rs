//! Names that are ours, in whatever spelling.

use tidegate_e2e::Client;

use crate::Bench;

#[tokio::test]
async fn c9_d2_reserved_names_are_refused_in_every_spelling() {
    let bench = Bench::start().await;
    let headers = [
        "x-tidegate-scope",
        "X-Tidegate-Scope",
        "x_tidegate_scope",
        "x-tidegate_scope",
        "x_tidegate-scope",
        "x-tidegate-",
        "x-tidegate-anything",
    ];
    let queries = [
        "__tidegate",
        "__tidegate=",
        "__tidegate=x",
        "a=1&__tidegate=x",
        "a=1;__tidegate=x",
        "__tidegate=x&a=1",
        "%5f%5ftidegate=x",
        "%5F_tidegate=x",
        "__tide%67ate=x",
        "%5f%5f%74%69%64%65%67%61%74%65",
    ];
    for client in [Client::h1(), Client::h2()] {
        let get = |query: &str| client.get(bench.envoy.at(&format!("/own{query}")));
        let named =
            headers.map(|name| (name.to_owned(), get("").header(name.to_lowercase(), "mine")));
        let asked = queries.map(|query| (query.to_owned(), get(&format!("?{query}"))));
        for (name, call) in named.into_iter().chain(asked) {
            let answer = call.header("x-account", "drained").send().await.unwrap();
            assert_eq!(answer.status, 400, "{name}");
            let problem = answer.problem().unwrap();
            assert_eq!(
                problem["type"], "urn:tidegate:problem:reserved-name",
                "{name}"
            );
        }
        // What only looks alike is nobody's.
        for query in [
            "tidegate=x",
            "q=__tidegate",
            "__tidegates",
            "%255f_tidegate",
            "__TIDEGATE",
        ] {
            let call = client.get(bench.envoy.at(&format!("/free?{query}")));
            let answer = call.header("x-tidegates", "x").send().await.unwrap();
            assert_eq!(answer.status, 200, "{query}");
        }
    }
    let expected = 2 * (headers.len() + queries.len()) as u64;
    assert_eq!(
        bench
            .envoy
            .decisions("reserved-name", "refused")
            .await
            .unwrap(),
        expected
    );
    assert_eq!(bench.origin.count("/own"), 4);
    bench.conclude().await;
}
