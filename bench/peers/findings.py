"""What the contest says: the question that it answers, its targets, and its notes."""

from __future__ import annotations

from bench.peers import scenes
from bench.peers.table import Contest
from bench.peers.teams import CELERY, DRAMATIQ, EVENT_BRIDGE, HOURHAND, PROCESSES
from bench.targets import Target, at_most

ASKS = (
    "What does a job cost, and what happens to it after failures, compared with other systems "
    "on AWS?"
)
RUN_AGAIN_TIMEOUTS = 2.0
"""Within how many visibility timeouts the job of a killed worker of ours must run again."""


def targets(contest: Contest) -> list[Target]:
    """Return what Hourhand must reach; the results of a peer are listed, not judged."""
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
        f"Versions: {versions}. As its documentation advises, Celery acknowledges late, returns "
        "the jobs of a lost process and, for the many short jobs of the first rows, prefetches 64 "
        "per process; its queues are predefined. dramatiq has the middleware of its README, and a "
        "result backend for DynamoDB that was written for this benchmark.",
        *_delays(contest),
        *_failing(contest),
        *contest.failures,
    ]


def _how() -> list[str]:
    return [
        f"{scenes.STEADY_JOBS} jobs are submitted one by one; then workers of {PROCESSES} "
        f"processes run them (dramatiq: 8 threads each; {EVENT_BRIDGE}: one, by a minimal "
        "consumer written for this). CPU and speed are those of the last four fifths; "
        f"{EVENT_BRIDGE} has no speed, because the emulator starts its schedules every ten "
        "seconds. A proxy counts the calls; only the idle row counts empty receives.",
        "Hourhand's CPU to submit is that of its API function; the client makes one HTTP request. "
        "Its CPU to run includes receiving and deleting one message at a time, which Lambda does "
        "in a deployment.",
        "Hourhand's additional calls are the job's item, its message's visibility, its claim and "
        "its end. It stores a job before it acknowledges it, and you can look it up, cancel and "
        "reschedule it until it has run. The others keep the job only in a queue, and its result "
        "at the end.",
        "The emulator is one process, shares the cores and limits the jobs per second. Compare "
        "only the columns of one run, in that row as in every other.",
        "Idle: Hourhand's worker polls three queues; in a deployment Lambda's pollers do so, more "
        "often. Its scheduler ticks once a minute. dramatiq's long polls last one second.",
    ]


def _delays(contest: Contest) -> list[str]:
    told = [
        f"A Celery worker holds a delayed job in memory, with its message unacknowledged. dramatiq "
        f"uses SQS's delay, at most 15 minutes; {EVENT_BRIDGE} accepts any time. Hourhand uses "
        "SQS's delay for jobs that are due soon, and stores the others.",
        f"{EVENT_BRIDGE} has no lateness here: the emulator checks every ten seconds, and AWS "
        "states a precision of 60 s (EventBridge Scheduler User Guide, Schedule types, November "
        "2026). Its consumer handles the message, so it has no rows for visibility or kills.",
    ]
    patient = contest.patient.get(DRAMATIQ)
    if patient is not None and patient.day_refused:
        told.append(f"dramatiq refuses a day's delay: {patient.day_refused}")
    return told


def _failing(contest: Contest) -> list[str]:
    waits = contest.visibility_seconds
    return [
        f"In the last four rows every visibility timeout is {scenes.VISIBILITY_SECONDS} s "
        "(Hourhand's leases and heartbeats are scaled with it) and long polls last a second, "
        "because the emulator continues the poll of a killed client. Runs are counted until two "
        "timeouts after the end of the first one. A new worker starts at once.",
        f"By default the job of a killed worker is redelivered when its timeout ends: after "
        f"{waits[CELERY]:,} s with Celery, {waits[DRAMATIQ]:,} s with dramatiq and "
        f"{waits[HOURHAND]} s with Hourhand, whose heartbeats allow a short one.",
        f"With the short timeout the long job ran more than once with {_several(contest, 'long')}, "
        f"the delayed one with {_several(contest, 'delayed')}.",
    ]


def _several(contest: Contest, what: str) -> str:
    """Return who ran a job more than once that was to run once."""
    found = [
        name
        for name, seen in contest.hasty.items()
        if (max(seen.delayed_runs, default=0) if what == "delayed" else seen.long_runs or 0) > 1
    ]
    return " and ".join(sorted(found)) or "none of them"
