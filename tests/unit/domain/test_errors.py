"""One family of errors, each with a code that callers can rely on."""

from __future__ import annotations

import pytest

from hourhand.domain import errors
from hourhand.domain.errors import (
    MAX_COMPARED_CHARACTERS,
    MAX_COMPARED_NAMES,
    FieldError,
    HourhandError,
    InvalidInput,
    NotSupportedYet,
    did_you_mean,
    near_names,
    unknown_field,
)

STATUS_BY_CODE = {
    "error": 500,
    "bad_request": 400,
    "forbidden": 403,
    "not_found": 404,
    "wrong_state": 409,
    "idempotency_conflict": 409,
    "count_changed": 409,
    "unique_conflict": 409,
    "already_completed": 409,
    "batch_closed": 409,
    "members_missing": 409,
    "compensated": 409,
    "not_durable": 409,
    "run_ended": 409,
    "too_large": 413,
    "invalid": 422,
    "deadlock": 422,
    "no_keyed_limit": 422,
    "invalid_unique": 422,
    "invalid_debounce": 422,
    "missing_key": 422,
    "not_supported_yet": 422,
    "quota_exceeded": 429,
    "unavailable": 503,
    "illegal_move": 500,
    "written_by_newer": 503,
}


def _all_errors() -> list[type[HourhandError]]:
    found = [e for e in vars(errors).values() if isinstance(e, type)]
    return [e for e in found if issubclass(e, HourhandError)]


def test_every_code_is_unique_and_has_its_status() -> None:
    # Callers see one without a code of its own as that which it inherits from.
    with_code = [e for e in _all_errors() if "code" in vars(e)]
    assert len(with_code) == len(STATUS_BY_CODE)
    assert {e.code: e.status for e in with_code} == STATUS_BY_CODE


@pytest.mark.parametrize("error", _all_errors())
def test_an_error_says_something_to_people_even_if_nobody_told_it(
    error: type[HourhandError],
) -> None:
    assert str(error()) == error().detail
    assert error().detail.endswith(".")


def test_a_given_detail_and_its_fields_are_kept() -> None:
    wrong = (FieldError("run_at", "must carry an offset"),)
    error = InvalidInput("run_at is wrong.", errors=wrong)
    assert (str(error), error.errors) == ("run_at is wrong.", wrong)


def test_what_is_not_supported_yet_is_invalid_input() -> None:
    with pytest.raises(InvalidInput):
        raise NotSupportedYet


@pytest.mark.parametrize(
    ("wrong", "known", "near"),
    [
        ("dyas", ["to", "days"], ["days"]),
        ("delay", ["run_at", "delay_seconds"], ["delay_seconds"]),
        ("report", ["send-report", "billing.report", "greet"], ["send-report", "billing.report"]),
        ("jobs", ["job", "jobs_a", "jobs_b", "jobs_c"], ["job", "jobs_c", "jobs_b"]),
        ("invoice", ["greet"], []),
        ("", ["greet"], []),
        ("a" * (MAX_COMPARED_CHARACTERS + 1), ["a" * MAX_COMPARED_CHARACTERS], []),
        ("greet", [*map(str, range(MAX_COMPARED_NAMES)), "great"], []),
    ],
)
def test_names_alike_and_names_with_it_as_a_word_are_near(
    wrong: str, known: list[str], near: list[str]
) -> None:
    assert near_names(wrong, known) == near


def test_a_question_names_what_was_probably_meant() -> None:
    assert did_you_mean("dyas", ["to", "days"]) == "Did you mean 'days'?"
    assert did_you_mean("a_b", ["a_c", "a_d"]) == "Did you mean 'a_d' or 'a_c'?"
    assert did_you_mean("cron", ["a"], {"cron": "expression"}) == "Did you mean 'expression'?"
    assert did_you_mean("cron", ["a"]) == ""


def test_an_unknown_field_is_told_with_what_was_meant_and_on_demand_with_all_fields() -> None:
    assert unknown_field("dyas", ["to", "days"]) == (
        "is not a known field. Did you mean 'days'? The fields are to, days"
    )
    assert unknown_field("x", ["to"]) == "is not a known field. The fields are to"
    assert unknown_field("x", []) == "is not a known field. There are no fields"
    assert unknown_field("x", ["to"], lists_all=False) == "is not a known field"
