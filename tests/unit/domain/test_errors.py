"""One family of errors, each with a code that callers can rely on."""

from __future__ import annotations

import pytest

from hourhand.domain import errors
from hourhand.domain.errors import FieldError, HourhandError, InvalidInput, NotSupportedYet

STATUS_BY_CODE = {
    "error": 500,
    "bad_request": 400,
    "forbidden": 403,
    "not_found": 404,
    "wrong_state": 409,
    "idempotency_conflict": 409,
    "count_changed": 409,
    "too_large": 413,
    "invalid": 422,
    "not_supported_yet": 422,
    "unavailable": 503,
    "illegal_move": 500,
    "written_by_newer": 503,
}


def _all_errors() -> list[type[HourhandError]]:
    found = [e for e in vars(errors).values() if isinstance(e, type)]
    return [e for e in found if issubclass(e, HourhandError)]


def test_every_code_is_unique_and_has_its_status() -> None:
    assert len(_all_errors()) == len(STATUS_BY_CODE)
    assert {e.code: e.status for e in _all_errors()} == STATUS_BY_CODE


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
