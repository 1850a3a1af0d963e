"""Hostile heads: foreign hosts and origins, odd types of bodies, headers that would command."""

from __future__ import annotations

from collections.abc import Iterator

from proof.api.attacks import Attack, request
from proof.api.wire import Target

KIND = "head"
HARMLESS = b'{"handler": "echo"}'
FOREIGN = frozenset({403})

HOSTS = (
    *(
        "example.com",
        "example.com:{port}",
        "localhost.example.com:{port}",
        "127.0.0.1.nip.io:{port}",
    ),
    *("127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}0", "0.0.0.0:{port}", "127.0.0.2:{port}"),
    *("127.1:{port}", "2130706433:{port}", "0x7f000001:{port}", "[::ffff:127.0.0.1]:{port}"),
    *(
        "127.0.0.1:{port}@example.com",
        "example.com#127.0.0.1:{port}",
        "127.0.0.1:{port}, example.com",
    ),
    *("127.0.0.1:{port}.", "127.0.0.1:{port}/", "", " ", "169.254.169.254", "localhost\t:{port}"),
    *("127.0.0.1:+{port}", "127.0.0.1:0{port}", "x" * 10_000),
)
"""Names by which this server is not meant; a page of somebody else's may resolve to loopback."""

ORIGINS = (
    *("https://example.com", "http://example.com:{port}", "null", "file://", "http://127.0.0.1:1"),
    *(
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:{port}.example.com",
        "http://127.0.0.1:{port}/",
    ),
    *("http://127.0.0.1:{port}@example.com", "chrome-extension://abc", "http://localhost", "*"),
    *("http://127.0.0.1:{port} http://example.com", ""),
)

TYPES = (
    *("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"),
    *("application/json; charset=utf-16", "application/json; charset=utf-7", "text/json"),
    *("application/json, text/plain", "application/jsonp", "application/xml", "*/*", ""),
    *("application/json\x00", "application/vnd.api+json", "APPLICATION", "json" * 1000),
)

COMMANDS = (
    *("X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: DELETE"),
    *("X-Original-URL: /v1/schedules/one", "X-Rewrite-URL: /v1/schedules/one"),
    *("X-Forwarded-Host: example.com", "X-Forwarded-Prefix: /x", "Forwarded: host=example.com"),
    *("X-Forwarded-For: 169.254.169.254", "X-Forwarded-Proto: https", "X-Real-IP: 10.0.0.1"),
    *("X-Amzn-Oidc-Identity: admin", "Authorization: Bearer " + "x" * 5000, "Cookie: a=b; a=c"),
    *("traceparent: 00-" + "f" * 32 + "-" + "0" * 16 + "-01", "traceparent: " + "0-" * 5000),
    *("X-Amzn-Trace-Id: Root=1-00000000-" + "0" * 24, "X-Amzn-Trace-Id: Root=1-'OR'1-" + "'" * 24),
    *(
        "Range: bytes=0-0,1-1,2-2",
        "If-None-Match: *",
        "If-Match: nothing",
        "Accept: nothing/at-all",
    ),
    *("Accept-Encoding: gzip;q=0, *;q=0", "Connection: upgrade, host", "Upgrade: websocket"),
    *("Host : example.com", "Expect: 200-ok", "TE: trailers, chunked", "Via: 1.1 " + "x" * 1000),
    *("Proxy: http://169.254.169.254/", "X-\x80: \xff\xfe", "X-Null: a\x00b", "X-Empty:"),
)
"""Headers that some servers obey. Here they change nothing."""


def hostile_heads() -> Iterator[Attack]:
    """Every foreign host and origin, every type that is not taken, every header in command."""
    for host in HOSTS:
        yield _lined(f"Host: {host[:40]}", f"Host: {host}", FOREIGN, by_host=True)
    for origin in ORIGINS:
        yield _lined(f"Origin: {origin[:40]}", f"Origin: {origin}", FOREIGN)
    yield _lined("no Host", "Accept: */*", FOREIGN, by_host=True)
    yield _lined("two Hosts", "Host: 127.0.0.1:{port}\r\nHost: example.com", FOREIGN, by_host=True)
    for media_type in TYPES:
        lines = (f"Content-Type: {media_type}",)
        yield request(
            KIND,
            f"type {media_type[:30]}",
            "POST",
            "/v1/jobs",
            HARMLESS,
            lines=lines,
            allowed={415},
        )
    for line in COMMANDS:
        for method, path in (("GET", "/v1/schedules/one"), ("POST", "/v1/schedules/preview")):
            body = b'{"schedule": {"expression": "@daily"}}' if method == "POST" else None
            # What is no header at all is refused; 417 is the word for an Expect that is not known.
            allowed = {200, 400, 403, 417}
            yield request(KIND, line[:40], method, path, body, lines=(line,), allowed=allowed)
    yield from _too_much()


def _lined(name: str, line: str, allowed: frozenset[int], *, by_host: bool = False) -> Attack:
    """Return the submission of a job with a header line that names the server's ``{port}``."""

    def data(target: Target) -> bytes:
        own = [] if by_host else [target.own_host]
        lines = [*own, line.format(port=target.port), "Content-Type: application/json"]
        head = ["POST /v1/jobs HTTP/1.1", *lines, f"Content-Length: {len(HARMLESS)}", "", ""]
        return "\r\n".join(head).encode("latin-1") + HARMLESS

    return Attack(kind=KIND, name=name, method="POST", path="/v1/jobs", data=data, allowed=allowed)


def _too_much() -> Iterator[Attack]:
    sizes = {
        "200 headers": tuple(f"X-{n}: 1" for n in range(200)),
        "a header of 100 KB": ("X-Long: " + "x" * 100_000,),
        "a name of 100 KB": ("x" * 100_000 + ": 1",),
    }
    for name, lines in sizes.items():
        yield request(KIND, name, "GET", "/v1/health", lines=lines, allowed={431})
    for name, line in (
        ("a line that is no header", "this is no header"),
        ("a header without a name", ": nameless"),
    ):
        yield request(KIND, name, "GET", "/v1/health", lines=(line,), allowed={200, 400, 403})
    for expected in ("100-continue", "100-CONTINUE"):
        line = f"Expect: {expected}"
        lines = (line, "Content-Length: 99999999")
        yield request(KIND, line, "POST", "/v1/jobs", b"", lines=lines, allowed={413})
