"""Lateness in simulated time: start of the first attempt minus the time the job was asked for.

The real services of API, scheduler and workers run over the memory stores, request by request and
side by side, in virtual time. AWS itself is simulated: its round trips, SQS's delays, how Lambda
scales an event source, cold starts and the jitter of the minute's rule; see `assumptions`.
Compared are scenes of one run: a steady load left alone, the same load with the leader killed in
every tick and with a million jobs far in the future, a burst, workers that are cold, and each way
to round a message's delay to whole seconds.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from bench.lateness.assumptions import (
    CLIENT_SECONDS,
    COLD_START_SECONDS,
    ROUND_TRIP_SECONDS,
    STRETCH_SECONDS,
    told,
)
from bench.lateness.figures import percentile, share_within, steps
from bench.lateness.play import Outcome, Start, play
from bench.lateness.scenes import (
    BURST,
    COLD,
    FAR,
    JOBS_A_SECOND,
    KILLED,
    LOST_TICKS,
    MINUTES,
    ROUNDED,
    SCENES,
    SEED,
    STEADY,
    WARM_UP_SECONDS,
)
from hourhand.settings import DelayRounding

BOUND_SECONDS = 1.0
ROUNDED_SECONDS = 0.5
"""By how much a job is late at most because its message's delay was rounded to nearest."""

COLD_SECONDS = COLD_START_SECONDS[1]
MOST_FOR_A_KILL_SECONDS = 0.1
MOST_GROWTH = 1.1
MOST_WAITED = 0.3
"""A quarter follows from even chance: half the fractions are rounded up, the others are half."""

PROCESSES = 2
LEAST_SHOWN = 0.01
"""Seconds at which the axis of a plot begins."""

COLUMNS = [
    "scene",
    "jobs",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "max ms",
    "% in 1 s",
    "dispatch p99",
    "dispatch max",
    "ours max",
    "workers p99",
    "waited",
    "ticks: led",
    "killed",
    "lost",
    "messages a job",
    "most workers",
]
ASKS = "How long after its time does a job start, and what do a dead leader and a burst add?"


def run() -> dict[str, Any]:
    """Play every scene in a process of its own, two at a time."""
    # Fresh ones: a scene leaves threads behind that wait for a turn which never comes.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context, max_tasks_per_child=1) as pool:
        outcomes = {one.scene.name: one for one in pool.map(play, SCENES)}
    must = _must(outcomes)
    return {
        "ok": all(one["ok"] for one in must),
        "asks": ASKS,
        "columns": COLUMNS,
        "rows": _rows(outcomes),
        "must": must,
        "notes": _notes(outcomes),
        "plots": _plots(outcomes),
        "seed": SEED,
        "assumptions": told(),
        "scenes": [_detail(one) for one in outcomes.values()],
    }


# --- the table ---


def _rows(outcomes: dict[str, Outcome]) -> list[list[Any]]:
    rows = [_row(one.scene.name, one.steady, one) for one in outcomes.values()]
    burst = outcomes[BURST.name]
    rows = [row for row in rows if row[0] != BURST.name]
    return [
        *rows,
        _row(f"burst of {BURST.burst:,} due in one second", burst.burst, burst),
        _row("beside the burst", burst.steady, burst),
    ]


def _row(name: str, starts: Sequence[Start], outcome: Outcome) -> list[Any]:
    late = [one.late for one in starts]
    dispatch = [max(0.0, one.visible) for one in starts]
    ends = outcome.ticks_by_end()
    return [
        name,
        len(starts),
        *(_milliseconds(percentile(late, share)) for share in (0.5, 0.95, 0.99, 1.0)),
        round(100 * share_within(late, BOUND_SECONDS), 2),
        _milliseconds(percentile(dispatch, 0.99)),
        _milliseconds(max(dispatch)),
        _milliseconds(max(0.0, *(one.asked for one in starts))),
        _milliseconds(percentile([one.after_visible for one in starts], 0.99)),
        round(outcome.waits_ms),
        ends["led"],
        ends["killed"],
        ends["lost"],
        round(outcome.messages / outcome.jobs, 3),
        outcome.most_used,
    ]


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _detail(outcome: Outcome) -> dict[str, Any]:
    """Return what is worth keeping of a scene beside its row."""
    led = [tick for tick in outcome.ticks if tick.end == "led"]
    return {
        "scene": outcome.scene.name,
        "jobs_a_second": outcome.scene.jobs_a_second,
        "minutes": outcome.scene.minutes,
        "jobs": outcome.jobs,
        "messages": outcome.messages,
        "cold_starts": outcome.cold_starts,
        "waited_ms_a_delayed_job": round(outcome.waits_ms, 1),
        "requests_a_whole_tick": round(sum(t.requests for t in led) / len(led)) if led else None,
        "seconds_a_whole_tick": round(sum(t.seconds for t in led) / len(led), 2) if led else None,
        "far_jobs_read": outcome.far_told,
        "warnings": outcome.warnings,
    }


# --- what is judged ---


def _must(outcomes: dict[str, Outcome]) -> list[dict[str, Any]]:
    steady, killed, far, cold = (
        _p99(outcomes[scene.name]) for scene in (STEADY, KILLED, FAR, COLD)
    )
    burst = outcomes[BURST.name].burst
    ours = max(one.asked for one in burst)
    dispatch = percentile([one.visible for one in burst], 0.99)
    ends = outcomes[KILLED.name].ticks_by_end()
    not_once = sum(one.not_once for one in outcomes.values())
    far_read = outcomes[FAR.name].far_told
    late = BOUND_SECONDS + ROUNDED_SECONDS
    return [
        *_must_round(outcomes),
        _target(
            "lateness p99, steady",
            f"< {late:g} s",
            f"{steady:.3f} s",
            ok=steady < late,
        ),
        _target(
            "the same, with the leader killed in each tick",
            f"< {late:g} s",
            f"{killed:.3f} s; {ends['killed']} killed, {ends['lost']} lost, {ends['led']} lived",
            ok=killed < late and ends["led"] == 0 < ends["killed"],
        ),
        _target(
            "what the kills add to the p99",
            f"<= {MOST_FOR_A_KILL_SECONDS:g} s",
            f"{killed - steady:+.3f} s",
            ok=killed - steady <= MOST_FOR_A_KILL_SECONDS,
        ),
        _target(
            "the same where workers are cold: what the cold starts add",
            f"<= {COLD_SECONDS:g} s",
            f"{cold - steady:+.3f} s, to {cold:.3f} s",
            ok=cold - steady <= COLD_SECONDS,
        ),
        _target(
            f"burst of {BURST.burst:,}: what our dispatch adds at most",
            f"<= {BOUND_SECONDS:g} s",
            f"{ours:.3f} s",
            ok=ours <= BOUND_SECONDS,
        ),
        _target(
            "the same and SQS's own stretch: p99 of the message's being visible after its time",
            f"<= {late:g} s",
            f"{dispatch:.3f} s",
            ok=dispatch <= late,
        ),
        _target(
            f"lateness p99 with {FAR.far:,} far jobs, to that without",
            f"<= {MOST_GROWTH:g}, none of them read",
            f"{far / steady:.3f}, {far_read} read",
            ok=far / steady <= MOST_GROWTH and far_read == 0,
        ),
        _target(
            "every job of every scene succeeds at its first attempt",
            "0 do not",
            f"{not_once} do not",
            ok=not_once == 0,
        ),
    ]


def _must_round(outcomes: dict[str, Outcome]) -> Iterator[dict[str, Any]]:
    """Yield what each rounding of the delays is chosen for."""
    for (rounding, is_exact), needed in {
        (DelayRounding.DOWN, False): BOUND_SECONDS,
        (DelayRounding.NEAREST, True): BOUND_SECONDS,
    }.items():
        reached = _p99(outcomes[ROUNDED[rounding, is_exact].name])
        yield _target(
            f"lateness p99, {ROUNDED[rounding, is_exact].name}",
            f"< {needed:g} s",
            f"{reached:.3f} s",
            ok=reached < needed,
        )
    waits = [
        max(outcomes[ROUNDED[rounding, is_exact].name].waits_ms for is_exact in (True, False))
        for rounding in (DelayRounding.DOWN, DelayRounding.NEAREST)
    ]
    yield _target(
        "what a worker waits for a delayed job, delays rounded to nearest, to rounded down",
        f"<= {MOST_WAITED:g}",
        f"{waits[1] / waits[0]:.2f} ({waits[1]:.0f} ms, {waits[0]:.0f} ms)",
        ok=waits[1] <= MOST_WAITED * waits[0],
    )


def _percent_late(outcome: Outcome) -> str:
    late = 1 - share_within([one.late for one in outcome.steady], BOUND_SECONDS)
    return f"{late * 100:.2f} %"


def _p99(outcome: Outcome) -> float:
    return percentile([one.late for one in outcome.steady], 0.99)


def _target(what: str, needed: str, reached: str, *, ok: bool) -> dict[str, Any]:
    return {"what": what, "needed": needed, "reached": reached, "ok": ok}


# --- words and pictures ---


def _notes(outcomes: dict[str, Outcome]) -> list[str]:
    burst = outcomes[BURST.name]
    last = max(one.late for one in burst.burst)
    return [
        "AWS is simulated. Hourhand's services are real, over the memory stores, request by "
        f"request in virtual time. The random seed is {SEED}.",
        f"Load: {JOBS_A_SECOND} jobs/s for {MINUTES} minutes. 75 % are submitted 5 to 15 minutes "
        "ahead (a tick sends them), 15 % within 5 minutes, 10 % are due at once. The first "
        f"{WARM_UP_SECONDS:g} s are left out, because an event source begins with five workers.",
        "All times are in ms. dispatch: from the due time until the message is visible in its "
        "queue; ours: the part of it that Hourhand causes, without SQS's inexact delay; workers: "
        "from visible to the start, which is Lambda's part. The start is the time in the job's "
        "record, read right before the claim.",
        "AWS does not publish how exactly SQS keeps a delay. The assumption is up to "
        f"{STRETCH_SECONDS:g} s too long, which is most of the lateness here; each rounding also "
        "has a scene with exact delays. Delays are rounded to nearest unless a scene says "
        "otherwise.",
        "waited: how long a worker sleeps inside its billed call for a job that was not due at "
        "once, on average, because the delay of its message was rounded down.",
        f"Cold: {outcomes[COLD.name].cold_starts} of {outcomes[COLD.name].jobs} workers had to "
        "start. A worker that starts needs "
        f"{COLD_START_SECONDS[0]:g} to {COLD_START_SECONDS[1]:g} s by assumption.",
        "Killed: each leader dies at a random request of its sweep, and the next tick is cold; "
        f"{LOST_TICKS * 100:g} % of the ticks are lost. The kills begin six minutes before the "
        "load, so no leader that lives reads a job. "
        f"{_percent_late(outcomes[KILLED.name])} of the jobs are more than "
        f"{BOUND_SECONDS:g} s late, steady {_percent_late(outcomes[STEADY.name])}: early "
        "kills in several sweeps in a row leave jobs unsent.",
        f"Burst: the last of {BURST.burst:,} starts {last:.0f} s after its time. The event "
        "source causes this: five workers at first, five more a second, at most 80 of medium; a "
        "worker holds one message and its handler takes 100 ms.",
        f"The {FAR.far:,} far jobs are generated when they are read, because storing them takes "
        "1.1 GB. Load and random seed are those of the steady scene, so equal figures mean that "
        "no far job was read.",
        f"A request takes {ROUND_TRIP_SECONDS * 1000:g} ms and {CLIENT_SECONDS * 1000:g} ms of "
        "Hourhand's CPU; 16 batches of a page run in parallel, as in the adapters. The result "
        "file has each assumption about AWS with its source.",
    ]


def _plots(outcomes: dict[str, Outcome]) -> list[dict[str, Any]]:
    alike = (STEADY, KILLED, FAR, COLD, ROUNDED[DelayRounding.DOWN, False])
    burst = outcomes[BURST.name].burst
    return [
        _plot(
            "lateness-simulated",
            "Jobs started within a time (simulated; up to 10 ms shown as 10 ms)",
            {
                s.name: steps([one.late for one in outcomes[s.name].steady], LEAST_SHOWN)
                for s in alike
            },
            log_x=True,
        ),
        _plot(
            "lateness-burst",
            f"A burst of {BURST.burst:,} due in one second (simulated)",
            {
                "message visible": steps([one.visible for one in burst]),
                "attempt started": steps([one.late for one in burst]),
            },
        ),
    ]


def _plot(
    name: str, title: str, series: dict[str, list[list[float]]], *, log_x: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "steps",
        "title": title,
        "x": "seconds after the job was due",
        "y": "share of the jobs",
        "log_x": log_x,
        "log_y": False,
        "series": series,
    }
