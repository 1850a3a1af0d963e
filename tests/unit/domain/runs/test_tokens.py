"""Tokens of callbacks: one text for each, and no text that is none is read."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.runs.tokens import MAX_TOKEN, CallbackToken, hide_token, read_token

ids = st.from_regex(r"[A-Za-z0-9_-]{1,100}|[ckou]\.[a-z2-7]{32}", fullmatch=True)
paths = st.from_regex(r"[A-Za-z0-9_./:-]{1,200}", fullmatch=True)
tokens = st.builds(
    CallbackToken, ids, st.binary(min_size=16, max_size=16), st.integers(0, 2**32 - 1), paths
)
ONE = CallbackToken("run-1", bytes(range(16)), 3, "left/paid.2")


@given(tokens)
def test_a_token_is_read_back_from_its_text(token: CallbackToken) -> None:
    text = str(token)
    assert read_token(text) == token
    assert len(text) <= MAX_TOKEN
    assert text.isascii()


@given(st.one_of(st.text(), st.text().map(lambda text: f"cb_{text}")))
def test_no_other_text_is_a_token(text: str) -> None:
    token = read_token(text)
    assert token is None or str(token) == text


def _with(data: bytes) -> str:
    return "cb_" + base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _data() -> bytes:
    text = str(ONE).removeprefix("cb_")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cb_",
        str(ONE).removeprefix("cb_"),
        str(ONE) + "A" * MAX_TOKEN,
        str(ONE)[:-1],
        str(ONE) + "=",
        _with(b"\x02" + _data()[1:]),
        _with(_data()[:20]),
        _with(b"\x01\x05run 1" + _data()[7:]),
        _with(_data() + "é".encode()),
        _with(_data() + b" "),
    ],
)
def test_a_text_that_is_no_token_is_refused(text: str) -> None:
    assert read_token(text) is None


@pytest.mark.parametrize("end", ["", "/succeed", "?a=1", "/fail?a=1"])
def test_an_address_is_shown_without_the_token_of_a_callback(end: str) -> None:
    for start in ("", "POST ", "https://api.example.org", "https://example.org/prod"):
        shown = hide_token(f"{start}/v1/callbacks/{ONE}{end}")
        assert shown == f"{start}/v1/callbacks/{{token}}{end}"
    assert hide_token("/v1/jobs/j1/signals/paid") == "/v1/jobs/j1/signals/paid"


def test_a_token_that_is_printed_shows_no_secret() -> None:
    assert str(ONE.secret) not in repr(ONE)
