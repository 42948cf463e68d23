use serde_json::json;
use tidegate_e2e::{Client, Envoy, RawOrigin};
#[tokio::main]
async fn main() {
    let origin = RawOrigin::start().await.unwrap();
    origin.answer(
        200,
        &[
            ("x-tidegate-seal", b"1"),
            ("x-tidegate-kept-cache-control", b"public"),
            ("content-type", b"text/plain"),
        ],
        "hi",
    );
    for role in [true, false] {
        let b = Envoy::builder().policy(&json!({"policy":"p","version":"1","identity":{"account":[{"header":"x-account"}]},
      "routes":[{"name":"mine","match":{"path":"/mine/*"},"cache":{"scope":["account"]}},{"name":"any"}]})).origin_at(origin.address()).h1_to_origin();
        let b = if role { b.origin_role() } else { b };
        let envoy = b.start().await.unwrap();
        for path in ["/bulk", "/mine/a"] {
            let a = Client::h1()
                .get(envoy.at(path))
                .header("x-account", "amy")
                .send()
                .await
                .unwrap();
            println!("{role} {path} {} {:?}", a.status, a.headers);
            let a = Client::h1()
                .post(envoy.at(path))
                .header("x-account", "amy")
                .body("x")
                .send()
                .await
                .unwrap();
            println!("{role} POST {path} {} {:?}", a.status, a.headers);
        }
    }
}
