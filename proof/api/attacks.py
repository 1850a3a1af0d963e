"""What an attack is, and what must be true of every answer to one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from proof.api.wire import Reply, Target, well_formed
from tests.functions.documented import META_PATHS, require_documented

REFUSED = frozenset({400, 404, 409, 413, 415, 422})
"""The ways in which the API says that the request is wrong."""

TOLD_BYTES = 20_000
"""A refusal repeats at most a little of what was sent."""

PROBLEM_FIELDS = {"type", "title", "status", "detail", "errors"}
LEAKS = (b"Traceback", b'.py"', b".py:", b"pydantic", b"botocore", b"Errno", b"0x7f")
"""What would tell of the inside."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One hostile request, and the statuses that may answer it.

    ``data``: all of its bytes, for a given server. ``ends``: its sender closes its half then.
    ``may_be_silent``: to be closed without an answer is right, too.
    """

    kind: str
    name: str
    method: str
    path: str
    data: Callable[[Target], bytes]
    allowed: frozenset[int] = REFUSED
    ends: bool = False
    may_be_silent: bool = False

    def strike(self, target: Target) -> tuple[Reply | None, list[str]]:
        """Send it; return the answer, and what is wrong with it."""
        try:
            reply = target.exchange(self.data(target), method=self.method, ends=self.ends)
        except TimeoutError:
            return None, [f"{self}: no answer in time"]
        if reply is None:
            return None, [] if self.may_be_silent else [f"{self}: closed without an answer"]
        return reply, [f"{self}: {fault}" for fault in faults_of(self, reply)]

    def __str__(self) -> str:
        return f"{self.kind}: {self.name} ({self.method} {self.path[:60]})"


def request(
    kind: str,
    name: str,
    method: str,
    path: str,
    body: bytes | None = None,
    *,
    lines: tuple[str, ...] = (),
    allowed: frozenset[int] | set[int] = REFUSED,
) -> Attack:
    """Return an attack by a request that is well formed as HTTP."""
    return Attack(
        kind=kind,
        name=name,
        method=method,
        path=path,
        data=lambda target: well_formed(target, method, path, body, lines),
        allowed=frozenset(allowed),
    )


def faults_of(attack: Attack, reply: Reply) -> Iterator[str]:
    """Say what is wrong with an answer."""
    if reply.status not in attack.allowed:
        yield f"answered {reply.status} {reply.body[:200]!r}; {sorted(attack.allowed)} are right"
    if "x-injected" in reply.headers:
        yield "a header was injected"
    if "set-cookie" in reply.headers:
        yield "a cookie is set, which a browser sends to every port of this host"
    if "python" in reply.headers.get("server", "").lower():
        yield "the answer names the software behind it"
    if reply.status < 400:
        if reply.status == 200 and reply.headers.get("x-content-type-options") != "nosniff":
            yield "a browser may guess the type of the answer"
        yield from _undocumented(attack, reply)
        return
    if len(reply.body) > TOLD_BYTES:
        yield f"a refusal of {len(reply.body):,} bytes"
    leaked = [text for text in LEAKS if text in reply.body]
    if leaked:
        yield f"a refusal tells {leaked}: {reply.body[:300]!r}"
    if attack.method != "HEAD":
        yield from _faults_of_problem(reply)
        yield from _undocumented(attack, reply)


def _faults_of_problem(reply: Reply) -> Iterator[str]:
    if reply.headers.get("content-type") != "application/problem+json":
        yield f"a refusal of type {reply.headers.get('content-type')}"
        return
    problem = reply.json
    if problem.get("status") != reply.status or set(problem) - PROBLEM_FIELDS:
        yield f"a problem that is none: {problem}"


def _undocumented(attack: Attack, reply: Reply) -> Iterator[str]:
    """Hold an answer of the API against its document; the server's own refusals are not in it."""
    path = unquote(urlsplit("http://x" + attack.path).path) if attack.path[:1] == "/" else ""
    is_from_api = "cache-control" in reply.headers
    is_json = bool(reply.body) and path not in META_PATHS and attack.method != "HEAD"
    if not (is_from_api and is_json) or reply.status == 405:
        return
    try:
        value = json.loads(reply.body)
        require_documented(attack.method, path, reply.status, dict(reply.headers), value)
    except (AssertionError, KeyError, ValueError) as error:
        yield f"undocumented: {type(error).__name__} {str(error)[:200]}"
