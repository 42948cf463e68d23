# Varnish between the gate (gate.yaml) and the sidecar with the role `origin` (origin.yaml). Checked with Varnish 7.1.
#
# The gate says with each request whether Varnish may keep a copy (x-tidegate-cache) and who may share it (x-tidegate-scope).
# The sidecar judges each answer: what must not be stored arrives as no-store. So neither a cookie nor an Authorization
# header keeps Varnish from storing here; without the two Envoys around it this file would mix callers up.

vcl 4.1;

import std;

backend origin {
    .host = "127.0.0.1"; .port = "10001";  # HERE: the sidecar
}

sub vcl_recv {
    # Names that this file uses for itself; nobody else may set them.
    unset req.http.x-copy-host;
    unset req.http.x-copy-path;
    unset req.http.x-copy-scope;

    if (req.method == "GET" || req.method == "HEAD") {
        if (req.http.x-tidegate-cache ~ "^scoped(;|$)" && req.http.x-tidegate-scope ~ "^[0-9a-f]{64}$") {
            return (hash);
        }
        if (req.http.x-tidegate-cache ~ "^public(;|$)") {
            return (hash);
        }
    }
    # Changes, routes without a cache, callers who must not share, and whatever did not come through a gate.
    return (pass);
}

sub vcl_hash {
    # Besides host and path, which Varnish adds by itself after this.
    hash_data("scope:" + req.http.x-tidegate-scope);
}

sub vcl_backend_response {
    if (!bereq.uncacheable) {
        # Two minutes would be given to what says nothing of a lifetime.
        std.collect(beresp.http.cache-control, ", ");
        if (beresp.http.cache-control !~ "(?i)(max-age|s-maxage)=" && !beresp.http.expires) {
            set beresp.uncacheable = true;
            set beresp.ttl = 120s;
            return (deliver);
        }
        # Nobody gets a copy beyond its end, not even while it is fetched anew: it may say must-revalidate. It is kept a while
        # for the application to confirm.
        set beresp.grace = 0s;
        set beresp.keep = 10m;
        # What a change is matched with, on the copy itself: so the thread that looks for banned copies finds them
        # without a request at hand.
        set beresp.http.x-copy-host = bereq.http.host;
        set beresp.http.x-copy-path = regsub(bereq.url, "\?.*$", "");
        set beresp.http.x-copy-scope = "scope:" + bereq.http.x-tidegate-scope;
    }
    # Varnish's own rules follow: nothing with Set-Cookie, private, no-store, no-cache or Vary: * is stored.
}

sub vcl_deliver {
    # A change that succeeded makes the copies of its path stale (RFC 9111, 4.4): those in the scope of whoever made it, whatever
    # their query. Copies that other scopes hold of the same path live to their end: keep lifetimes short where scopes share data.
    if (req.method !~ "^(GET|HEAD|OPTIONS|TRACE)$" && resp.status >= 200 && resp.status < 400
        && req.http.x-tidegate-cache && req.http.x-tidegate-cache !~ "^off(;|$)") {
        ban("obj.http.x-copy-scope == scope:" + req.http.x-tidegate-scope
            + " && obj.http.x-copy-path == " + regsub(req.url, "\?.*$", "")
            + " && obj.http.x-copy-host == " + req.http.host);
    }
    unset resp.http.x-copy-host;
    unset resp.http.x-copy-path;
    unset resp.http.x-copy-scope;
}
