"""Submissions: what is taken, what is refused, and which field each refusal names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hourhand.api.requests._limits import MAX_NESTING, MAX_PAYLOAD_BYTES
from hourhand.api.requests.jobs import BatchRequest, JobSubmission
from hourhand.domain.errors import HourhandError, InvalidInput, NotSupportedYet, TooLarge
from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.retry import Backoff, Jitter
from hourhand.domain.jobs.submission import NewJob

WHOLE = {
    "handler": "greet",
    "payload": {"name": "Ada", "age": 36},
    "run_at": "2026-11-21T10:00:00+01:00",
    "priority": "high",
    "idempotency_key": "order-42",
    "timeout_seconds": 840,
    "expires_at": "2026-11-22T00:00:00Z",
    "retention_seconds": 0,
    "on_lost": "dead",
    "tenant": "acme",
    "tags": {"customer": "42", "empty": ""},
    "retry": {
        "max_attempts": 100,
        "backoff": "sidekiq",
        "base_seconds": 0.5,
        "max_delay_seconds": 60,
        "jitter": "full",
    },
    "pool": "default",
}


def submission(**fields: Any) -> NewJob:
    return JobSubmission.parse({"handler": "greet", **fields})


def refusal(**fields: Any) -> HourhandError:
    with pytest.raises(HourhandError) as caught:
        submission(**fields)
    return caught.value


def messages(error: HourhandError) -> dict[str, str]:
    return {fault.field: fault.message for fault in error.errors}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_every_field_of_a_submission_is_taken() -> None:
    parsed = JobSubmission.parse(WHOLE)
    assert parsed.handler == "greet"
    assert parsed.payload_text == '{"age":36,"name":"Ada"}'
    assert parsed.run_at == datetime(2026, 11, 21, 9, tzinfo=UTC)
    assert parsed.expires_at == datetime(2026, 11, 22, tzinfo=UTC)
    assert (parsed.priority, parsed.on_lost) == (Priority.HIGH, OnLost.DEAD)
    assert (parsed.timeout_seconds, parsed.retention_seconds) == (840, 0)
    assert (parsed.tenant, parsed.tags) == ("acme", {"customer": "42", "empty": ""})
    assert parsed.retry is not None
    assert (parsed.retry.backoff, parsed.retry.jitter) == (Backoff.SIDEKIQ, Jitter.FULL)
    assert (parsed.retry.max_attempts, parsed.retry.max_delay_seconds) == (100, 60)


def test_the_handler_alone_is_enough() -> None:
    parsed = submission()
    assert parsed.payload_text == "null"
    assert parsed.tags == {}
    absent = (parsed.run_at, parsed.delay_seconds, parsed.priority, parsed.retry, parsed.id)
    assert absent == (None, None, None, None, None)


def test_null_means_not_given() -> None:
    given = dict.fromkeys([*JobSubmission.model_fields], None) | {"handler": "greet"}
    assert replace(JobSubmission.parse(given), body_hash="") == replace(submission(), body_hash="")


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"handler": None}, "handler", "must be a string"),
        ({"handler": ""}, "handler", "at least 1"),
        ({"handler": "x" * 65}, "handler", "at most 64"),
        ({"handler": 5}, "handler", "must be a string"),
        ({"run_at": 1_800_000_000}, "run_at", "must be a string"),
        ({"run_at": "2026-11-21T09:00:00"}, "run_at", "must have an offset"),
        ({"run_at": "2026-02-30T00:00:00Z"}, "run_at", "that exist"),
        ({"run_at": "2201-01-01T00:00:00Z"}, "run_at", "before the year 2201"),
        ({"expires_at": "2026-11-21T09:00:00"}, "expires_at", "must have an offset"),
        ({"delay_seconds": -0.001}, "delay_seconds", "at least 0"),
        ({"delay_seconds": "5"}, "delay_seconds", "must be a number"),
        ({"delay_seconds": True}, "delay_seconds", "must be a number"),
        ({"delay_seconds": float("inf")}, "delay_seconds", "finite"),
        ({"delay_seconds": float("nan")}, "delay_seconds", "finite"),
        ({"delay_seconds": 1e300}, "delay_seconds", "at most"),
        ({"delay_seconds": 10**400}, "delay_seconds", "must be a number"),
        ({"priority": "urgent"}, "priority", "'high', 'medium' or 'low'"),
        ({"priority": 1}, "priority", "'high', 'medium' or 'low'"),
        ({"idempotency_key": ""}, "idempotency_key", "at least 1"),
        ({"idempotency_key": "k" * 257}, "idempotency_key", "at most 256"),
        ({"id": ""}, "id", "must match"),
        ({"id": "a" * 101}, "id", "must match"),
        ({"id": "k.abc"}, "id", "must match"),
        ({"id": "new\n"}, "id", "must match"),
        ({"timeout_seconds": 0}, "timeout_seconds", "at least 1"),
        ({"timeout_seconds": 841}, "timeout_seconds", "at most 840"),
        ({"timeout_seconds": 5.0}, "timeout_seconds", "whole number"),
        ({"timeout_seconds": "5"}, "timeout_seconds", "whole number"),
        ({"timeout_seconds": True}, "timeout_seconds", "whole number"),
        ({"timeout_seconds": 10**4000}, "timeout_seconds", "at most 840"),
        ({"retention_seconds": -1}, "retention_seconds", "at least 0"),
        ({"retention_seconds": 10**12}, "retention_seconds", "at most"),
        ({"on_lost": "ignore"}, "on_lost", "'retry' or 'dead'"),
        ({"tenant": ""}, "tenant", "at least 1"),
        ({"tenant": "t" * 129}, "tenant", "at most 128"),
        ({"tenant": "\ud800"}, "tenant", "surrogate"),
        ({"tags": []}, "tags", "JSON object"),
        ({"tags": {str(n): "" for n in range(21)}}, "tags", "at most 20"),
        ({"tags": {"": "x"}}, "tags.", "at least 1"),
        ({"tags": {"k" * 65: "x"}}, "tags." + "k" * 65, "at most 64"),
        ({"tags": {"a:b": "x"}}, "tags.a:b", "must match"),
        ({"tags": {"a": "v" * 257}}, "tags.a", "at most 256"),
        ({"tags": {"a": 1}}, "tags.a", "must be a string"),
        ({"tags": {"a": None}}, "tags.a", "must be a string"),
        ({"retry": 3}, "retry", "JSON object"),
        ({"retry": {"max_attempts": 0}}, "retry.max_attempts", "at least 1"),
        ({"retry": {"max_attempts": 101}}, "retry.max_attempts", "at most 100"),
        ({"retry": {"backoff": "cubic"}}, "retry.backoff", "'exponential'"),
        ({"retry": {"base_seconds": -1}}, "retry.base_seconds", "at least 0"),
        ({"retry": {"base_seconds": 5e-324}}, "retry.base_seconds", "0 or at least 0.001"),
        ({"retry": {"max_delay_seconds": 1e12}}, "retry.max_delay_seconds", "at most"),
        ({"retry": {"jitter": "some"}}, "retry.jitter", "'none', 'additive' or 'full'"),
        (
            {"retry": {"attempts": 3}},
            "retry.attempts",
            "is not a known field. Did you mean 'max_attempts'? The fields are max_attempts, ",
        ),
        ({"pool": 5}, "pool", "must be 'default'"),
        ({"concurrency_key": 5}, "concurrency_key", "must be a string"),
        ({"concurrency_key": "k" * 257}, "concurrency_key", "at most 256"),
        ({"limits": []}, "limits", "at least 1"),
        ({"limits": [{"name": f"l{n}"} for n in range(4)]}, "limits", "at most 3"),
        ({"limits": [{"name": "a"}, {"name": "a"}]}, "limits[1].name", "not be named twice"),
        ({"limits": [{"name": "a.1"}]}, "limits[0].name", "must match"),
        ({"limits": [{"name": "a", "key": "paylod.x"}]}, "limits[0].key", "not 'paylod.x'"),
        ({"limits": [{"name": "a"}], "concurrency_key": "k"}, "limits", "with concurrency_key"),
        ({"unique": "payload.day"}, "unique", "JSON object"),
        ({"unique": {}}, "unique.key", "is required"),
        ({"unique": {"key": "payload."}}, "unique.key", "must be handler, tenant, tags.<name>"),
        ({"unique": {"key": "a", "until": "soon"}}, "unique.until", "'success' or a whole number"),
        ({"unique": {"key": "a", "until": 2_592_001}}, "unique.until", "from 1 to 2,592,000"),
        ({"unique": {"key": "a", "until": True}}, "unique.until", "must be 'start', 'end'"),
        ({"unique": {"key": "a", "on_conflict": "x"}}, "unique.on_conflict", "'reject'"),
        ({"unique": {"key": "a", "on_conflict": "replace"}}, "unique.on_conflict", "until='start'"),
        ({"debounce": {"key": "a"}}, "debounce.wait_seconds", "is required"),
        ({"debounce": {"key": "p.x", "wait_seconds": 1}}, "debounce.key", "not 'p.x'"),
        ({"debounce": {"key": "a", "wait_seconds": 0.5}}, "debounce.wait_seconds", "at least 1"),
        (
            {"debounce": {"key": "a", "wait_seconds": 10, "max_wait_seconds": 9.5}},
            "debounce.max_wait_seconds",
            "must be at least wait_seconds, 10",
        ),
        ({"debounce": {"key": "a", "wait_seconds": 1, "mode": "x"}}, "debounce.mode", "'last'"),
        (
            {"unique": {"key": "a"}, "debounce": {"key": "a", "wait_seconds": 1}},
            "debounce",
            "must not be given together with unique",
        ),
        ({"proirity": "high"}, "proirity", "Did you mean 'priority'? The fields are handler, "),
        ({"delay": 5}, "delay", "Did you mean 'delay_seconds'? The fields are"),
        ({"key": "k"}, "key", "Did you mean 'idempotency_key'"),
        ({"max_attempts": 3}, "max_attempts", "Did you mean 'retry.max_attempts'? The fields"),
        ({"eta": "2027-01-01"}, "eta", "Did you mean 'run_at'? The fields"),
        # No field of a job has this name elsewhere.
        ({"cron": "@daily"}, "cron", "is not a known field. The fields are handler, payload, run"),
        ({"\ud800": 1}, "body", "surrogate"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    fields: dict[str, Any], field: str, message: str
) -> None:
    error = refusal(**fields)
    assert isinstance(error, InvalidInput)
    assert message in messages(error)[field]


def test_a_missing_field_and_its_misspelling_are_both_named() -> None:
    with pytest.raises(InvalidInput) as refused:
        JobSubmission.parse({"handlr": "greet", "paylod": 1})
    fields = ", ".join(JobSubmission.model_fields)
    assert messages(refused.value) == {
        "handler": "is required",
        "handlr": f"is not a known field. Did you mean 'handler'? The fields are {fields}",
        # The fields are listed once.
        "paylod": "is not a known field. Did you mean 'payload'?",
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"handler": "x" * 64},
        {"idempotency_key": "k" * 256},
        {"id": "A-z_9" * 20},
        {"tenant": "é" * 128},
        {"tags": {str(n) * 32: "v" * 256 for n in range(10, 30)}},
        {"timeout_seconds": 1},
        {"delay_seconds": 0},
        {"delay_seconds": 1.5},
        {"retry": {}},
        {"retry": {"base_seconds": 0, "max_delay_seconds": 0.001}},
        {"tenant": "with\0nul"},
    ],
)
def test_the_limits_themselves_are_allowed(fields: dict[str, Any]) -> None:
    assert submission(**fields).handler


def test_a_missing_handler_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        JobSubmission.parse({})
    assert messages(caught.value) == {"handler": "is required"}


@pytest.mark.parametrize("raw", [None, 5, "job", [], [WHOLE], True])
def test_only_an_object_is_a_job(raw: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        JobSubmission.parse(raw)
    assert messages(caught.value) == {"body": "must be a JSON object"}


def test_all_wrong_fields_are_named_at_once() -> None:
    error = refusal(run_at="tomorrow", timeout_seconds=0, retry={"backoff": "cubic"})
    assert set(messages(error)) == {"run_at", "timeout_seconds", "retry.backoff"}


def test_no_error_lists_or_repeats_without_bound() -> None:
    error = refusal(**{f"{n}-{'x' * 500}": n for n in range(1000)})
    assert len(error.errors) == 20
    assert all(len(fault.field) <= 100 for fault in error.errors)
    assert len(error.detail) < 1000


def test_time_and_delay_and_id_and_key_exclude_each_other() -> None:
    error = refusal(run_at="2026-11-21T09:00:00Z", delay_seconds=5)
    assert messages(error) == {"delay_seconds": "must not be given together with run_at"}
    error = refusal(id="mine", idempotency_key="mine")
    assert messages(error) == {"idempotency_key": "must not be given together with id"}


def test_what_comes_later_is_refused_as_not_supported_yet() -> None:
    error = refusal(pool="gpu")
    assert isinstance(error, NotSupportedYet)
    assert set(messages(error)) == {"pool"}


@pytest.mark.parametrize("key", ["k", "x" * 256, "ü\n"])
def test_a_concurrency_key_is_text_of_up_to_256_characters(key: str) -> None:
    assert submission(concurrency_key=key).concurrency_key == key


@pytest.mark.parametrize("key", ["", "x" * 257, 5, True, ["a"], {"a": 1}])
def test_another_concurrency_key_is_refused(key: object) -> None:
    assert set(messages(refusal(concurrency_key=key))) == {"concurrency_key"}


def test_a_payload_of_exactly_the_limit_is_taken_and_one_byte_of_utf_8_more_is_not() -> None:
    fits = "x" * (MAX_PAYLOAD_BYTES - 2)
    assert len(submission(payload=fits).payload_text) == MAX_PAYLOAD_BYTES
    error = refusal(payload=fits + "x")
    assert isinstance(error, TooLarge)
    assert "2,500,001 bytes" in messages(error)["payload"]
    assert isinstance(refusal(payload="é" * (MAX_PAYLOAD_BYTES // 2)), TooLarge)


@pytest.mark.parametrize(
    "payload", [float("nan"), [float("inf")], {"at": object()}, {1: 2, "1": 3}]
)
def test_a_payload_that_is_no_json_is_refused(payload: object) -> None:
    assert "must be JSON" in messages(refusal(payload=payload))["payload"]


def test_a_payload_may_nest_only_so_deep() -> None:
    assert submission(payload=nested(MAX_NESTING)).payload_text.startswith("[[")
    assert "100 deep" in messages(refusal(payload=nested(MAX_NESTING + 1)))["payload"]
    assert "100 deep" in messages(refusal(payload=nested(100_000)))["payload"]


def test_equal_bodies_share_a_hash_and_others_do_not() -> None:
    first = submission(payload={"a": 1, "b": 2}, tenant="t")
    assert submission(tenant="t", payload={"b": 2, "a": 1}).body_hash == first.body_hash
    assert submission(payload={"a": 1, "b": 3}, tenant="t").body_hash != first.body_hash
    assert submission(payload={"a": 1, "b": 2}).body_hash != first.body_hash


def test_a_batch_judges_each_job_alone() -> None:
    good, bad, no_object = BatchRequest.parse({"jobs": [WHOLE, {"handler": 5}, 7]})
    assert good == JobSubmission.parse(WHOLE)
    assert isinstance(bad, InvalidInput)
    assert isinstance(no_object, InvalidInput)


def test_a_batch_holds_up_to_500_jobs() -> None:
    assert len(BatchRequest.parse({"jobs": [WHOLE] * 500})) == 500
    with pytest.raises(InvalidInput) as caught:
        BatchRequest.parse({"jobs": [WHOLE] * 501})
    assert messages(caught.value) == {"jobs": "must have at most 500 entries"}
