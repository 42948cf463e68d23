//! nginx as a reverse proxy.

use super::Behind;
use crate::limit::{Limit, Unit};

/// What the state of one account takes in a zone: 128 bytes, and its share of what a page has beside them.
const STATE: u32 = 136;

/// What a zone has beside the states.
const ZONE: u32 = 32 << 10;

/// The configuration; the address to listen on is put in by whoever starts it.
pub(super) fn conf(limit: Option<Limit>, behind: Behind, workers: u32) -> String {
    let (zone, check) = limit.map(limiter).unwrap_or_default();
    let (upstream, content) = match behind {
        Behind::Itself => (String::new(), "empty_gif;".to_owned()),
        Behind::Origin(at) => (
            format!(
                "upstream origin {{ server {at}; keepalive 64; keepalive_requests 1000000000; keepalive_timeout 1h; }}"
            ),
            "proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header connection \"\";"
                .to_owned(),
        ),
    };
    format!(
        "user root;\n\
         worker_processes {workers};\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n\
             {zone}\n\
             keepalive_requests 1000000000;\n\
             keepalive_timeout 1h;\n\
             {upstream}\n\
             server {{\n\
                 listen 127.0.0.1:8081;\n\
                 access_log off;\n\
                 location / {{ {check} {content} }}\n\
             }}\n\
         }}\n"
    )
}

/// The zone, and the check that refers to it.
fn limiter(limit: Limit) -> (String, String) {
    let (count, unit) = limit.rate();
    let unit = match unit {
        Unit::Second => "r/s",
        Unit::Minute => "r/m",
    };
    let size = (limit.accounts * STATE + ZONE) / 1024;
    // A refusal tells the time after which there is one more, since a zone does not say when this account's is.
    let again = limit.interval.as_millis().div_ceil(1_000);
    let zone = format!(
        "limit_req_zone $http_x_account zone=accounts:{size}k rate={count}{unit}; limit_req_status 429; limit_req_log_level info; \
         map $status $again {{ default \"\"; 429 {again}; }} add_header retry-after $again always;"
    );
    // One request is admitted by the rate, and these beside it.
    let beside = limit.burst - 1;
    let check = if beside == 0 {
        "limit_req zone=accounts;".to_owned()
    } else {
        format!("limit_req zone=accounts burst={beside} nodelay;")
    };
    (zone, check)
}
