"""What must hold after the chaos: each rule reads the evidence and tells what breaks it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from hourhand.domain.jobs.job import ATTEMPT_ENDS, EventKind, JobStatus, Outcome
from proof.chaos.evidence import Ending, Evidence, Kind, Promise, Violation, has, is_whole
from proof.chaos.ledger import End
from proof.chaos.rules_of_faults import as_much_was_done_as_asked, clocks_are_audited
from proof.chaos.rules_of_limits import no_key_is_crowded, the_pace_is_kept
from proof.chaos.rules_of_runs import (
    leases_are_honoured,
    never_early,
    repeats_follow_a_recorded_end,
    runs_do_not_overlap,
)

ENDINGS = {
    Kind.HOPELESS: {JobStatus.DEAD},
    Kind.REFUSED: {JobStatus.DEAD},
    Kind.ONCE: {JobStatus.SUCCEEDED, JobStatus.DEAD},
    Kind.CANCELLED: {JobStatus.SUCCEEDED, JobStatus.CANCELLED},
}
"""What a job of a kind may end as; any other kind: SUCCEEDED alone."""

HOPELESS_ATTEMPTS = 3

Rule = Callable[[Evidence], Iterator[Violation]]


def judge(evidence: Evidence) -> list[Violation]:
    """Return everything that is wrong."""
    return [violation for rule in RULES for violation in rule(evidence)]


def nothing_is_lost(evidence: Evidence) -> Iterator[Violation]:
    """Every accepted job is there and final, and one that succeeded was run to its end."""
    runs = evidence.runs_by_job()
    for job_id in evidence.promises:
        ending = evidence.endings.get(job_id)
        if ending is None:
            yield Violation("lost", "it was accepted, and the table has no such job", job_id)
        elif not ending.status.is_final:
            yield Violation("lost", f"it is still {ending.status} in the end", job_id)
        elif ending.status is JobStatus.SUCCEEDED and not any(
            run.how is End.RETURNED for run in runs.get(job_id, ())
        ):
            yield Violation("lost", "it SUCCEEDED, and no run of it came to its end", job_id)


def ends_as_it_should(evidence: Evidence) -> Iterator[Violation]:
    """Each job's final state is one that its kind may have."""
    for promise, ending in _judged(evidence):
        allowed = ENDINGS.get(promise.kind, {JobStatus.SUCCEEDED})
        if promise.cancel is not None:
            if promise.cancel.status is None:
                allowed = {JobStatus.SUCCEEDED}
            elif promise.cancel.status is JobStatus.CANCELLED:
                allowed = {JobStatus.CANCELLED}
        if ending.status not in allowed:
            told = " or ".join(sorted(allowed))
            yield Violation("ending", f"it ended {ending.status}, not {told}", promise.job_id)
        elif promise.kind is Kind.ONCE and ending.status is JobStatus.DEAD and is_whole(ending):
            if not has(ending, EventKind.LOST):
                yield Violation("ending", "it is DEAD, and was never lost", promise.job_id)
        elif promise.kind is Kind.HOPELESS and ending.claims > HOPELESS_ATTEMPTS:
            text = f"it was claimed {ending.claims} times, with {HOPELESS_ATTEMPTS} attempts"
            yield Violation("ending", text, promise.job_id)


def one_commit(evidence: Evidence) -> Iterator[Violation]:
    """No two workers say that they committed the same attempt, or a job's success."""
    told = Counter(
        (commit.job_id, commit.attempt)
        for commit in evidence.commits
        if commit.outcome != Outcome.SNOOZED
    )
    for (job_id, attempt), times in told.items():
        if times > 1:
            yield Violation("commit", f"attempt {attempt} was committed {times} times", job_id)
    succeeded = Counter(c.job_id for c in evidence.commits if c.outcome == Outcome.SUCCEEDED)
    for job_id, times in succeeded.items():
        ending = evidence.endings.get(job_id)
        if times > 1:
            yield Violation("commit", f"{times} workers committed its success", job_id)
        if ending is not None and ending.status is not JobStatus.SUCCEEDED:
            text = f"a worker committed its success, and it is {ending.status}"
            yield Violation("commit", text, job_id)


def results_are_the_owners(evidence: Evidence) -> Iterator[Violation]:
    """What stands is the result of a run that came to its end, committed by the last owner."""
    runs = {run.id: run for run in evidence.runs}
    for promise, ending in _judged(evidence):
        if ending.status is not JobStatus.SUCCEEDED:
            continue
        owner = next((e for e in ending.history if e.kind is EventKind.SUCCEEDED), None)
        if owner is None or owner.token != ending.claims:
            by = "nobody" if owner is None else f"token {owner.token}"
            text = f"it was committed by {by}, and claimed {ending.claims} times"
            yield Violation("commit", text, promise.job_id)
            continue
        run = runs.get(ending.result_run or "")
        if run is None or run.job_id != promise.job_id or run.how is not End.RETURNED:
            text = f"its result is of run {ending.result_run}, which is none that returned"
            yield Violation("commit", text, promise.job_id)
        elif run.attempt != owner.attempt and promise.kind is not Kind.KEYED:
            # Under a key a later attempt may commit what an earlier one recorded.
            text = f"attempt {owner.attempt} committed the result of attempt {run.attempt}"
            yield Violation("commit", text, promise.job_id)


def one_end_for_each_claim(evidence: Evidence) -> Iterator[Violation]:
    """Each fencing token has at most one end on record, and none after the next was given out."""
    for job_id, ending in evidence.endings.items():
        newest, ended = 0, set[int]()
        for event in ending.history:
            if event.kind is EventKind.CLAIMED:
                newest = max(newest, event.token)
            elif event.kind in ATTEMPT_ENDS and event.token:
                if event.token in ended:
                    text = f"token {event.token} ended twice: {event.kind.name} is the second"
                    yield Violation("commit", text, job_id)
                elif event.token < newest:
                    text = f"token {event.token} ended, {event.kind.name}, when {newest} was given"
                    yield Violation("commit", text, job_id)
                ended.add(event.token)


def cancelled_is_cancelled(evidence: Evidence) -> Iterator[Violation]:
    """What was cancelled before its claim never runs; what was asked to stop is not run again."""
    runs = evidence.runs_by_job()
    for promise in evidence.promises.values():
        cancel = promise.cancel
        if cancel is None:
            continue
        later = [r for r in runs.get(promise.job_id, ()) if r.began_at > cancel.answered_at]
        # One that was claimed before may be about to begin.
        most = 1 if cancel.status is JobStatus.RUNNING else 0
        if len(later) > most:
            text = f"it ran {len(later)} times after its cancel was answered with {cancel.status}"
            yield Violation("cancel", text, promise.job_id)


def final_is_final(evidence: Evidence) -> Iterator[Violation]:
    """A job that was seen final is in the end as it was then."""
    for job_id, seen in evidence.settled.items():
        ending = evidence.endings.get(job_id)
        if ending is None or _outcome(ending) != _outcome(seen):
            now = "gone" if ending is None else ending.status
            yield Violation("final", f"it was {seen.status} already, and changed: {now}", job_id)


def dead_letters_are_sent(evidence: Evidence) -> Iterator[Violation]:
    """Each DEAD job has a dead letter, and nobody else."""
    for job_id, ending in evidence.endings.items():
        if ending.status is JobStatus.DEAD and not evidence.dead_letters.get(job_id):
            yield Violation("dead letter", "it is DEAD, and no letter was sent", job_id)
    for job_id in evidence.dead_letters:
        found = evidence.endings.get(job_id)
        if found is None or found.status is not JobStatus.DEAD:
            status = "unknown" if found is None else found.status
            yield Violation("dead letter", f"a letter was sent, and it is {status}", job_id)


def nobody_else_runs(evidence: Evidence) -> Iterator[Violation]:
    """Nothing runs that nobody asked for."""
    for job_id in {run.job_id for run in evidence.runs} - evidence.promises.keys():
        yield Violation("stranger", "it ran, and was never submitted", job_id)


def schedules_keep_their_times(evidence: Evidence) -> Iterator[Violation]:
    """Each nominal time of a schedule became one job."""
    for problem in evidence.other_problems:
        yield Violation("schedule", problem)


RULES: tuple[Rule, ...] = (
    nothing_is_lost,
    ends_as_it_should,
    one_commit,
    results_are_the_owners,
    one_end_for_each_claim,
    runs_do_not_overlap,
    never_early,
    repeats_follow_a_recorded_end,
    leases_are_honoured,
    cancelled_is_cancelled,
    final_is_final,
    dead_letters_are_sent,
    nobody_else_runs,
    clocks_are_audited,
    no_key_is_crowded,
    the_pace_is_kept,
    schedules_keep_their_times,
    as_much_was_done_as_asked,
)


def _judged(evidence: Evidence) -> Iterator[tuple[Promise, Ending]]:
    """Yield the jobs that are final: of the others `nothing_is_lost` tells."""
    for job_id, promise in evidence.promises.items():
        ending = evidence.endings.get(job_id)
        if ending is not None and ending.status.is_final:
            yield promise, ending


def _outcome(ending: Ending) -> tuple[JobStatus, float | None, str | None]:
    return ending.status, ending.finished_at, ending.result_run
