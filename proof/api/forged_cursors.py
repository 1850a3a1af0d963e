"""Cursors forged, and moved to where they do not belong: refused, and nothing foreign is shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from random import Random
from typing import Any
from urllib.parse import urlencode

from proof.api.wire import Reply, Target

JOBS = 6
TENANTS = ("red", "blue")
FORGERIES = 300
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ %"
LISTINGS = ("/v1/schedules", "/v1/calendars", "/v1/audit", "/v1/schedules/one/occurrences")


def forged_cursors(target: Target, seed: int) -> Iterator[tuple[str, Reply, list[str]]]:
    """Yield what was tried, the answer to it, and what is wrong with that."""
    for tenant in TENANTS:
        for _ in range(JOBS):
            body = {"handler": "echo", "tenant": tenant, "delay_seconds": 86_400}
            reply = target.request("POST", "/v1/jobs", body)
            yield f"a job of {tenant}", reply, [] if reply.status == 201 else ["not taken"]
    cursor = _page(target, tenant="red").json["next_cursor"]
    assert cursor, "the listing is too short for this"
    yield from _moved(target, cursor)
    for forged in _forgeries(cursor, Random(seed)):
        reply = _page(target, tenant="red", cursor=forged)
        yield f"the cursor {forged}", reply, list(_foreign(reply))


def _page(target: Target, **query: str) -> Reply:
    return target.request("GET", f"/v1/jobs?{urlencode({'limit': '2', **query})}")


def _moved(target: Target, cursor: str) -> Iterator[tuple[str, Reply, list[str]]]:
    """The cursor of one listing under every other: filters fewer, more and other, other things."""
    for query in ({}, {"tenant": "blue"}, {"tenant": "red", "handler": "echo"}, {"status": "DEAD"}):
        reply = _page(target, cursor=cursor, **query)
        yield f"a cursor moved to {query}", reply, _unless_refused(reply)
    for path in LISTINGS:
        reply = target.request("GET", f"{path}?{urlencode({'cursor': cursor})}")
        yield f"a cursor moved to {path}", reply, _unless_refused(reply)
    for path in ("/v1/jobs/cancel", "/v1/jobs/redrive", "/v1/jobs/discard"):
        for filters in ({"tenant": "blue"}, {"all": True}):
            body: dict[str, Any] = {**filters, "cursor": cursor, "dry_run": True}
            reply = target.request("POST", path, body)
            yield f"a cursor moved to {path} {filters}", reply, _unless_refused(reply)


def _unless_refused(reply: Reply) -> list[str]:
    return [] if reply.status == 422 else [f"answered {reply.status} {reply.body[:200]!r}"]


def _forgeries(cursor: str, random: Random) -> Iterator[str]:
    """The cursor with a letter changed, cut, doubled, and its insides replaced."""
    for _ in range(FORGERIES):
        at = random.randrange(len(cursor))
        yield cursor[:at] + random.choice(LETTERS) + cursor[at + 1 :]
    yield from (
        cursor[:-1],
        cursor[1:],
        cursor * 2,
        cursor[::-1],
        cursor.swapcase(),
        cursor + "AAAA",
    )
    version, *parts, check = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    insides: tuple[Any, ...] = (
        [version, 0, "", check],
        [version, 10**30, parts[1], check],
        [version, parts[0], parts[1] + "'", check],
        [version + 1, *parts, check],
        [version, *parts],
        [version, parts, check],
        {"version": version},
        [version, *parts, check, check],
        [version, -1, "x" * 50, check],
        [[[[[[[[]]]]]]]],
        None,
        1e308,
    )
    for inside in insides:
        yield base64.urlsafe_b64encode(json.dumps(inside).encode()).decode().rstrip("=")


def _foreign(reply: Reply) -> Iterator[str]:
    """A forgery may happen to mean the same; what it shows belongs to the filters all the same."""
    if reply.status == 422:
        return
    if reply.status != 200:
        yield f"answered {reply.status} {reply.body[:200]!r}"
        return
    tenants = {job["tenant"] for job in reply.json["jobs"]}
    if tenants - {"red"}:
        yield f"shows jobs of {tenants}"
