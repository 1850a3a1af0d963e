"""Hostile paths and queries: ways out, disguises, bytes that are no text, and far too much."""

from __future__ import annotations

from collections.abc import Iterator

from proof.api.attacks import Attack, request

KIND = "path"
NOWHERE = frozenset({404})
ANSWERS = frozenset({200, 204, 400, 404, 405, 415, 422})

PATHS = (
    *("/v1/../../etc/passwd", "/v1/%2e%2e/%2e%2e/etc/passwd", "/v1/..%2f..%2fetc%2fpasswd"),
    *("/v1/%252e%252e/jobs", "/v1/jobs/%252e%252e", "/v1//jobs", "/v1/jobs/", "/v1/./jobs"),
    *(
        "/v1/jobs/..",
        "/v1/jobs/%2e%2e/jobs",
        "/v1/jobs/../schedules/one",
        "/v1/jobs\\one",
        "/V1/JOBS",
    ),
    *("/v1/jobs/one%00", "/v1/jobs/%00", "/v1/jobs/one%0d%0aX-Injected:%20yes", "/v1/jobs/one%0a"),
    *(
        "/v1/jobs/one;x=y",
        "/v1/jobs/one%3fx",
        "/v1/jobs/one%23",
        "/v1/jobs/one%20",
        "/v1/jobs/%20one",
    ),
    *("/%76%31/jobs%00", "/v1/jobs/%"),
    *(
        "/v1/jobs/%zz",
        "/v1/jobs/%ff%fe",
        "/v1/jobs/%c0%af",
        "/v1/jobs/%ed%a0%80",
        "/v1/jobs/%u0041",
    ),
    *("/v1/jobs/" + "x" * 60_000, "/v1/jobs/" + "%41" * 20_000, "/" + "a/" * 20_000),
    *("/v1/jobs/J", "/v1/jobs/s.one", "/v1/jobs/k.one", "/v1/jobs/g.one", "/v1/jobs/one/J"),
    *("/v1/jobs/E%231", "/v1/jobs/T%23payload", "/v1/jobs/one%230", "/v1/jobs/one/E%231"),
    *("/v1/jobs/'OR'1'='1", "/v1/jobs/one'--", '/v1/jobs/"one"', "/v1/jobs/*", "/v1/jobs/one,two"),
    *(
        "/.env",
        "/.git/config",
        "/admin",
        "/v1",
        "/v1/",
        "/v2/jobs",
        "/$default/v1/jobs",
        "/favicon.ico",
    ),
    *(
        "/v1/jobs/one/cancel/",
        "/v1/jobs/one/events/../cancel",
        "/v1/jobs/one/CANCEL",
        "/v1/docs/../jobs",
    ),
    *(
        "/v1/jobs/\xe9",
        "/v1/jobs/\x80\xff",
        "/v1/schedules/d.one",
        "/v1/schedules/one%00",
        "/server-status",
    ),
    *("/v1/schedules/%f0%9f%92%a3", "/v1/calendars/..", "/v1/calendars/%2e", "/v1/openapi.json/x"),
)
"""Paths of nothing that there is."""

DISGUISES = (
    *(
        "//v1/jobs",
        "/v1/jobs%2fone",
        "/v1%2fjobs",
        "/v1/jobs/one%2fevents",
        "/%76%31/jobs",
        "///v1/jobs",
    ),
    *("/v1/jobs/%6f%6e%65", "/v1/jobs/one%2Fevents"),
)
"""The same path in another writing: API Gateway decodes it, too, before a route is looked for."""

QUERIES = (
    *(
        "limit=0",
        "limit=-1",
        "limit=1e400",
        "limit=9" + "9" * 5000,
        "limit=1.0",
        "limit=NaN",
        "limit=",
    ),
    *(
        "limit=10&limit=20",
        "limit=%31%30%00",
        "limit=\xb2",
        "limit=0x10",
        "limit=true",
        "limit=null",
    ),
    *(
        "status=ANY",
        "status=",
        "status=DEAD,PENDING",
        "status=dead",
        "status[]=DEAD",
        "status.x=DEAD",
    ),
    *("tag=", "tag=nocolon", "tag=:", "tag=%3a", "created_after=now", "created_after=-1"),
    *("created_after=9999-12-31T23:59:59Z", "created_after=2026-01-01", "created_before=%00"),
    *(
        "cursor=",
        "cursor=null",
        "cursor=%00",
        "cursor=" + "A" * 999,
        "cursor=" + "A" * 5000,
        "cursor=e30",
    ),
    *("cursor=..", "cursor={}", "cursor=W10", "cursor=bnVsbA", "cursor=%ff", "cursor=eyJhIjoxfQ=="),
    *(
        "unknown=1",
        "__proto__=1",
        "handler=" + "x" * 65,
        "tenant=" + "x" * 129,
        "&".join("a=1" for _ in "x" * 60),
    ),
    *("&".join(f"a{n}=1" for n in range(51)), "payload=1", "%00=1", "=1", "status=%ed%a0%80"),
    *("limit=5;status=DEAD", "limit=5#", "handler=", "tenant=", "schedule_id="),
)
"""Queries that the listing refuses."""

STRANGE = (
    "handler=%00",
    "tenant=%0d%0aX-Injected:%20yes",
    "tag=%00:%00",
    "&&&",
    "handler=a%26b",
    "?",
    "tag=a:%ff",
    "tag=%ff:%ff",
    "schedule_id=a/../b",
)
"""Queries that are odd, and mean something: nothing is found, or they are refused."""

LISTINGS = ("/v1/schedules", "/v1/calendars", "/v1/audit", "/v1/schedules/one/occurrences")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ROUTES = (
    *(
        "/v1/jobs",
        "/v1/jobs/batch",
        "/v1/jobs/nobody",
        "/v1/jobs/nobody/events",
        "/v1/jobs/nobody/logs",
        "/v1/dead-letters/groups",
        "/v1/jobs/nobody/cancel",
    ),
    *("/v1/jobs/nobody/redrive", "/v1/jobs/nobody/run-now", "/v1/jobs/cancel", "/v1/jobs/redrive"),
    *("/v1/jobs/nobody/discard", "/v1/jobs/discard"),
    *("/v1/jobs/nobody/steps", "/v1/jobs/nobody/journal", "/v1/jobs/nobody/signals/approved"),
    *("/v1/jobs/nobody/children", "/v1/graphs", "/v1/graphs/nobody", "/v1/graphs/nobody/rerun"),
    *("/v1/batches", "/v1/batches/nobody", "/v1/batches/nobody/jobs", "/v1/batches/nobody/close"),
    *("/v1/callbacks/cb_x/succeed", "/v1/callbacks/cb_x/fail", "/v1/callbacks/cb_x/heartbeat"),
    *(
        "/v1/schedules",
        "/v1/schedules/nobody",
        "/v1/schedules/preview",
        "/v1/schedules/nobody/pause",
    ),
    "/v1/schedules/nobody/grid",
    *("/v1/schedules/nobody/trigger", "/v1/schedules/nobody/backfill", "/v1/calendars/nobody"),
    *(
        "/v1/resweep",
        "/v1/audit",
        "/v1/calendars",
        "/v1/stats",
        "/v1/handlers",
        "/v1/handlers/greet",
        "/v1/limits",
        "/v1/limits/greet.1",
        "/v1/limits/greet.1/retime",
        "/v1/quotas",
        "/v1/quotas/tenant/nobody",
        "/v1/quotas/caller/nobody",
        "/v1/health",
        "/v1/openapi.json",
        "/v1/docs",
    ),
)


def hostile_paths() -> Iterator[Attack]:
    """Every odd path and query, and every method on every route."""
    for path in PATHS:
        for method in ("GET", "DELETE"):
            # A path in many pieces may be longer than a request line; then that is told.
            allowed = NOWHERE | {405, 414}
            yield request(KIND, path[:40], method, path, allowed=allowed)
    for path in DISGUISES:
        yield request(KIND, path, "GET", path, allowed={200})
    for query in QUERIES:
        yield request(KIND, query[:40], "GET", f"/v1/jobs?{query}", allowed={422})
        for listing in LISTINGS:
            yield request(KIND, query[:40], "GET", f"{listing}?{query}", allowed={200, 404, 422})
    for query in STRANGE:
        yield request(KIND, query, "GET", f"/v1/jobs?{query}", allowed={200, 422})
    for path in ROUTES:
        for method in METHODS:
            body = b"{}" if method in {"POST", "PUT", "PATCH"} else None
            yield request(KIND, "every method", method, path, body, allowed=ANSWERS)
        yield request(
            KIND, "a body nobody takes", "GET", path, b'{"a": 1}', allowed={404, 405, 422}
        )
        yield request(KIND, "a query nobody takes", "GET", f"{path}?a=1", allowed={404, 405, 422})
