"""Zones come from the pinned package alone, by the names of its list."""

from __future__ import annotations

from datetime import timedelta

import pytest
import tzdata

from hourhand.domain.schedules.recurrence import TZDATA_VERSION, BadExpression, zone_named


def test_a_zone_has_the_rules_of_the_pinned_package() -> None:
    assert TZDATA_VERSION == tzdata.IANA_VERSION
    assert zone_named("Asia/Kathmandu").key == "Asia/Kathmandu"
    assert zone_named("Asia/Kathmandu").utcoffset(None) is None
    assert zone_named("UTC").utcoffset(None) == timedelta(0)


def test_a_zone_is_read_once() -> None:
    assert zone_named("Europe/Berlin") is zone_named("Europe/Berlin")


@pytest.mark.parametrize(
    "name",
    ["", "../zones", "/etc/localtime", "Europe/../UTC", "Europe", "Europe/Berlin\0", "x" * 1000],
)
def test_only_names_of_the_list_are_made_into_a_path(name: str) -> None:
    with pytest.raises(BadExpression, match="There is no time zone"):
        zone_named(name)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("america/new york", "America/New_York"),
        ("Lord_Howe", "Australia/Lord_Howe"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(wrong: str, meant: str) -> None:
    with pytest.raises(BadExpression, match=rf"Did you mean .*\b{meant}\b"):
        zone_named(wrong)


def test_a_name_like_no_other_is_answered_without_a_guess() -> None:
    with pytest.raises(BadExpression) as raised:
        zone_named("qqqqqqqqqq")
    assert raised.value.detail.endswith("as Europe/Berlin.")


def test_a_wrong_zone_is_invalid_input_and_no_error_of_ours() -> None:
    assert (BadExpression.code, BadExpression.status) == ("invalid", 422)
