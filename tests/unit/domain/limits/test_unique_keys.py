"""Unique keys: what may be declared, what identifies a key, and when a job keeps it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hourhand.domain.errors import InvalidDebounce, InvalidUnique, MissingKey
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.keys import KeyFields
from hourhand.domain.limits.unique_keys import (
    MAX_UNIQUE_SECONDS,
    SHORTEST_RETENTION_SECONDS,
    UNIQUE_DIGEST_CHARACTERS,
    Unique,
    advance_record,
    newest_incarnation,
    unique_record,
)
from tests.unit.domain.job_samples import NOW, a_job, after


def fields(payload: Any = None, tenant: str | None = None) -> KeyFields:
    return KeyFields(tenant=tenant, tags={"day": "monday"}, payload=lambda: payload)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"key": ""}, "key"),
        ({"key": "paylod.day"}, "key"),
        ({"key": "handler", "until": "never"}, "until"),
        ({"key": "handler", "until": 0}, "until"),
        ({"key": "handler", "until": MAX_UNIQUE_SECONDS + 1}, "until"),
        ({"key": "handler", "until": True}, "until"),
        ({"key": "handler", "until": 1.5}, "until"),
        ({"key": "handler", "on_conflict": "wait"}, "on_conflict"),
        ({"key": "handler", "on_conflict": "replace"}, "on_conflict"),
        ({"key": "handler", "until": 60, "on_conflict": "replace"}, "on_conflict"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidUnique) as refused:
        Unique(**options)
    assert refused.value.errors[0].field == f"unique.{field}"


def test_the_text_for_a_wrong_key_names_it_once() -> None:
    declared: list[Callable[..., object]] = [Unique, partial(Debounce, wait=1)]
    for declare in declared:
        with pytest.raises((InvalidUnique, InvalidDebounce)) as refused:
            declare("paylod.day")
        [problem] = refused.value.errors
        assert problem.message.startswith("must be handler, tenant, ")
        assert refused.value.detail == f"{problem.field} {problem.message}."
        assert refused.value.detail.endswith("not 'paylod.day'.")


@pytest.mark.parametrize("until", ["start", "end", "success", 1, MAX_UNIQUE_SECONDS])
def test_what_may_be_declared_is_kept(until: Any) -> None:
    assert Unique("payload.day", until=until).until == until
    assert Unique("payload.day", until="start", on_conflict="replace").on_conflict == "replace"


def test_a_job_is_kept_as_long_as_its_key_is_taken() -> None:
    assert Unique("handler").shortest_retention_seconds == SHORTEST_RETENTION_SECONDS
    assert Unique("handler", until=10**6).shortest_retention_seconds == 10**6


def test_a_key_belongs_to_a_handler_a_tenant_and_a_value() -> None:
    unique = Unique("payload.day")
    digests = [
        unique.digest_of("a", fields({"day": 1})),
        unique.digest_of("b", fields({"day": 1})),
        unique.digest_of("a", fields({"day": "1"})),
        unique.digest_of("a", fields({"day": 1}, "acme")),
        unique.digest_of("a", fields({"day": 1}, "")),
    ]
    assert len(set(digests)) == len(digests)
    assert {len(digest) for digest in digests} == {UNIQUE_DIGEST_CHARACTERS}
    assert unique.digest_of("a", fields({"day": 1, "more": 2})) == digests[0]
    for equal, other in ((1, 1.0), (0, -0.0), ([1, {"a": 2}], [1.0, {"a": 2.0}])):
        assert unique.digest_of("a", fields({"day": equal})) == unique.digest_of(
            "a", fields({"day": other})
        )


@pytest.mark.parametrize("key", ["payload.day", "payload", "tenant", "tags.hour"])
def test_a_job_without_its_key_is_refused(key: str) -> None:
    with pytest.raises(MissingKey) as refused:
        Unique(key).digest_of("a", fields())
    assert refused.value.errors[0].message == f"the job has no {key}"


@pytest.mark.parametrize("key", ["handler", "nightly", "tags.day"])
def test_a_key_that_every_job_has_is_never_missing(key: str) -> None:
    assert Unique(key).digest_of("a", fields())


@pytest.mark.parametrize(
    ("until", "job", "expected"),
    [
        ("start", a_job(), True),
        ("start", a_job(token=1), False),
        ("end", a_job(token=1), True),
        ("end", a_job(status=JobStatus.RUNNING, token=1), True),
        ("end", a_job(status=JobStatus.DEAD), False),
        ("success", a_job(status=JobStatus.DEAD), True),
        ("success", a_job(status=JobStatus.CANCELLED), False),
        (60, a_job(status=JobStatus.SUCCEEDED, created_at=after(-59)), True),
        (60, a_job(status=JobStatus.SUCCEEDED, created_at=after(-60)), False),
        ("end", None, False),
        (60, None, False),
    ],
)
def test_a_job_has_its_key_until_then(until: Any, job: Any, expected: bool) -> None:
    assert Unique("handler", until=until).has_key(job, NOW) is expected


def test_a_record_only_grows() -> None:
    assert newest_incarnation(None) == 0
    first = advance_record("d", 1, NOW)
    assert first.key == unique_record("d")
    assert first.is_allowed(None)
    item = advance_record("d", 3, NOW).apply(None)
    assert newest_incarnation(item) == 3
    assert advance_record("d", 3, NOW).is_allowed(item)
    assert advance_record("d", 4, NOW).is_allowed(item)
    assert not advance_record("d", 2, NOW).is_allowed(item)
