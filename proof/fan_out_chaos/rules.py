"""What must hold for a fan-out: pure rules over what was seen of it from outside."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proof.fan_out_chaos.fan_outs import FanOut
from proof.fan_out_chaos.handlers import CALLBACK, CHILD, ON_FAILURE

NAMED = 5
"""How many of many are named in a violation."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the ledger: a child or a callback ran."""

    what: str
    run: str
    name: str
    job_id: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A fan-out after its end.

    ``job``: its run, by the API. ``ends``: how each child ended, by its index, as the run's journal
    counts it. ``callbacks``: their jobs by the names of the calls. ``lines``: its own lines of the
    ledger, in their order.
    """

    fan_out: FanOut
    job: Mapping[str, Any]
    ends: Mapping[str, int]
    callbacks: Mapping[str, Mapping[str, Any]]
    lines: Sequence[Line]


def read_ledger(text: str) -> dict[str, list[Line]]:
    """Return the lines of each run, in their order."""
    found: dict[str, list[Line]] = defaultdict(list)
    for line in text.splitlines():
        one = Line(*line.split(" "))
        found[one.run].append(one)
    return found


def violations(seen: Seen) -> list[str]:
    """Return each rule that a fan-out broke."""
    found = [*_of_run(seen), *_of_children(seen), *_of_callbacks(seen), *_of_order(seen)]
    return [f"{seen.fan_out.run} ({seen.fan_out.kind.value}): {one}" for one in found]


def repeated(lines: Iterable[Line], what: str) -> int:
    """Return how many children, or callbacks, ran more than once."""
    counts = Counter((line.run, line.name) for line in lines if line.what == what)
    return sum(times > 1 for times in counts.values())


def _of_run(seen: Seen) -> Iterable[str]:
    wanted, job = seen.fan_out, seen.job
    if job["status"] != wanted.status:
        yield f"the run is {job['status']}, not {wanted.status}: {job.get('error')}"
    elif job.get("result") != wanted.result:
        yield f"the run returned {str(job.get('result'))[:200]}"
    counted = {index: code > 0 for index, code in seen.ends.items()}
    expected = {str(n): n in wanted.failing for n in range(wanted.children)}
    if counted != expected:
        wrong = [n for n in expected if counted.get(n) != expected[n]]
        more = sorted(counted.keys() - expected.keys())
        yield (
            f"the run counts {len(counted)} ends of {wanted.children} children; "
            f"wrong: {wrong[:NAMED]}, unknown: {more[:NAMED]}"
        )


def _of_children(seen: Seen) -> Iterable[str]:
    jobs = _jobs_of(seen.lines, CHILD)
    missing = [str(n) for n in range(seen.fan_out.children) if str(n) not in jobs]
    if missing:
        yield f"{len(missing)} children never ran: {missing[:NAMED]}"
    doubled = [name for name, ids in jobs.items() if len(ids) > 1]
    if doubled:
        yield f"{len(doubled)} children exist more than once: {doubled[:NAMED]}"


def _of_callbacks(seen: Seen) -> Iterable[str]:
    jobs, wanted = _jobs_of(seen.lines, CALLBACK), seen.fan_out.callbacks
    for name in sorted(wanted - jobs.keys()):
        yield f"the callback {name} is lost"
    for name in sorted(jobs.keys() - wanted):
        yield f"the callback {name} ran, and must not"
    for name, ids in sorted(jobs.items()):
        if len(ids) > 1:
            yield f"the callback {name} exists {len(ids)} times"
    for name, job in sorted(seen.callbacks.items()):
        successes = sum(one["outcome"] == "SUCCEEDED" for one in job["attempts"])
        if job["status"] != "SUCCEEDED" or successes != 1:
            yield f"the callback {name} is {job['status']}, and succeeded {successes} times"


def _of_order(seen: Seen) -> Iterable[str]:
    """A callback follows all children, but for the one that follows the first failure."""
    running = {str(n) for n in range(seen.fan_out.children)}
    for line in seen.lines:
        if line.what == CHILD:
            running.discard(line.name)
        elif line.name != ON_FAILURE and running:
            yield f"the callback {line.name} ran before {len(running)} children"
            return


def _jobs_of(lines: Iterable[Line], what: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        if line.what == what:
            found[line.name].add(line.job_id)
    return found
