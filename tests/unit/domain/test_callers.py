"""How a caller is named: by a short key in events, by its identity for people."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.callers import (
    LOCAL,
    caller_key,
    identity_of,
    is_caller,
    is_key,
    name_of,
)

ALICE = "arn:aws:iam::123456789012:user/alice"


@given(st.text(min_size=1), st.integers(0, 3))
def test_a_key_has_nine_characters_that_history_does_not_escape(identity: str, number: int) -> None:
    key = caller_key(identity, number)

    assert key == LOCAL if identity == LOCAL else re.fullmatch(r"@[A-Za-z0-9_-]{8}", key)


def test_a_key_is_that_of_one_identity_and_number() -> None:
    keys = {caller_key(ALICE), caller_key(ALICE, 1), caller_key(ALICE + "x"), caller_key(LOCAL)}

    assert len(keys) == 4
    assert caller_key(ALICE) == caller_key(ALICE)


@pytest.mark.parametrize(
    ("actor", "expected"),
    [
        ("tick", None),
        ("api", None),
        ("w-0123abcd", None),
        ("pause_on_failure", None),
        (LOCAL, LOCAL),
        ("@abcdefgh", ALICE),
        ("@unknown1", "unknown:unknown1"),
    ],
)
def test_an_actor_is_a_component_or_a_caller(actor: str, expected: str | None) -> None:
    assert identity_of(actor, {"@abcdefgh": ALICE}) == expected
    assert is_caller(actor) is (expected is not None)
    assert is_key(actor) is actor.startswith("@")


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        (LOCAL, "local"),
        (ALICE, "alice"),
        ("arn:aws:iam::123456789012:root", "root"),
        ("arn:aws:sts::123456789012:assumed-role/Admin/bob@example.com", "Admin-bob-example-com"),
        ("AIDAEXAMPLE", "AIDAEXAMPLE"),
        ("auth0|5f7c", "auth0-5f7c"),
        ("a.b.c", "a-b-c"),
        ("...", "caller"),
        ("first" + "x" * 40 + "last", "x" * 28 + "last"),
    ],
)
def test_a_caller_has_a_short_name(identity: str, name: str) -> None:
    assert name_of(identity) == name
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name)
