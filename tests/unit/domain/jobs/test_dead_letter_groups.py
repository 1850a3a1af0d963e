"""Dead letters in groups: messages that differ only in values are of one group."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.jobs.dead_letter_groups import (
    GROUP_ID,
    PATTERN_CHARACTERS,
    group_id_of,
    grouped,
    is_of_type,
    normalised,
)
from hourhand.domain.jobs.history import failure_text
from hourhand.domain.jobs.job import Job, JobStatus
from tests.unit.domain.job_samples import NOW, a_dead_job, a_job, a_retrying_job, after


def dead(number: int, reason: str | None, handler: str = "greet", ended: float = 0) -> Job:
    return a_dead_job(
        id=f"job-{number}",
        handler=handler,
        last_failure=None if reason is None else failure_text(reason),
        finished_at=after(ended),
    )


@pytest.mark.parametrize(
    ("message", "pattern"),
    [
        ("no such user", "no such user"),
        ("user 42 has 3.5 of 1,000 points", "user <n> has <n> of <n> points"),
        ("order-42 and user7 took -5s or 1e-05 s", "order-<n> and user<n> took <n>s or <n> s"),
        ("0.5 or 1.919952295824214e-237", "<n> or <n>"),
        ("no key 'user' in \"body\" of `x`", "no key <value> in <value> of <value>"),
        ("I can't, he doesn't", "I can't, he doesn't"),
        ("job 01k2v8r3t5w7x9y1z3b5d is gone", "job <id> is gone"),
        ("k.abcdefghij234567abcdefghij234567: no", "k.<id>: no"),
        ("8b2c1d04-1111-4222-8333-abcdefabcdef: no", "<id>: no"),
        ("at 0xFFe1 in deadbeef01", "at <id> in <id>"),
        ("defaced facade", "defaced facade"),
        ("since 2026-11-21T12:00:00.007Z on 2026-11-21", "since <time> on <time>"),
        ("from 2026-11-21 12:00 +01:00 to 10.0.0.1:8080", "from <time> to <n>:<n>"),
        ("  two\n\tlines  ", "two lines"),
        ("the mail server did not ans...", "the mail server did not"),
        ("cutwithoutblank...", "cutwithoutblank..."),
        ("", ""),
    ],
)
def test_values_in_a_message_are_replaced(message: str, pattern: str) -> None:
    assert normalised(message) == pattern


def test_a_pattern_is_bounded_and_cut_where_no_kept_message_is() -> None:
    assert len(normalised("word " * 100)) <= PATTERN_CHARACTERS
    long = "the reply of host {} was not complete, so it had to be thrown away: " + "and so " * 40
    texts = [failure_text("E: " + long.format(host)) for host in ("1", "1234567890")]
    assert texts[0][-20:] != texts[1][-20:]
    assert len({normalised(text.removeprefix("E: ")) for text in texts}) == 1


def test_jobs_of_one_handler_type_and_pattern_are_one_group_and_the_last_comes_first() -> None:
    jobs = [
        dead(1, "KeyError: 'a'", ended=1),
        dead(2, "KeyError: 'b'", ended=5),
        dead(3, "KeyError: 'c'", ended=3),
        dead(4, "ValueError: 'a'", ended=9),
        dead(5, "KeyError: 'a'", handler="other", ended=2),
        dead(6, None, ended=4),
    ]
    groups = grouped(jobs)
    told = [(one.handler, one.error_type, one.pattern, one.jobs, one.newest_id) for one in groups]
    assert told == [
        ("greet", "ValueError", "<value>", 1, "job-4"),
        ("greet", "KeyError", "<value>", 3, "job-2"),
        ("greet", None, "", 1, "job-6"),
        ("other", "KeyError", "<value>", 1, "job-5"),
    ]
    assert (groups[1].first_at, groups[1].last_at) == (after(1), after(5))
    assert groups[1].message == "'b'"
    assert grouped([]) == ()


def test_a_group_has_200_bytes_of_the_newest_message() -> None:
    (group,) = grouped([dead(1, "E: " + "x" * 500)])
    assert len(group.message) >= 200


def test_a_group_has_one_id_wherever_it_is_met() -> None:
    jobs = [dead(1, "KeyError: 1"), dead(2, "KeyError: 22"), dead(3, "KeyError: x")]
    ids = [group_id_of(job) for job in jobs]
    assert ids[0] == ids[1] != ids[2]
    assert {group.id for group in grouped(jobs)} == set(ids)
    assert all(GROUP_ID.fullmatch(str(one)) for one in ids)
    # No two keys can be confused, whatever they hold.
    assert group_id_of(dead(1, None)) != group_id_of(dead(1, ": "))
    assert group_id_of(dead(1, "a: b c")) != group_id_of(dead(1, "a: b", handler="greet c"))


def test_a_job_that_is_not_dead_is_in_no_group() -> None:
    assert group_id_of(replace(a_retrying_job(), last_failure="KeyError: 1")) is None


def test_a_job_without_an_end_on_record_counts_by_its_creation() -> None:
    job = replace(dead(1, "E: x"), finished_at=None, created_at=NOW - timedelta(days=1))
    (group,) = grouped([job])
    assert group.last_at == NOW - timedelta(days=1)


@pytest.mark.parametrize(
    ("last_failure", "error_type", "is_it"),
    [
        ("KeyError: 1", "KeyError", True),
        ("KeyError: 1", "Key", False),
        ("KeyError: 1", "keyerror", False),
        (None, "KeyError", False),
        (failure_text("T" * 100 + ": x"), "T" * 100, True),
        (failure_text("T" * 100 + ": x"), "T" * 60, False),
    ],
)
def test_a_job_has_the_type_of_its_last_error(
    last_failure: str | None, error_type: str, is_it: bool
) -> None:
    job = a_retrying_job(last_failure=last_failure)
    assert is_of_type(job, error_type) is is_it


def test_a_job_that_succeeded_has_no_error() -> None:
    job = a_job(status=JobStatus.SUCCEEDED, last_failure="KeyError: 1")
    assert not is_of_type(job, "KeyError")
