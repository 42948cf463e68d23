# Varnish between the gate (gate.yaml) and an application that has no Envoy beside it. Checked with Varnish 7.1.
#
# Here Varnish does what the role `origin` does in default.vcl's place, as far as VCL goes: it judges what may be stored, and
# seals. Two things differ. The application sees the request headers x-tidegate-*, which are nobody's business but the
# cache's: it must not log them or send them back. And a seal that Varnish stamps shows a copy given to the wrong caller, but
# not a mistake in this very file about whom a copy was fetched for. Prefer default.vcl and a sidecar where you can.

vcl 4.1;

import std;

backend origin {
    .host = "127.0.0.1"; .port = "8080";  # HERE: the application
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
    return (pass);
}

sub vcl_hash {
    # Besides host and path, which Varnish adds by itself after this.
    hash_data("scope:" + req.http.x-tidegate-scope);
}

sub vcl_backend_response {
    # The seal: whom this answer was fetched for. What an application says under that name is not believed. A copy that the
    # application has confirmed (304) keeps the seal that it was stored with: the body is still the one of then.
    if (!beresp.was_304) {
        unset beresp.http.x-tidegate-seal;
        if (bereq.http.x-tidegate-scope) {
            set beresp.http.x-tidegate-seal = bereq.http.x-tidegate-scope;
        }
    }
    if (bereq.uncacheable) {
        return (deliver);
    }

    # Each of these may come in several lines, of which Varnish would read the first.
    std.collect(beresp.http.cache-control, ", ");
    std.collect(beresp.http.vary, ", ");
    if (beresp.http.set-cookie
        || beresp.http.cache-control ~ "(?i)(private|no-store|no-cache)"
        || beresp.http.vary ~ "\*"
        # Who says nothing of a lifetime did not mean to be stored.
        || (beresp.http.cache-control !~ "(?i)(max-age|s-maxage)=" && !beresp.http.expires)
        # What was made for a caller with credentials is shared by all only if the application says so (RFC 9111, 3.5).
        || ((bereq.http.authorization || bereq.http.x-tidegate-cache ~ ";authorized(;|$)")
            && beresp.http.cache-control !~ "(?i)(public|s-maxage|must-revalidate)")) {
        set beresp.uncacheable = true;
        set beresp.ttl = 120s;
        return (deliver);
    }
    # Nobody gets a copy beyond its end: default.vcl says more.
    set beresp.grace = 0s;
    set beresp.keep = 10m;
    # What a change is matched with: default.vcl says more.
    set beresp.http.x-copy-host = bereq.http.host;
    set beresp.http.x-copy-path = regsub(bereq.url, "\?.*$", "");
    set beresp.http.x-copy-scope = "scope:" + bereq.http.x-tidegate-scope;
}

sub vcl_deliver {
    # A change that succeeded makes the copies of its path stale, within its scope: default.vcl says more.
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
