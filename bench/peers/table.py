"""The contest as a table: a row for each measure, a column for each contestant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.peers import scenes
from bench.peers.counting_proxy import EMPTY
from bench.peers.scenes import Hasty, Patient, Scheduled, Steady
from bench.peers.teams import CELERY, DRAMATIQ, EVENT_BRIDGE, HOURHAND
from bench.peers.world import Calls

NAMES = (HOURHAND, CELERY, DRAMATIQ, EVENT_BRIDGE)
NO = "no"
"""In a cell: it was not, or could not be, measured; a note says why."""

Cell = str | int | float
Costed = Steady | Scheduled

_SQS_WORDS = ("Message", "Queue")
_SCHEDULER = ("CreateSchedule",)
"""What goes to neither SQS nor DynamoDB."""


@dataclass(slots=True)
class Contest:
    """All that was seen, by contestant. ``tick_calls``: of one idle tick of our scheduler."""

    costs: dict[str, Costed] = field(default_factory=dict)
    patient: dict[str, Patient] = field(default_factory=dict)
    hasty: dict[str, Hasty] = field(default_factory=dict)
    tick_calls: Calls = field(default_factory=Calls)
    visibility_seconds: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def rows(contest: Contest) -> list[list[Cell]]:
    """Return the table's rows."""
    return [[what, *(_cell(read, contest, name) for name in NAMES)] for what, read in ROWS.items()]


def _cell(read: Callable[[Contest, str], Cell | None], contest: Contest, name: str) -> Cell:
    try:
        cell = read(contest, name)
    except KeyError:
        # The scene was not played.
        return NO
    return NO if cell is None else cell


def calls_to_submit(contest: Contest, name: str) -> float:
    """Return the calls that submit a job."""
    cost = contest.costs[name]
    return round(cost.submit_calls.total() / cost.jobs, 2)


def calls_to_work(contest: Contest, name: str) -> float:
    """Return the calls that run a job and record its result, polls that brought nothing aside."""
    return round(_work(contest.costs[name]).total() / contest.costs[name].worked, 2)


def _work(cost: Costed) -> Calls:
    return Calls({name: n for name, n in cost.work_calls.items() if not name.endswith(EMPTY)})


def _to_sqs(contest: Contest, name: str) -> float:
    return _of_both(contest.costs[name], _is_sqs)


def _to_dynamodb(contest: Contest, name: str) -> float:
    return _of_both(contest.costs[name], lambda one: not _is_sqs(one) and one not in _SCHEDULER)


def _of_both(cost: Costed, counts: Callable[[str], bool]) -> float:
    """Return the calls a job, of submitting and of working, that ``counts`` chooses."""
    submitting = sum(n for one, n in cost.submit_calls.items() if counts(one))
    working = sum(n for one, n in _work(cost).items() if counts(one))
    return round(submitting / cost.jobs + working / cost.worked, 2)


def _is_sqs(operation: str) -> bool:
    return any(word in operation for word in _SQS_WORDS)


def _idle(contest: Contest, name: str) -> float:
    seen = contest.costs[name] if name == EVENT_BRIDGE else contest.patient[name]
    assert not isinstance(seen, Steady)
    return round(seen.idle_calls.total() * 60 / scenes.IDLE_SECONDS, 1)


def _scheduler(contest: Contest, name: str) -> Cell | None:
    if name != HOURHAND:
        return "none"
    return contest.tick_calls.total() or None


def _idle_cpu(contest: Contest, name: str) -> float:
    return _milliseconds(contest.patient[name].idle_cpu * 60 / scenes.IDLE_SECONDS)


def _submit_pace(contest: Contest, name: str) -> float | None:
    cost = contest.costs[name]
    return round(cost.submitted_a_second, 1) if isinstance(cost, Steady) else None


def _work_pace(contest: Contest, name: str) -> float | None:
    cost = contest.costs[name]
    return round(cost.worked_a_second, 1) if isinstance(cost, Steady) else None


def _recorded(contest: Contest, name: str) -> str:
    cost = contest.costs[name]
    return f"{cost.recorded} of {cost.worked}"


def _late(contest: Contest, name: str) -> float:
    return _milliseconds(scenes.middle(contest.patient[name].lateness))


def _latest(contest: Contest, name: str) -> float:
    return _milliseconds(contest.patient[name].lateness[-1])


def _day(contest: Contest, name: str) -> str:
    seen = contest.costs[name] if name == EVENT_BRIDGE else contest.patient[name]
    assert not isinstance(seen, Steady)
    return "refused" if seen.day_refused else "taken"


def _delayed_runs(contest: Contest, name: str) -> int | None:
    return max(contest.hasty[name].delayed_runs, default=None)


def _again(contest: Contest, name: str) -> float | None:
    after = contest.hasty[name].again_after
    return None if after is None else round(after, 1)


def _recorded_again(contest: Contest, name: str) -> str | None:
    is_so = contest.hasty[name].is_recorded_again
    return {True: "yes", False: "LOST", None: None}[is_so]


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)


ROWS: Mapping[str, Callable[[Contest, str], Cell | None]] = {
    "AWS calls to submit a job": calls_to_submit,
    "AWS calls to run it and record its result": calls_to_work,
    "· of both, to SQS": _to_sqs,
    "· of both, to DynamoDB": _to_dynamodb,
    "AWS calls of an idle worker, a minute": _idle,
    "AWS calls of a scheduler with nothing to do, a minute": _scheduler,
    "CPU to submit a job, ms": lambda c, name: _milliseconds(c.costs[name].submit_cpu),
    "CPU to run it, ms": lambda c, name: _milliseconds(c.costs[name].work_cpu),
    "CPU of an idle worker, ms a minute": _idle_cpu,
    "jobs submitted a second": _submit_pace,
    "jobs run a second": _work_pace,
    "results on record": _recorded,
    "delayed by 5 or 10 s: late by, ms (median)": _late,
    "· at most": _latest,
    "a delay of one day": _day,
    "visibility timeout by default, s": lambda c, name: c.visibility_seconds[name],
    "runs of a job delayed by 2.5 timeouts": _delayed_runs,
    "runs of a job that lasts 1.75 timeouts": lambda c, name: c.hasty[name].long_runs,
    "worker killed: its job runs again after, s": _again,
    "· and its result is recorded": _recorded_again,
}


def plots(contest: Contest) -> list[dict[str, Any]]:
    """Return what is worth a picture."""
    costed = [name for name in NAMES if name in contest.costs]
    late = [name for name in NAMES if name in contest.patient]
    return [
        _bars(
            "peers-calls",
            "AWS calls a job",
            "calls",
            {
                "submit": [[name, calls_to_submit(contest, name)] for name in costed],
                "run and record": [[name, calls_to_work(contest, name)] for name in costed],
            },
        ),
        _bars(
            "peers-lateness",
            "Lateness of jobs delayed by 5 and 10 s",
            "ms",
            {
                "median": [[name, _late(contest, name)] for name in late],
                "at most": [[name, _latest(contest, name)] for name in late],
            },
        ),
    ]


def _bars(
    name: str, title: str, unit: str, series: Mapping[str, Sequence[list[Any]]]
) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "bars",
        "title": title,
        "x": "",
        "y": unit,
        "log_x": False,
        "log_y": False,
        "series": series,
    }
