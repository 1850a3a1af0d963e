"""``--fields`` picks fields by their names, and refuses one that does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import typer

from hourhand.answers.answered import Answered
from hourhand.answers.batches import BulkResult
from hourhand.answers.jobs import Job, JobSummary
from hourhand.answers.schedules import Schedule
from hourhand.cli.exits import CommandError
from hourhand.cli.output.fields import read_fields

RECORD = {
    "id": "a",
    "retry": {"max_attempts": 6, "jitter": "full"},
    "attempts": [{"number": 1, "worker": "w"}, {"number": 2, "worker": "v"}],
    "error": None,
    "tags": {},
    "is_final": True,
}


@pytest.mark.parametrize(
    ("text", "picked", "cells"),
    [
        ("id", {"id": "a"}, ["a"]),
        ("is_final, id", {"is_final": True, "id": "a"}, ["true", "a"]),
        ("retry.jitter", {"retry": {"jitter": "full"}}, ["full"]),
        (
            "retry.jitter,retry.max_attempts",
            {"retry": {"jitter": "full", "max_attempts": 6}},
            ["full", "6"],
        ),
        ("retry", {"retry": RECORD["retry"]}, ['{"max_attempts": 6, "jitter": "full"}']),
        ("retry.jitter,retry", {"retry": RECORD["retry"]}, None),
        ("attempts.number", {"attempts": [{"number": 1}, {"number": 2}]}, ["1, 2"]),
        ("error.type,tags", {"error": None, "tags": {}}, ["-", "{}"]),
        ("id,id", {"id": "a"}, ["a"]),
    ],
)
def test_the_fields_are_picked_in_the_order_given(
    text: str, picked: dict[str, Any], cells: list[str] | None
) -> None:
    fields = read_fields(text)
    fields.check_record(RECORD)
    assert fields.pick(RECORD) == picked
    assert list(fields.pick(RECORD)) == list(picked)
    assert cells is None or fields.cells(RECORD) == cells


@pytest.mark.parametrize("text", ["", ",", "a,,b", "a.", ".a", "a..b"])
def test_what_names_no_field_is_wrong_usage(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="must be names such as"):
        read_fields(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("state", "'state' is not a field. The fields are attempts, error, id, is_final, retry"),
        ("retry.max", "'retry.max' is not a field. The fields of retry are jitter, max_attempts."),
        ("attempts.at", "'attempts.at' is not a field. The fields of attempts are number, worker."),
        ("id.x", "'id.x' is not a field. id has no fields of its own."),
    ],
)
def test_a_field_that_the_record_lacks_is_refused_with_what_there_is(text: str, said: str) -> None:
    with pytest.raises(CommandError) as raised:
        read_fields(text).check_record(RECORD)
    assert said in str(raised.value)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("kinds", "text", "said"),
    [
        ((JobSummary,), "payload", "'payload' is not a field. The fields are attempt, attempts, "),
        ((Job,), "error.typ", "The fields of error are message, retryable, traceback, type."),
        ((Job,), "attempts.error.typ", "The fields of attempts.error are message, "),
        ((Job,), "due_at.year", "due_at has no fields of its own."),
        ((Schedule,), "misfire.window", "The fields of misfire are policy, window_seconds."),
    ],
)
def test_a_field_that_no_answer_has_is_refused_though_there_is_no_record_yet(
    kinds: Sequence[type[Answered]], text: str, said: str
) -> None:
    with pytest.raises(CommandError) as raised:
        read_fields(text).check_kinds(kinds)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        ((Job,), "payload.user.name,result,tags.order,omitted,error.type,lease.owner"),
        ((Job, BulkResult), "id,matched,failed.id,failed.error.detail"),
        ((Schedule,), "backfills.done,exclude,keep.failed"),
    ],
)
def test_what_an_author_named_may_have_any_name(kinds: Sequence[type[Answered]], text: str) -> None:
    read_fields(text).check_kinds(kinds)
