"""The steady mix of the long run: every outcome of a job, and whatever else the API is asked."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hourhand.domain.errors import HourhandError
from proof.soak.kept_api import KeptApi

PRIORITIES = ("high", "medium", "low")
ONE_TRY = {"retry": {"max_attempts": 1}}
RETENTION_SECONDS = 60
"""How long ended jobs are kept: then the janitor takes them, and the emulator stays quick."""

SUCCEEDED, DEAD, CANCELLED = ("SUCCEEDED",), ("DEAD",), ("CANCELLED",)
EXPIRED = ("EXPIRED", "SUCCEEDED")
"""It has a millisecond to start in, which hardly any makes."""

SCHEDULES = ("often", "seldom")
LISTED = 200
FINAL_PAGES = 20


class SoakFailed(HourhandError):
    """The system did not do what the long run asked of it."""

    code = "soak_failed"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of job: how often among a thousand, its body, and how it must end."""

    name: str
    share: int
    body: Callable[[random.Random], dict[str, Any]]
    ends: tuple[str, ...] = SUCCEEDED
    then: str = ""


def _later(now: float, seconds: float) -> str:
    return datetime.fromtimestamp(now + seconds, UTC).isoformat()


def _of(handler: str, payload: Any = None, **others: Any) -> dict[str, Any]:
    return {"handler": handler, "payload": payload, **others}


def _expiring() -> dict[str, Any]:
    """Return a job that may only start within a millisecond of its time."""
    now = time.time()
    return _of("work", run_at=_later(now, 2.0), expires_at=_later(now, 2.001))


KINDS = (
    Kind("at once", 380, lambda r: _of("work", {"n": r.random()}, priority=r.choice(PRIORITIES))),
    Kind("delayed", 150, lambda r: _of("work", 1, delay_seconds=r.randint(1, 5))),
    Kind("with a key", 80, lambda r: _of("work", 2, idempotency_key=f"k{r.random()}")),
    Kind("tagged", 60, lambda r: _of("work", 3, tenant=f"t{r.randint(1, 9)}", tags={"a": "b"})),
    Kind("large", 40, lambda r: _of("work", "x" * r.randint(500, 20_000))),
    Kind("very large", 3, lambda r: _of("work", "z" * 300_000)),
    Kind("large result", 30, lambda r: _of("answer-at-length", {"characters": 5000})),
    Kind("retried", 80, lambda r: _of("fail-first")),
    Kind("told to come later", 30, lambda r: _of("come-later")),
    Kind("snoozed", 30, lambda r: _of("snooze-once", {"until": time.time() + 1})),
    Kind("refused", 30, lambda r: _of("refuse"), DEAD),
    Kind("attempts used up", 20, lambda r: _of("fail-always"), DEAD),
    Kind("long, with heartbeats", 15, lambda r: _of("take-long", 4)),
    Kind("timed out", 10, lambda r: _of("take-long", 9, timeout_seconds=1, **ONE_TRY), DEAD),
    Kind("cancelled while running", 7, lambda r: _of("take-long", 30), CANCELLED, "cancel later"),
    Kind("cancelled before", 20, lambda r: _of("work", delay_seconds=60), CANCELLED, "cancel"),
    Kind("expired", 5, lambda r: _expiring(), EXPIRED),
    Kind("run now", 10, lambda r: _of("work", delay_seconds=600), then="run-now"),
)


@dataclass(slots=True)
class Load:
    """Submits and asks. ``open``: the jobs that are to end, and how."""

    api: KeptApi
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    open: dict[str, Kind] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    ended: int = 0
    _random: random.Random = field(init=False)
    _asks: Iterator[Callable[[], None]] = field(init=False)
    _to_cancel: list[tuple[float, str]] = field(default_factory=list)
    _first: list[Kind] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._asks = itertools.cycle(self._others())

    def step(self) -> None:
        """Submit one job, and ask one other thing."""
        if self._first:
            kind = self._first.pop()
        else:
            (kind,) = self._random.choices(KINDS, [kind.share for kind in KINDS])
        body = kind.body(self._random) | {"retention_seconds": RETENTION_SECONDS}
        job_id = self._ask("POST", "/v1/jobs", body, 201)["id"]
        self.open[job_id] = kind
        self.counts[f"jobs {kind.name}"] += 1
        if kind.then in {"cancel", "run-now"}:
            self._ask("POST", f"/v1/jobs/{job_id}/{kind.then}", {}, 200)
        elif kind.then == "cancel later":
            self._to_cancel.append((time.monotonic() + 1.0, job_id))
        next(self._asks)()
        self.cancel_what_is_to_be()

    def cancel_what_is_to_be(self) -> None:
        """Cancel jobs that have run for a while."""
        now = time.monotonic()
        for at, job_id in [one for one in self._to_cancel if one[0] <= now]:
            self._to_cancel.remove((at, job_id))
            self._ask("POST", f"/v1/jobs/{job_id}/cancel", {}, 200)

    def begin_round(self) -> None:
        """Have two schedules fire, and begin with a job of each kind."""
        self._first = list(KINDS)
        for name, seconds in zip(SCHEDULES, (5, 9), strict=True):
            body = {
                "handler": "work",
                "expression": f"rate({seconds} seconds)",
                "retention_seconds": RETENTION_SECONDS,
            }
            self._ask("PUT", f"/v1/schedules/{name}", body, 200, 201)

    def pause_schedules(self) -> None:
        """Let them make no more jobs."""
        for name in SCHEDULES:
            self._ask("POST", f"/v1/schedules/{name}/pause", {}, 200)

    def note_ended(self) -> int:
        """Take note of the jobs that ended since; return how many are still to end."""
        for job in self._list("/v1/jobs"):
            kind = self.open.get(job["id"])
            if kind is None or job["finished_at"] is None:
                continue
            del self.open[job["id"]]
            self.ended += 1
            self.counts[f"ended {job['status']}"] += 1
            if job["status"] not in kind.ends:
                self.wrong.append(f"{job['id']} ({kind.name}): {job['status']}, not {kind.ends[0]}")
        return len(self.open)

    def _list(self, path: str) -> Iterator[dict[str, Any]]:
        cursor = ""
        for _ in range(FINAL_PAGES):
            page = self._ask("GET", f"{path}?limit={LISTED}{cursor}", None, 200)
            yield from page["jobs"]
            if page["next_cursor"] is None:
                return
            cursor = f"&cursor={page['next_cursor']}"

    def _others(self) -> list[Callable[[], None]]:
        """Return the other requests, which come one after the other."""
        get: Callable[..., Any] = self._ask
        preview = {"schedule": {"expression": "0 9 * * 1-5", "timezone": "Europe/Berlin"}}
        return [
            lambda: get("GET", "/v1/jobs?limit=20", None, 200),
            lambda: get("GET", "/v1/stats", None, 200),
            lambda: get("GET", "/v1/jobs?status=DEAD&limit=20", None, 200),
            lambda: get("POST", "/v1/jobs", {"handler": "unheard-of"}, 422),
            lambda: get("GET", "/v1/jobs/no-such-job", None, 404),
            lambda: get("GET", "/v1/jobs?handler=work&tenant=t1&limit=20", None, 200),
            lambda: get("POST", "/v1/jobs", {"handler": "work", "surprise": 1}, 422),
            lambda: get("GET", "/v1/schedules", None, 200),
            lambda: get("GET", "/v1/schedules/often/occurrences?limit=20", None, 200),
            lambda: get("POST", "/v1/schedules/preview", preview, 200),
            lambda: get("PUT", "/v1/calendars/closed", {"exclude": ["2026-12-25"]}, 200, 201),
            lambda: get("GET", "/v1/handlers", None, 200),
            lambda: get("GET", "/v1/no/such/route", None, 404),
            lambda: get("GET", "/v1/health", None, 200),
            lambda: get("GET", "/v1/openapi.json", None, 200),
            lambda: get("GET", "/v1/jobs?cursor=made-up", None, 422, 400),
            lambda: get("POST", "/v1/jobs/cancel", {"handler": "x", "dry_run": True}, 200),
        ]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None, *expected: int) -> Any:
        answer = self.api.ask(method, path, body)
        self.counts["requests"] += 1
        if answer.status >= 400:
            self.counts["requests refused, as they should be"] += 1
        if answer.status not in expected:
            told = json.dumps(answer.body)[:500]
            raise SoakFailed(f"{method} {path} was answered with {answer.status}: {told}")
        return answer.body
