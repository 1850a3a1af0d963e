"""The previous version of the functions and the present one work on the same tables at once.

Real processes, real entry points, real time; the previous version is the wheel in ``previous/``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.upgrade.versions_rig import NEW, OLD, SideBySide, side_by_side

WAIT_SECONDS = 90.0
LOOK_SECONDS = 0.05
FIRES = 3
LARGE = "x" * 2000
BOTH = (OLD, NEW)

HANDLERS = """
import os
from hourhand import NotRetryable, Retry, job

def note(ctx, payload):
    with open(os.environ["EFFECTS"], "a") as effects:
        effects.write(payload + "\\n")

@job("greet")
def greet(ctx, payload):
    note(ctx, payload["name"])
    return {"greeted": payload["name"], "attempt": ctx.attempt}

@job("flaky", retry=Retry(max_attempts=3, base_seconds=0.2))
def flaky(ctx, payload):
    if ctx.attempt == 1:
        raise RuntimeError("the first time always fails")
    assert ctx.last_error.message == "the first time always fails"
    return greet(ctx, payload)

@job("die")
def die(ctx, payload):
    raise NotRetryable("never")

@job("crash")
def crash(ctx, payload):
    if ctx.attempt == 1:
        os._exit(1)
    return greet(ctx, payload)
"""


@pytest.fixture(scope="module")
def effects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("effects") / "effects"
    path.touch()
    return path


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory, effects: Path) -> Iterator[SideBySide]:
    folder = tmp_path_factory.mktemp("side-by-side")
    with side_by_side(folder, HANDLERS, {"EFFECTS": str(effects)}) as running:
        yield running


@dataclass
class Work:
    """What was submitted, and what must become of it: state and number of attempts by job id."""

    rig: SideBySide
    label: str
    expected: dict[str, tuple[str, int]] = field(default_factory=dict)
    greeted: list[str] = field(default_factory=list)

    def submit(self, by: str, ends: str, attempts: int, **body: Any) -> str:
        """Submit a job of that name by the API of a version."""
        name = f"{self.label} {body.get('handler')} {len(self.expected)}"
        status, job = self.rig.ask(
            by, "POST", "/v1/jobs", {"payload": {"name": name, "large": LARGE}, **body}
        )
        assert status in {201, 202}, job
        self.expected[job["id"]] = (ends, attempts)
        if ends == "SUCCEEDED":
            self.greeted.append(name)
        return str(job["id"])

    def submit_all(self, by: str, other: str) -> None:
        """Submit one of each by the API of a version; its twin is asked by ``other``."""
        self.submit(by, "SUCCEEDED", 1, handler="greet")
        self.submit(by, "SUCCEEDED", 1, handler="greet", delay_seconds=2.5)
        self.submit(by, "SUCCEEDED", 2, handler="flaky")
        self.submit(by, "SUCCEEDED", 2, handler="crash")
        self.submit(by, "DEAD", 1, handler="die")
        cancelled = self.submit(by, "CANCELLED", 0, handler="greet", delay_seconds=600)
        status, job = self.rig.ask(other, "POST", f"/v1/jobs/{cancelled}/cancel")
        assert (status, job["status"]) == (200, "CANCELLED")
        key = {"handler": "greet", "idempotency_key": f"{self.label} {by}", "delay_seconds": 1}
        body = {**key, "payload": {"name": f"{self.label} key {by}"}}
        first, again = (self.rig.ask(api, "POST", "/v1/jobs", body)[1] for api in (by, other))
        assert first["id"] == again["id"]
        self.expected[first["id"]] = ("SUCCEEDED", 1)
        self.greeted.append(f"{self.label} key {by}")
        self.put_schedule(by, "allow" if by == OLD else "buffer_all")

    def put_schedule(self, by: str, overlap: str) -> None:
        """Put a schedule that fires some times, a second apart."""
        name = f"{self.label}-{by}"
        body = {
            "expression": "rate(1 second)",
            "handler": "greet",
            "payload": {"name": name},
            "max_occurrences": FIRES,
            "overlap": overlap,
            "misfire": {"policy": "all", "window_seconds": 3600},
        }
        status, schedule = self.rig.ask(by, "PUT", f"/v1/schedules/{name}", body)
        assert status == 201, schedule
        self.greeted += [name] * FIRES

    def unfinished(self, by: str) -> dict[str, Any]:
        """Return what is not as expected yet, beside what is expected."""
        became = self.what_became(by)
        return {i: (became[i], self.expected[i]) for i in became if became[i] != self.expected[i]}

    def what_became(self, by: str) -> dict[str, tuple[str, int]]:
        """Return state and attempts of every job, as the API of a version tells them."""
        found = {}
        for job_id in self.expected:
            status, job = self.rig.ask(by, "GET", f"/v1/jobs/{job_id}")
            assert status == 200, job
            found[job_id] = (job["status"], job["attempt"])
        return found


def work_off(
    rig: SideBySide, work: Work, schedulers: Sequence[str], workers: Sequence[str], effects: Path
) -> None:
    """Tick and deliver, by the versions in turn, until all ended as it should, or too long."""
    until = time.monotonic() + WAIT_SECONDS
    for turn in range(100_000):
        rig.tick(schedulers[turn % len(schedulers)])
        delivered = rig.deliver(workers[turn % len(workers)])
        if delivered == 0 and not missing(work, effects) and not work.unfinished(NEW):
            return
        assert time.monotonic() < until, (work.unfinished(NEW), missing(work, effects))
        if delivered == 0:
            time.sleep(LOOK_SECONDS)


def missing(work: Work, effects: Path) -> Counter[str]:
    return Counter(work.greeted) - Counter(effects.read_text().splitlines())


@pytest.mark.parametrize(
    ("schedulers", "workers"),
    [((OLD,), (NEW,)), ((NEW,), (OLD,)), (BOTH, BOTH)],
    ids=["old-scheduler-new-worker", "new-scheduler-old-worker", "both-of-each"],
)
def test_two_versions_work_side_by_side(
    rig: SideBySide, effects: Path, schedulers: Sequence[str], workers: Sequence[str]
) -> None:
    work = Work(rig, "_".join([*schedulers, "to", *workers]))
    work.submit_all(OLD, NEW)
    work.submit_all(NEW, OLD)
    work_off(rig, work, schedulers, workers, effects)
    # Each was run as often as it should, and no more; both versions tell the same of it.
    label = work.label
    done = [line for line in effects.read_text().splitlines() if line.startswith(label)]
    assert Counter(done) == Counter(work.greeted)
    assert work.what_became(OLD) == work.expected
    dead = {job_id for job_id, (ends, _) in work.expected.items() if ends == "DEAD"}
    told = {letter["job"]["id"] for letter in rig.dead_letters()}
    assert told & set(work.expected) == dead
    for api in BOTH:
        status, page = rig.ask(api, "GET", f"/v1/schedules/{label}-{OLD}/occurrences")
        assert status == 200
        assert len(page["occurrences"]) == FIRES, page
