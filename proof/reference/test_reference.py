"""What the API answers is what the model says; and a system with faults is found out by it.

More lives, and longer ones: ``python -m proof.reference``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import Job, OnLost
from hourhand.services.jobs import (
    aspects,
    dead_letters,
    execution,
    operations,
    queries,
    recovery,
)
from proof.reference import __main__ as command
from proof.reference.machine import ReferenceMachine

SEED = 1
LIVES = 40
LIVES_WITH_A_FAULT = 10
STEPS = 30


def test_every_answer_is_what_the_model_says() -> None:
    ReferenceMachine.counts.clear()
    violation = command.live(LIVES, SEED, STEPS)
    assert violation is None, violation
    happened = {
        *("submit", "submit the same", "submit again: refused", "cancel", "cancel: refused"),
        *("change", "change: refused", "redrive", "redrive: refused", "run-now", "tick", "work"),
        "discard",
        *("ended SUCCEEDED", "ended DEAD", "ended CANCELLED", "ended EXPIRED"),
    }
    assert not [name for name in happened if not ReferenceMachine.counts[name]]


# --- faults that it finds ---

Patch = pytest.MonkeyPatch


def redrive_keeps_attempts(patch: Patch) -> None:
    def redrive(job: Job, **given: Any) -> transitions.Transition:
        sets = {**(given.pop("sets") or {}), "attempt": job.attempt}
        return transitions.redrive(job, sets=sets, **given)

    patch.setattr(operations, "redrive", redrive)


def a_cancelled_run_is_tried_again(patch: Patch) -> None:
    as_it_is = transitions.retry_later

    def retry_later(job: Job, **given: Any) -> transitions.Transition:
        move = as_it_is(job, **given)
        expect = {name: c for name, c in move.expect.items() if name != "not_cancelled"}
        return replace(move, expect=expect)

    patch.setattr(transitions, "retry_later", retry_later)


def a_snooze_uses_an_attempt_up(patch: Patch) -> None:
    as_it_is = transitions.retry_later

    def retry_later(job: Job, **given: Any) -> transitions.Transition:
        return replace(as_it_is(job, **given), increments={})

    patch.setattr(transitions, "retry_later", retry_later)


def a_lost_job_always_runs_again(patch: Patch) -> None:
    def recover(job: Job, **given: Any) -> transitions.Transition:
        return transitions.recover(replace(job, on_lost=OnLost.RETRY), **given)

    patch.setattr(recovery, "recover", recover)


def a_lease_is_over_too_soon(patch: Patch) -> None:
    def claim(*given: Any, **named: Any) -> transitions.Transition:
        move = transitions.claim(*given, **named)
        return replace(move, sets={**move.sets, "lease.until": named["now"]})

    patch.setattr(execution, "claim", claim)


def dead_jobs_have_no_letter(patch: Patch) -> None:
    patch.setattr(dead_letters.DeadLetters, "settle", lambda *_: aspects.DONE)


def run_now_forgets_the_time(patch: Patch) -> None:
    def change(job: Job, **given: Any) -> transitions.Transition:
        return transitions.change(job, **{**given, "sets": {}})

    patch.setattr(operations, "change", change)


def lateness_is_of_the_last_attempt(patch: Patch) -> None:
    patch.setattr(queries, "percentile", lambda ordered, _: ordered[-1] if ordered else None)


def a_redriven_job_stays_discarded(patch: Patch) -> None:
    def redrive(job: Job, **given: Any) -> transitions.Transition:
        sets = {**(given.pop("sets") or {}), "discarded_at": job.discarded_at}
        return transitions.redrive(job, sets=sets, **given)

    patch.setattr(operations, "redrive", redrive)


@pytest.mark.parametrize(
    "plant",
    [
        a_redriven_job_stays_discarded,
        redrive_keeps_attempts,
        a_cancelled_run_is_tried_again,
        a_snooze_uses_an_attempt_up,
        a_lost_job_always_runs_again,
        a_lease_is_over_too_soon,
        dead_jobs_have_no_letter,
        run_now_forgets_the_time,
        lateness_is_of_the_last_attempt,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_fault_is_found(monkeypatch: Patch, plant: Callable[[Patch], None]) -> None:
    plant(monkeypatch)
    assert command.live(LIVES_WITH_A_FAULT, SEED, STEPS) is not None
