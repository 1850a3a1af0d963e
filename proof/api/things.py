"""Things in the state that a route needs, made by calls of the API when a call is to meet one.

By chance no call names the token of a callback, or a graph that has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hourhand.domain.jobs.job import JobStatus
from proof.api.wire import Target

SECONDS_TO_WAIT = 2.0
MAX_TIMEOUTS = 5
SECONDS_BETWEEN_LOOKS = 0.05
FILLED = {"expression": "0 9 * * *", "handler": "put-off"}
"""The schedule of a backfill: its jobs put themselves off, so that none ends."""

FILLING = {"from": "2025-12-01T00:00:00Z", "to": "2025-12-03T00:00:00Z"}
GRAPH = {"a": {"handler": "echo"}, "b": {"handler": "echo", "after": ["a"]}}


@dataclass(frozen=True, slots=True)
class Met:
    """What a call is to name: parameters of its path, and its body if that has to name more."""

    path: Mapping[str, str]
    body: Any = None


@dataclass(slots=True)
class Things:
    """Makes things at a server, and makes others once those have ended.

    ``timeouts``: how often the workers did not get to a job in time. Calls may have paused its
    handler, or the server may have no workers.
    """

    target: Target
    timeouts: int = 0
    _run: str | None = None
    _schedule: str | None = None
    _tokens: list[str] = field(default_factory=list)

    def live_run(self) -> str | None:
        """Return a durable run that waits."""
        if self._run is None or self._is_final(self._run):
            self._run = self._started_run()
        return self._run

    def open_token(self) -> str | None:
        """Return the token of a callback that no other call was given."""
        run = self.live_run()
        return self._tokens.pop() if run is not None and self._tokens else self._next_token()

    def waiting_job(self) -> str | None:
        """Return a job that is due tomorrow."""
        return self._made("/v1/jobs", {"handler": "echo", "delay_seconds": 86_400})

    def dead_job(self, handler: str = "give-up") -> str | None:
        """Return a job that ended DEAD."""
        return self._ended("/v1/jobs", {"handler": handler, "priority": "high"})

    def ended_graph(self) -> str | None:
        """Return a graph of the nodes a and b that has ended."""
        return self._ended("/v1/graphs", {"nodes": GRAPH, "priority": "high"})

    def open_batch(self) -> str | None:
        """Return a batch without jobs that takes some."""
        return self._made("/v1/batches", {"jobs": [], "open": True})

    def backfill(self) -> tuple[str, str] | None:
        """Return a schedule and the number of a backfill of it that is under way."""
        if self._schedule is not None and self._is_filled(self._schedule):
            return self._schedule, "1"
        # Each in its own schedule: one that was cancelled counts until the next tick.
        self._schedule = f"filled-{time.time_ns()}"
        home = f"/v1/schedules/{self._schedule}"
        self.target.request("PUT", home, FILLED)
        self.target.request("POST", f"{home}/backfill", FILLING)
        return (self._schedule, "1") if self._is_filled(self._schedule) else None

    def _is_filled(self, schedule: str) -> bool:
        found = self.target.request("GET", f"/v1/schedules/{schedule}/backfills")
        return found.status == 200 and any(
            one["n"] == 1 and one["status"] in {"running", "paused"}
            for one in found.json["backfills"]
        )

    def _next_token(self) -> str | None:
        self._run = self._started_run()
        return self._tokens.pop() if self._tokens else None

    def _started_run(self) -> str | None:
        """Start a run, and take the tokens of its callbacks from its journal."""
        run = self._made("/v1/jobs", {"handler": "await", "priority": "high"})
        self._tokens = []
        if run is None or not self._wait(lambda: self._read_tokens(run)):
            return None
        return run

    def _read_tokens(self, run: str) -> bool:
        steps = self.target.request("GET", f"/v1/jobs/{run}/steps")
        for step in steps.json["steps"] if steps.status == 200 else ():
            if step["path"] == "tokens" and step["status"] == "succeeded":
                self._tokens = list(step["result"])
        return bool(self._tokens)

    def _ended(self, path: str, body: Mapping[str, Any]) -> str | None:
        job = self._made(path, body)
        if job is None or not self._wait(lambda: self._is_final(job)):
            return None
        return job

    def _made(self, path: str, body: Mapping[str, Any]) -> str | None:
        """Make a thing; return its id, or ``None`` where the server refuses it."""
        reply = self.target.request("POST", path, body)
        return str(reply.json["id"]) if reply.status == 201 else None

    def _is_final(self, job: str) -> bool:
        """Whether a job has ended, or is gone."""
        reply = self.target.request("GET", f"/v1/jobs/{job}")
        return reply.status != 200 or JobStatus(reply.json["status"]).is_final

    def _wait(self, is_ready: Callable[[], bool]) -> bool:
        """Wait until workers have done something, unless they failed to `MAX_TIMEOUTS` times."""
        until = time.monotonic() + SECONDS_TO_WAIT
        while self.timeouts < MAX_TIMEOUTS:
            if is_ready():
                return True
            if time.monotonic() > until:
                self.timeouts += 1
                return False
            time.sleep(SECONDS_BETWEEN_LOOKS)
        return False


Meeting: TypeAlias = "Callable[[Things, Any], Met | None]"
"""Returns what a call with this body is to meet, if it can be made."""


def _named(name: str, make: Callable[[Things], str | None], body: Any = None) -> Meeting:
    def meet(things: Things, _: Any) -> Met | None:
        made = make(things)
        return None if made is None else Met({name: made}, body)

    return meet


def _signal(things: Things, _: Any) -> Met | None:
    run = things.live_run()
    return None if run is None else Met({"id": run, "name": "word"})


def _backfill(things: Things, _: Any) -> Met | None:
    found = things.backfill()
    return None if found is None else Met({"id": found[0], "n": found[1]})


def _members(things: Things, given: Any) -> Met | None:
    batch = things.open_batch()
    jobs = given.get("jobs") if isinstance(given, dict) else None
    payloads = [one.get("payload") for one in jobs or () if isinstance(one, dict)] or [None]
    added = [{"handler": "echo", "payload": payload} for payload in payloads]
    return None if batch is None else Met({"id": batch}, {"first_index": 0, "jobs": added})


def _kept_slot(things: Things, _: Any) -> Met | None:
    job = things.dead_job("keep")
    return None if job is None else Met({"name": "kept"}, {"job_id": job})


def _paced(_: Things, __: Any) -> Met:
    return Met({"name": "paced"}, {})


MEETINGS: Mapping[tuple[str, str], Meeting] = {
    ("PATCH", "/v1/jobs/{id}"): _named("id", Things.waiting_job),
    ("POST", "/v1/jobs/{id}/run-now"): _named("id", Things.waiting_job),
    ("POST", "/v1/jobs/{id}/discard"): _named("id", Things.dead_job),
    ("POST", "/v1/jobs/{id}/redrive"): _named("id", Things.dead_job, {}),
    ("POST", "/v1/jobs/{id}/signals/{name}"): _signal,
    ("GET", "/v1/jobs/{id}/steps"): _named("id", Things.live_run),
    ("GET", "/v1/jobs/{id}/journal"): _named("id", Things.live_run),
    ("GET", "/v1/jobs/{id}/children"): _named("id", Things.live_run),
    ("POST", "/v1/callbacks/{token}/succeed"): _named("token", Things.open_token),
    ("POST", "/v1/callbacks/{token}/fail"): _named("token", Things.open_token),
    ("POST", "/v1/callbacks/{token}/heartbeat"): _named("token", Things.open_token),
    ("POST", "/v1/graphs/{id}/rerun"): _named("id", Things.ended_graph, {"from": ["a"]}),
    ("POST", "/v1/batches/{id}/jobs"): _members,
    ("POST", "/v1/batches/{id}/close"): _named("id", Things.open_batch, {}),
    ("POST", "/v1/schedules/{id}/backfills/{n}/pause"): _backfill,
    ("POST", "/v1/schedules/{id}/backfills/{n}/resume"): _backfill,
    ("POST", "/v1/schedules/{id}/backfills/{n}/cancel"): _backfill,
    ("POST", "/v1/limits/{name}/free"): _kept_slot,
    ("POST", "/v1/limits/{name}/retime"): _paced,
}
"""The routes whose calls by chance meet nothing that they could work on."""

STAND_INS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("POST", "/v1/handlers/{name}/pause"): dict.fromkeys(
        ("await", "echo", "give-up", "keep"), "pace"
    ),
    ("PUT", "/v1/limits/{name}"): {"kept": "shared"},
}
"""Which name a call gets instead of one whose jobs would wait from then on, so that no call of
`MEETINGS` could meet them."""
