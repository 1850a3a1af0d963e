"""What the contest says: the question that it answers, its targets, and its notes."""

from __future__ import annotations

from bench.peers import scenes
from bench.peers.table import Contest
from bench.peers.teams import CELERY, DRAMATIQ, EVENT_BRIDGE, HOURHAND, PROCESSES
from bench.targets import Target, at_most

ASKS = (
    "What does a job cost, and what becomes of it when things go wrong, beside what I would "
    "otherwise use on AWS?"
)
RUN_AGAIN_TIMEOUTS = 2.0
"""Within how many visibility timeouts the job of a killed worker of ours must run again."""


def targets(contest: Contest) -> list[Target]:
    """Return what ours must reach; what a peer reaches is told, not judged."""
    cost, hasty = contest.costs.get(HOURHAND), contest.hasty.get(HOURHAND)
    submitted = scenes.STEADY_JOBS + 1
    recorded = 0 if cost is None else cost.recorded
    delayed = 0 if hasty is None else max(hasty.delayed_runs, default=0)
    long_runs = (hasty.long_runs or 0) if hasty is not None else 0
    again = None if hasty is None else hasty.again_after
    is_recorded = hasty is not None and hasty.is_recorded_again is True
    judged = [
        _exactly("results of Hourhand's jobs on record", recorded, submitted),
        _exactly("runs of a job of Hourhand delayed beyond the visibility timeout", delayed, 1),
        _exactly("runs of a job of Hourhand longer than the visibility timeout", long_runs, 1),
        _exactly("results on record of the job whose worker was killed", int(is_recorded), 1),
    ]
    what = "its next run after the kill, in visibility timeouts"
    if again is None:
        return [*judged, _exactly(what, 0, 1)]
    timeouts = round(again / scenes.VISIBILITY_SECONDS, 2)
    return [*judged, at_most(what, timeouts, RUN_AGAIN_TIMEOUTS)]


def _exactly(what: str, reached: int, needed: int) -> Target:
    return {"what": what, "needed": str(needed), "reached": str(reached), "ok": reached == needed}


def notes(contest: Contest) -> list[str]:
    """Return how it was measured, what is simulated and what limits it."""
    versions = ", ".join(f"{name} {version}" for name, version in contest.versions.items())
    return [
        *_how(),
        f"Versions: {versions}. Celery acknowledges late and gives back what a lost process held, "
        "as its documentation advises; its queues are predefined, and it prefetches 64 a process "
        "for the many short jobs of the first rows, as that advises, too. dramatiq has its "
        "README's middleware, and a result backend for DynamoDB made here, as it brings none.",
        *_delays(contest),
        *_failing(contest),
        *contest.failures,
    ]


def _how() -> list[str]:
    return [
        f"{scenes.STEADY_JOBS} jobs are submitted one by one; then workers of {PROCESSES} "
        f"processes run them (dramatiq: 8 threads each; {EVENT_BRIDGE}: one, by a minimal "
        "consumer written for this). CPU and pace of the work are those of the last four fifths; "
        f"{EVENT_BRIDGE} has no pace, since the emulator fires its schedules every ten seconds. A "
        "proxy counts the calls; receives that bring nothing are in the idle row alone.",
        "Hourhand's CPU to submit is its API function's: whoever calls it makes one HTTP "
        "request. Its CPU to run holds the receiving and deleting that Lambda does in a "
        "deployment, a message at a time.",
        "Hourhand's extra calls are the job's item, its message's visibility, its claim and its "
        "end: it is stored before it is acknowledged and can be looked up, cancelled and moved "
        "until it has run; the others have it in a queue alone, and its result when it is over.",
        "The emulator, one process, limits the jobs a second, and the cores are shared with it: "
        "that row, like every other, is for comparing the columns of one run.",
        "Idle: Hourhand's worker polls three queues; in a deployment Lambda's pollers do, more "
        "often. Its scheduler ticks once a minute. dramatiq polls for a second at a time.",
    ]


def _delays(contest: Contest) -> list[str]:
    told = [
        f"Celery has its worker hold a delayed job in memory, its message unacknowledged; "
        f"dramatiq has SQS delay it, 15 minutes at most; {EVENT_BRIDGE} takes any time. Hourhand "
        "has SQS delay what is near, and keeps the rest.",
        f"{EVENT_BRIDGE} has no lateness here: the emulator looks every ten seconds, and AWS "
        "promises 60 s of precision (EventBridge Scheduler User Guide, Schedule types, seen "
        "November 2026). What follows its message is its consumer's, so it has no scene of "
        "visibility or kill.",
    ]
    patient = contest.patient.get(DRAMATIQ)
    if patient is not None and patient.day_refused:
        told.append(f"dramatiq refuses a day's delay: {patient.day_refused}")
    return told


def _failing(contest: Contest) -> list[str]:
    waits = contest.visibility_seconds
    return [
        f"In the last four rows every visibility timeout is {scenes.VISIBILITY_SECONDS} s "
        "(Hourhand's leases and heartbeats are scaled with it) and long polls last a second, as "
        "the emulator goes on with the poll of a client that was killed. Runs are counted "
        "until two timeouts after the first one's end. A new worker starts at once.",
        f"By default the job of a killed worker comes back when its timeout ends: after "
        f"{waits[CELERY]:,} s with Celery, {waits[DRAMATIQ]:,} s with dramatiq and "
        f"{waits[HOURHAND]} s with Hourhand, whose heartbeats let it be short.",
        f"With the short one the long job ran more than once with {_several(contest, 'long')}, "
        f"the delayed one with {_several(contest, 'delayed')}.",
    ]


def _several(contest: Contest, what: str) -> str:
    """Return who ran a job more than once that was to run once."""
    found = [
        name
        for name, seen in contest.hasty.items()
        if (max(seen.delayed_runs, default=0) if what == "delayed" else seen.long_runs or 0) > 1
    ]
    return " and ".join(sorted(found)) or "nobody"
