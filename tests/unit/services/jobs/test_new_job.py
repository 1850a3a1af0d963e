"""The job that a submission asks for: each field from it, else from ``@job``, else the default."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.errors import InvalidInput, NoKeyedLimit
from hourhand.domain.ids import trace_id_for
from hourhand.domain.jobs.job import EventKind, JobStatus, OnLost, Priority
from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.job_limits import NamedLimit, limits_of_handler, unpack_keys
from hourhand.domain.limits.keys import key_digest
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.services.jobs.new_job import (
    LATEST_RUN_AT,
    OLDEST_RUN_AT,
    require_expiry_after,
    resolve_limit_keys,
    resolve_run_at,
)
from tests.world.world import World

SECOND = timedelta(seconds=1)
PLAIN = HandlerInfo(name="greet")
OPINIONATED = HandlerPolicies(
    timeout_seconds=10,
    priority=Priority.LOW,
    retry=RetryPolicy(
        max_attempts=9,
        backoff=Backoff.FIXED,
        base_seconds=7,
        max_delay_seconds=70,
        jitter=Jitter.FULL,
    ),
    on_lost=OnLost.DEAD,
    retention_seconds=60,
)
GIVEN: dict[str, Any] = {
    "timeout_seconds": 20,
    "priority": "high",
    "on_lost": "retry",
    "retention_seconds": 0,
}


def _submission(**body: Any) -> NewJob:
    return JobSubmission.parse({"handler": "greet", **body})


# --- policies -----------------------------------------------------------------------------------


def test_a_submission_without_policies_gets_the_defaults() -> None:
    policies = _submission().resolved(PLAIN.policies)
    assert (policies.priority, policies.timeout_seconds) == (Priority.MEDIUM, 300)
    assert (policies.on_lost, policies.retention_seconds) == (OnLost.RETRY, 7 * 86_400)
    assert policies.retry == RetryPolicy()


def test_a_handlers_policies_go_before_the_defaults() -> None:
    policies = _submission().resolved(OPINIONATED)
    assert (policies.priority, policies.timeout_seconds) == (Priority.LOW, 10)
    assert (policies.on_lost, policies.retention_seconds) == (OnLost.DEAD, 60)
    assert policies.retry == OPINIONATED.retry


def test_a_submissions_policies_go_before_the_handlers() -> None:
    policies = _submission(**GIVEN).resolved(OPINIONATED)
    assert (policies.priority, policies.timeout_seconds) == (Priority.HIGH, 20)
    assert (policies.on_lost, policies.retention_seconds) == (OnLost.RETRY, 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_attempts", 1),
        ("backoff", Backoff.LINEAR),
        ("base_seconds", 0.0),
        ("max_delay_seconds", 0.0),
        ("jitter", Jitter.NONE),
    ],
)
def test_each_field_of_a_retry_policy_is_taken_on_its_own(field: str, value: object) -> None:
    policies = _submission(retry={field: value}).resolved(OPINIONATED)
    assert OPINIONATED.retry is not None
    for name in RetryPolicy.__slots__:
        expected = value if name == field else getattr(OPINIONATED.retry, name)
        assert getattr(policies.retry, name) == expected


# --- keys of limits -----------------------------------------------------------------------------


def _limits(handler: HandlerInfo) -> Sequence[NamedLimit]:
    return limits_of_handler(handler.name, handler.limits)


KEYED = HandlerInfo(name="greet", limits=(Concurrency(9), Concurrency(2, key="payload.account")))


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"payload": {"account": 7}}, 7),
        ({"payload": {"account": {"id": 7}}}, {"id": 7}),
        ({"payload": 5}, None),
        ({"payload": {"account": 7}, "concurrency_key": "vip"}, "vip"),
    ],
)
def test_a_job_stores_the_key_of_its_payload_or_of_its_submission(
    body: dict[str, Any], key: object
) -> None:
    stored = resolve_limit_keys(_submission(**body), _limits(KEYED))
    assert stored is not None
    assert unpack_keys(stored).digests == (
        (1, key_digest("greet:concurrency:payload.account", key)),
    )


def test_a_job_without_limits_stores_no_keys() -> None:
    assert resolve_limit_keys(_submission(payload={"account": 7}), _limits(PLAIN)) is None


@pytest.mark.parametrize("handler", [PLAIN, HandlerInfo(name="greet", limits=(Concurrency(9),))])
def test_a_key_cannot_be_chosen_without_a_limit_that_takes_it(handler: HandlerInfo) -> None:
    with pytest.raises(NoKeyedLimit) as refused:
        resolve_limit_keys(_submission(concurrency_key="vip"), _limits(handler))
    assert refused.value.code == "no_keyed_limit"
    assert [error.field for error in refused.value.errors] == ["concurrency_key"]


# --- times --------------------------------------------------------------------------------------


def test_a_delay_is_fixed_to_an_absolute_time_in_whole_milliseconds() -> None:
    assert resolve_run_at(None, 1.0004, START) == START + SECOND
    assert resolve_run_at(None, None, START) == START


@pytest.mark.parametrize(
    ("run_at", "delay_seconds", "field"),
    [
        (START - OLDEST_RUN_AT - SECOND, None, "run_at"),
        (LATEST_RUN_AT, None, "run_at"),
        (None, 200 * 366 * 86_400.0, "delay_seconds"),
        (None, 1e300, "delay_seconds"),
    ],
)
def test_a_time_out_of_range_is_refused_naming_its_field(
    run_at: Any, delay_seconds: Any, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        resolve_run_at(run_at, delay_seconds, START)
    assert [error.field for error in refused.value.errors] == [field]


def test_a_time_up_to_a_day_in_the_past_is_kept_as_asked_and_due_now(world: World) -> None:
    asked = START - OLDEST_RUN_AT
    job = world.submit(run_at=rfc3339(asked))
    assert (job.run_at, job.due_at) == (asked, START)


@pytest.mark.parametrize("late", [timedelta(0), -SECOND])
def test_an_expiry_that_no_start_could_keep_is_refused(late: timedelta) -> None:
    for run_at in (START, START + SECOND, START - SECOND):
        with pytest.raises(InvalidInput) as refused:
            require_expiry_after(max(run_at, START) + late, run_at, START)
        assert refused.value.errors[0].field == "expires_at"
    require_expiry_after(START + SECOND, START, START)
    require_expiry_after(None, START, START)


# --- the job ------------------------------------------------------------------------------------


def test_a_job_due_within_the_look_ahead_is_put_as_sent(world: World) -> None:
    job = world.submit(delay_seconds=300)
    assert (job.status, job.enqueued_at) == (JobStatus.ENQUEUED, START)
    assert [event.kind for event in job.history] == [EventKind.SUBMITTED]


def test_a_job_due_beyond_the_look_ahead_is_put_as_pending(world: World) -> None:
    job = world.submit(delay_seconds=301)
    assert (job.status, job.enqueued_at) == (JobStatus.PENDING, None)
    assert not world.queues.messages()


def test_a_job_has_all_that_was_asked_for(world: World) -> None:
    expires_at = START + timedelta(hours=1)
    job = world.submit(
        payload={"b": 2, "a": 1},
        id="own",
        tenant="t",
        tags={"customer": "42"},
        expires_at=rfc3339(expires_at),
        **GIVEN,
    )
    assert (job.id, job.handler, job.tenant, job.tags) == ("own", "greet", "t", {"customer": "42"})
    assert (job.expires_at, job.timeout_seconds, job.queue) == (expires_at, 20, Priority.HIGH)
    assert job.payload.text == '{"a":1,"b":2}'
    assert job.body_hash is not None


def test_a_job_without_a_name_of_its_callers_keeps_no_hash_of_its_body(world: World) -> None:
    assert world.submit().body_hash is None


def test_a_job_has_the_trace_of_its_submitter_or_one_of_its_own(world: World) -> None:
    request = _submission()
    given = world.api.submission.submit(request, actor="caller", trace_id="0" * 32).job
    assert given.trace_id == "0" * 32
    own = world.submit()
    assert own.trace_id == trace_id_for(own.id)
