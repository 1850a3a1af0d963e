"""The judge of the chaos finds each kind of wrong that is planted in its evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hourhand.domain.jobs.job import EventKind, HistoryEvent, JobStatus
from proof.chaos.clocks import SWEEP
from proof.chaos.evidence import (
    Cancel,
    Commit,
    Ending,
    Evidence,
    Fault,
    Kind,
    Promise,
    Tick,
    Trouble,
)
from proof.chaos.ledger import End, Run, read_runs
from proof.chaos.plan import chaos_timings
from proof.chaos.rules import judge
from proof.chaos.rules_of_runs import Verdict, overlaps
from proof.chaos.story import story_of

DUE = 1_800_000_000.0
TIMINGS = chaos_timings()
LEASE = TIMINGS.job_lease.total_seconds()
PID, OTHER_PID, THIRD_PID, SCHEDULER_PID = 101, 102, 103, 104
NAMES = {
    PID: "worker-1",
    OTHER_PID: "worker-2",
    THIRD_PID: "worker-3",
    SCHEDULER_PID: "scheduler-1",
}


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(DUE + seconds, UTC)


def event(kind: EventKind, seconds: float, attempt: int, status: JobStatus) -> HistoryEvent:
    return HistoryEvent(
        kind=kind,
        at=at(seconds),
        status=status,
        actor=f"w-{attempt}",
        attempt=attempt,
        token=attempt,
    )


def claimed(seconds: float, attempt: int) -> HistoryEvent:
    return event(EventKind.CLAIMED, seconds, attempt, JobStatus.RUNNING)


def lost(seconds: float, attempt: int) -> HistoryEvent:
    return replace(event(EventKind.LOST, seconds, attempt, JobStatus.RETRYING), actor=SWEEP)


def succeeded(seconds: float, attempt: int) -> HistoryEvent:
    return event(EventKind.SUCCEEDED, seconds, attempt, JobStatus.SUCCEEDED)


def a_run(  # what a ledger tells of a run, by the seconds after the job was due
    number: int, begin: float, end: float | None, how: End | None, *, job: str = "j", pid: int = PID
) -> Run:
    return Run(
        id=f"run-{number}",
        job_id=job,
        attempt=number,
        pid=pid,
        began_at=DUE + begin,
        ended_at=None if end is None else DUE + end,
        how=how,
    )


def good() -> Evidence:
    """A job whose first run died with its process, and whose second, after the lease, returned."""
    history = (
        claimed(0.05, 1),
        lost(LEASE + 2, 1),
        claimed(LEASE + 2.05, 2),
        succeeded(LEASE + 3, 2),
    )
    ending = Ending(
        status=JobStatus.SUCCEEDED,
        claims=2,
        history=history,
        result_run="run-2",
        finished_at=DUE + LEASE + 3,
    )
    return Evidence(
        timings=TIMINGS,
        promises={"j": Promise(job_id="j", kind=Kind.IMMEDIATE, run_at=DUE)},
        endings={"j": ending},
        runs=[
            a_run(1, 0.1, 1.0, End.DIED),
            a_run(2, LEASE + 2.1, LEASE + 2.9, End.RETURNED, pid=OTHER_PID),
        ],
        commits=[Commit(job_id="j", attempt=2, outcome="SUCCEEDED", worker="worker-2")],
        faults=[kill(1.0)],
        names=NAMES,
        settled={"j": ending},
    )


def kill(seconds: float) -> Fault:
    moment = DUE + seconds
    return Fault(trouble=Trouble.KILL, name="worker-1", pid=PID, began_at=moment, ended_at=moment)


def wrong_clock(name: str, begin: float, end: float, seconds: float) -> Fault:
    return Fault(
        trouble=Trouble.CLOCK,
        name=name,
        pid=0,
        began_at=DUE + begin,
        ended_at=DUE + end,
        seconds=seconds,
    )


def pause(begin: float, end: float) -> Fault:
    return Fault(
        trouble=Trouble.PAUSE, name="worker-1", pid=PID, began_at=DUE + begin, ended_at=DUE + end
    )


def with_ending(**changes: object) -> Callable[[Evidence], Evidence]:
    def change(evidence: Evidence) -> Evidence:
        ending = replace(evidence.endings["j"], **changes)  # type: ignore[arg-type]
        return replace(evidence, endings={"j": ending}, settled={})

    return change


def with_promise(**changes: object) -> Callable[[Evidence], Evidence]:
    def change(evidence: Evidence) -> Evidence:
        return replace(evidence, promises={"j": replace(evidence.promises["j"], **changes)})  # type: ignore[arg-type]

    return change


def with_runs(*runs: Run) -> Callable[[Evidence], Evidence]:
    return lambda evidence: replace(evidence, runs=list(runs))


def with_commits(*commits: tuple[int, str]) -> Callable[[Evidence], Evidence]:
    told = [Commit(job_id="j", attempt=a, outcome=o, worker="w") for a, o in commits]
    return lambda evidence: replace(evidence, commits=told)


def cancelled_before(answered: JobStatus) -> Callable[[Evidence], Evidence]:
    cancel = Cancel(answered_at=DUE - 1, status=answered)
    return with_promise(kind=Kind.CANCELLED, cancel=cancel)


def audited(verdict: str, *, led: bool, seconds: float) -> Callable[[Evidence], Evidence]:
    tick = Tick(name="scheduler-1", began_at=DUE, ended_at=DUE + 1, led=led, verdict=verdict)
    fault = wrong_clock("scheduler-1", -5, 20, seconds)
    return lambda evidence: replace(evidence, runs=[], ticks=[tick], faults=[fault])


SECOND = a_run(2, LEASE + 2.1, LEASE + 2.9, End.RETURNED, pid=OTHER_PID)
FIRST = a_run(1, 0.1, 1.0, End.DIED)

PLANTED: dict[str, tuple[str, Callable[[Evidence], Evidence]]] = {
    "the table has no such job": ("lost", lambda e: replace(e, endings={}, settled={})),
    "the job never ends": ("lost", with_ending(status=JobStatus.RETRYING)),
    "nobody ran what succeeded": ("lost", with_runs(a_run(1, 0.1, 1.0, End.DIED))),
    "a job that must succeed is dead": ("ending", with_ending(status=JobStatus.DEAD)),
    "a cancelled job succeeds": ("ending", cancelled_before(JobStatus.CANCELLED)),
    "a hopeless job has an attempt too many": (
        "ending",
        lambda e: with_promise(kind=Kind.HOPELESS)(with_ending(status=JobStatus.DEAD, claims=4)(e)),
    ),
    "a job is dead as lost that never was": (
        "ending",
        lambda e: with_promise(kind=Kind.ONCE)(
            with_ending(status=JobStatus.DEAD, claims=1, history=(claimed(0.05, 1),))(e)
        ),
    ),
    "two workers commit success": ("commit", with_commits((1, "SUCCEEDED"), (2, "SUCCEEDED"))),
    "two workers commit one attempt": ("commit", with_commits((1, "FAILED"), (1, "FAILED"))),
    "a success was committed and is not there": (
        "commit",
        with_ending(status=JobStatus.DEAD),
    ),
    "the result is of a run that died": ("commit", with_ending(result_run="run-1")),
    "an owner whose lease was lost commits": (
        "commit",
        with_ending(
            history=(claimed(0.05, 1), lost(LEASE + 2, 1), succeeded(LEASE + 2.5, 1)),
        ),
    ),
    "an attempt ends twice": (
        "commit",
        with_ending(
            history=(
                claimed(0.05, 1),
                lost(LEASE + 2, 1),
                event(EventKind.FAILED, LEASE + 2.1, 1, JobStatus.RETRYING),
                succeeded(LEASE + 3, 2),
            ),
        ),
    ),
    "the old owner ends its attempt under the new one": (
        "commit",
        with_ending(
            history=(
                claimed(0.05, 1),
                claimed(LEASE + 2, 2),
                event(EventKind.FAILED, LEASE + 2.1, 1, JobStatus.RETRYING),
                succeeded(LEASE + 3, 2),
            ),
        ),
    ),
    "the result is another attempt's": (
        "commit",
        with_runs(FIRST, replace(SECOND, attempt=1)),
    ),
    "the result is of no run": ("commit", with_ending(result_run=None)),
    "the second run begins beside the first": (
        "overlap",
        with_runs(a_run(1, 0.1, LEASE + 4, End.RAISED), SECOND),
    ),
    "a run without an end has company": ("overlap", with_runs(a_run(1, 0.1, None, None), SECOND)),
    "the first run is early": ("early", with_runs(a_run(1, -0.2, 1.0, End.DIED), SECOND)),
    "a snoozed job comes back too soon": (
        "early",
        lambda e: with_runs(
            replace(FIRST, ended_at=DUE + 1, how=End.SNOOZED, snooze_seconds=LEASE + 5), SECOND
        )(
            with_ending(
                history=(
                    claimed(0.05, 1),
                    event(EventKind.SNOOZED, 1.0, 1, JobStatus.RETRYING),
                    claimed(LEASE + 2, 1),
                    succeeded(LEASE + 3, 1),
                )
            )(e)
        ),
    ),
    "it ran oftener than it was claimed": (
        "repeat",
        with_runs(FIRST, a_run(3, 2.0, 2.5, End.RAISED), SECOND),
    ),
    "it ran again and nothing says why": (
        "repeat",
        with_ending(history=(claimed(0.05, 1), succeeded(LEASE + 3, 2))),
    ),
    "it ran again before the end on record": (
        "repeat",
        with_ending(history=(claimed(0.05, 1), lost(LEASE + 9, 1), succeeded(LEASE + 10, 2))),
    ),
    "what must not run twice does": ("repeat", with_promise(kind=Kind.ONCE)),
    "an attempt is lost before its lease is over": (
        "lease",
        with_ending(history=(claimed(0.05, 1), lost(2.0, 1), succeeded(LEASE + 3, 2))),
    ),
    "a cancelled job runs": ("cancel", cancelled_before(JobStatus.CANCELLED)),
    "a job that was asked to stop runs again": ("cancel", cancelled_before(JobStatus.RUNNING)),
    "what was final changes": (
        "final",
        lambda e: replace(e, settled={"j": replace(e.endings["j"], status=JobStatus.DEAD)}),
    ),
    "a success is written twice": (
        "final",
        lambda e: replace(e, settled={"j": replace(e.endings["j"], result_run="run-1")}),
    ),
    "a dead job has no letter": ("dead letter", with_ending(status=JobStatus.DEAD)),
    "a letter is sent of a job that lives": (
        "dead letter",
        lambda e: replace(e, dead_letters={"j": 1}),
    ),
    "somebody runs that nobody asked for": (
        "stranger",
        lambda e: replace(e, runs=[*e.runs, a_run(1, 1, 2, End.RETURNED, job="k")]),
    ),
    "a clock that is far off leads": ("audit", audited("fine", led=True, seconds=240)),
    "a clock that is far off leads with care": ("audit", audited("widen", led=True, seconds=-240)),
    "a clock that is off is thought right": ("audit", audited("fine", led=True, seconds=3)),
    "a nominal time is missing": (
        "schedule",
        lambda e: replace(e, other_problems=["nothing came of noon"]),
    ),
}


def test_a_job_that_was_lost_with_its_worker_and_then_ran_breaks_no_rule() -> None:
    assert judge(good()) == []


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_planted_is_found(planted: str) -> None:
    rule, plant = PLANTED[planted]

    found = judge(plant(good()))

    assert rule in {violation.rule for violation in found}


def test_an_owner_that_was_paused_past_its_lease_may_overlap_with_the_next() -> None:
    evidence = with_runs(a_run(1, 0.1, LEASE + 4, End.RAISED), SECOND)(good())
    evidence = replace(evidence, faults=[pause(0.5, LEASE + 3)])

    assert [one.verdict for one in overlaps(evidence)] == [Verdict.PAUSED]
    assert judge(evidence) == []


def test_a_short_pause_excuses_no_overlap() -> None:
    evidence = with_runs(a_run(1, 0.1, LEASE + 4, End.RAISED), SECOND)(good())
    evidence = replace(evidence, faults=[pause(0.5, 2.0)])

    assert [violation.rule for violation in judge(evidence)] == ["overlap"]


def test_a_worker_may_be_early_by_what_its_clock_is_ahead_and_no_more() -> None:
    early = with_runs(a_run(1, -3.0, 1.0, End.DIED), SECOND)(good())

    ahead = replace(early, faults=[wrong_clock("worker-1", -10, 0, 3.5)])
    too_early = replace(early, faults=[wrong_clock("worker-1", -10, 0, 2.5)])
    of_another = replace(early, faults=[wrong_clock("worker-2", -10, 0, 3.5)])

    assert judge(ahead) == []
    assert "early" in {violation.rule for violation in judge(too_early)}
    assert "early" in {violation.rule for violation in judge(of_another)}


@pytest.mark.parametrize(
    ("verdict", "led", "seconds"), [("refuse", False, 240), ("widen", True, 3), ("fine", False, 3)]
)
def test_an_audit_that_acts_by_what_it_finds_is_right(
    verdict: str, led: bool, seconds: float
) -> None:
    evidence = audited(verdict, led=led, seconds=seconds)(good())

    assert "audit" not in {violation.rule for violation in judge(evidence)}


def test_the_ledger_tells_runs_that_ended_died_and_hang() -> None:
    lines = [
        '{"what": "begin", "run": "a", "job": "j", "attempt": 1, "pid": 1, "at": 1.0}',
        '{"what": "begin", "run": "b", "job": "j", "attempt": 2, "pid": 2, "at": 5.0}',
        '{"what": "end", "run": "b", "how": "snoozed", "seconds": 2.5, "at": 6.0}',
        '{"what": "begin", "run": "c", "job": "k", "attempt": 1, "pid": 3, "at": 3.0}',
    ]

    runs = read_runs(lines, deaths={1: 2.0})

    assert [(run.id, run.how, run.ended_at) for run in runs] == [
        ("a", End.DIED, 2.0),
        ("c", None, None),
        ("b", End.SNOOZED, 6.0),
    ]
    assert runs[2].snooze_seconds == 2.5


def test_the_story_of_a_job_tells_ledger_record_and_faults_in_the_order_of_time() -> None:
    story = story_of("j", good()).splitlines()

    told = ["due", "LEDGER run run-1 begins", "FAULT kill -9", "LOST", "LEDGER run run-2 returned"]
    places = [next(i for i, line in enumerate(story) if part in line) for part in told]
    assert places == sorted(places)
