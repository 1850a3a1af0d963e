"""Hostile framing: lengths that lie, bodies in disguise, heads that are none."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

from proof.api.attacks import Attack, request
from proof.api.wire import Target, well_formed

KIND = "framing"
JOB = b'{"handler": "echo", "id": "smuggled"}'
HARMLESS = b'{"handler": "echo"}'
ZEROS_BYTES = 50_000_000

LENGTHS: dict[str, tuple[tuple[str, ...], frozenset[int]]] = {
    "negative": (("Content-Length: -1",), frozenset({400})),
    "with a plus": (("Content-Length: +37",), frozenset({400})),
    "hexadecimal": (("Content-Length: 0x25",), frozenset({400})),
    "in other digits": (("Content-Length: \xb2",), frozenset({400})),
    "a list": (("Content-Length: 37, 37",), frozenset({400})),
    "empty": (("Content-Length:",), frozenset({400})),
    "two that differ": (("Content-Length: 37", "Content-Length: 0"), frozenset({400})),
    "of 5,000 digits": (("Content-Length: " + "9" * 5000,), frozenset({413})),
    "of a terabyte": (("Content-Length: 1099511627776",), frozenset({413})),
    "chunked": (("Transfer-Encoding: chunked",), frozenset({411})),
    "chunked, and a length": (
        ("Transfer-Encoding: chunked", "Content-Length: 37"),
        frozenset({411}),
    ),
    "chunked, by a tab": (("Transfer-Encoding:\tchunked",), frozenset({411})),
    "chunked, by a comma": (("Transfer-Encoding: ,chunked",), frozenset({411})),
    "chunked, in disguise": (("Transfer-Encoding: xchunked",), frozenset({411})),
    "identity": (("Transfer-Encoding: identity",), frozenset({411})),
    "a folded line": (("X-Folded: a\r\n Transfer-Encoding: chunked",), frozenset({200, 201, 400})),
}

LINES: dict[str, tuple[str, frozenset[int]]] = {
    "no version": ("GET /v1/health", frozenset({400})),
    "an absolute target": ("GET http://169.254.169.254/latest/ HTTP/1.1", frozenset({400})),
    "an absolute target of our own": ("GET http://127.0.0.1/v1/health HTTP/1.1", frozenset({400})),
    "an asterisk": ("OPTIONS * HTTP/1.1", frozenset({400})),
    "a tunnel": ("CONNECT 169.254.169.254:80 HTTP/1.1", frozenset({400})),
    "a target without a slash": ("GET v1/health HTTP/1.1", frozenset({400})),
    "two spaces": ("GET  /v1/health HTTP/1.1", frozenset({200, 400})),
    "three words and more": ("GET /v1/health HTTP/1.1 x", frozenset({400})),
    "HTTP/0.9": ("GET /v1/health HTTP/0.9", frozenset({400, 505})),
    # No fault of ours: the version is the client's, and 505 is HTTP's own word for it.
    "HTTP/9.9": ("GET /v1/health HTTP/9.9", frozenset({505})),
    "HTTP/-1": ("GET /v1/health HTTP/-1.1", frozenset({400})),
    "HTTP/1.1000000": ("GET /v1/health HTTP/1." + "1" * 5000, frozenset({400, 505})),
    "no HTTP": ("SSH-2.0-OpenSSH_9.6", frozenset({400})),
    "a method in small letters": ("get /v1/health HTTP/1.1", frozenset({200, 400, 405})),
    "a method that nobody has": ("BREW /v1/health HTTP/1.1", frozenset({405})),
    "a method with NUL": ("GE\x00T /v1/health HTTP/1.1", frozenset({400, 405})),
    "a method of 10,000 letters": ("A" * 10_000 + " /v1/health HTTP/1.1", frozenset({405})),
    "a method named like an attribute": ("__class__ /v1/health HTTP/1.1", frozenset({405})),
    "a target of 100 KB": ("GET /" + "x" * 100_000 + " HTTP/1.1", frozenset({414})),
    "TRACE": ("TRACE /v1/health HTTP/1.1", frozenset({405})),
    "TRACK": ("TRACK /v1/health HTTP/1.1", frozenset({405})),
    "PROPFIND": ("PROPFIND /v1/jobs HTTP/1.1", frozenset({405})),
}

NO_HTTP: dict[str, bytes] = {
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500 + b"\r\n\r\n",
    "nothing": b"",
    "line breaks": b"\r\n" * 1000,
    "NUL bytes": b"\x00" * 10_000,
    "a carriage return alone": b"GET /v1/health HTTP/1.1\rHost: x\r\r",
}


def hostile_framing() -> Iterator[Attack]:
    """Every lie about a body, every odd request line, and what is no HTTP at all."""
    for name, (lines, allowed) in LENGTHS.items():
        yield _raw(f"a length {name}", "POST", "/v1/jobs", lines, JOB, allowed)
    yield _raw("too short", "POST", "/v1/jobs", ("Content-Length: 30",), JOB, frozenset({400}))
    yield _raw("too long", "POST", "/v1/jobs", ("Content-Length: 99",), JOB, frozenset({400}))
    for name, (line, allowed) in LINES.items():
        yield _line(name, line, allowed)
    for name, data in NO_HTTP.items():
        yield Attack(
            kind=KIND,
            name=name,
            method="GET",
            path="",
            data=lambda _, data=data: data,  # type: ignore[misc]
            allowed=frozenset({400, 403, 505}),
            ends=True,
            may_be_silent=True,
        )
    yield from _compressed()
    yield from _hidden_second()


def _raw(
    name: str, method: str, path: str, lines: tuple[str, ...], body: bytes, allowed: frozenset[int]
) -> Attack:
    """Return a request whose ``lines`` tell of the length of its body, in truth or not."""

    def data(target: Target) -> bytes:
        head = (f"{method} {path} HTTP/1.1", target.own_host, "Content-Type: application/json")
        return "\r\n".join([*head, *lines, "", ""]).encode("latin-1") + body

    return Attack(
        kind=KIND, name=name, method=method, path=path, data=data, allowed=allowed, ends=True
    )


def _line(name: str, line: str, allowed: frozenset[int]) -> Attack:
    def data(target: Target) -> bytes:
        return f"{line}\r\n{target.own_host}\r\n\r\n".encode("latin-1")

    return Attack(
        kind=KIND,
        name=name,
        method=line.partition(" ")[0],
        path="",
        data=data,
        allowed=allowed,
        ends=True,
    )


def _compressed() -> Iterator[Attack]:
    """Bombs: nobody unpacks them here, so that they cost what they weigh."""
    zeros = b"0" * ZEROS_BYTES
    bombs = {"gzip": gzip.compress(zeros), "deflate": zlib.compress(zeros), "br": b"\xcf\xff\xff"}
    del zeros
    for coding, bomb in bombs.items():
        lines = (f"Content-Encoding: {coding}",)
        allowed = {400, 415}
        yield request(
            KIND, f"a bomb in {coding}", "POST", "/v1/jobs", bomb, lines=lines, allowed=allowed
        )
        twice = (f"Content-Encoding: {coding}, {coding}",)
        yield request(
            KIND,
            f"a bomb in a bomb in {coding}",
            "POST",
            "/v1/jobs",
            bomb,
            lines=twice,
            allowed=allowed,
        )
    lines = ("Content-Encoding: gzip",)
    packed = gzip.compress(HARMLESS)
    yield request(KIND, "JSON in gzip", "POST", "/v1/jobs", packed, lines=lines, allowed={400, 415})


def _hidden_second() -> Iterator[Attack]:
    """A request within the body of another, or behind one that is refused: it is never obeyed."""

    def in_body(target: Target) -> bytes:
        hidden = well_formed(target, "POST", "/v1/jobs", JOB)
        return well_formed(target, "POST", "/v1/jobs", hidden)

    def behind_a_refusal(target: Target) -> bytes:
        head = f"POST /v1/jobs HTTP/1.1\r\n{target.own_host}\r\nTransfer-Encoding: chunked\r\n\r\n"
        return head.encode() + b"0\r\n\r\n" + well_formed(target, "POST", "/v1/jobs", JOB)

    def behind_a_get(target: Target) -> bytes:
        hidden = well_formed(target, "POST", "/v1/jobs", JOB)
        lines = (f"Content-Length: {len(hidden)}", "Content-Type: text/plain")
        return well_formed(target, "GET", "/v1/health", hidden, lines)

    for name, data, allowed in (
        ("a request in a body", in_body, {400}),
        ("a request behind a refusal", behind_a_refusal, {411}),
        ("a request in the body of a GET", behind_a_get, {400, 415}),
    ):
        yield Attack(
            kind=KIND,
            name=name,
            method="POST",
            path="/v1/jobs" if "GET" not in name else "/v1/health",
            data=data,
            allowed=frozenset(allowed),
            ends=True,
        )
