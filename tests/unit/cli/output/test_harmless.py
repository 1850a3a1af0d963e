"""Text of others cannot command a terminal, nor the library that prints it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hourhand.cli.output.harmless import block, cell, harmless, harmless_lines

CLEAR = "\x1b[2J\x1b[H"
TITLE = "\x1b]0;owned\x07"
LINK = "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\"
C1_CLEAR = "\x9b2J"
TURNED = "invoice\u202etxt.exe"
HOSTILE = (
    CLEAR,
    TITLE,
    LINK,
    C1_CLEAR,
    TURNED,
    "a\rb",
    "a\bb",
    "a\x00b",
    "\x7f",
    "\ud800",
    "\u2028",
)
COMMANDS = {chr(code) for code in (*range(32), 0x7F, *range(0x80, 0xA0))}


@pytest.mark.parametrize("text", HOSTILE)
def test_no_sequence_that_a_terminal_obeys_gets_through(text: str) -> None:
    told = harmless(text)
    assert not COMMANDS & set(told)
    assert "\u202e" not in told


@given(st.text())
def test_no_text_at_all_holds_a_control_character_afterwards(text: str) -> None:
    assert not COMMANDS & set(harmless(text))
    assert not (COMMANDS - {"\n", "\t"}) & set(harmless_lines(text))


def test_what_was_taken_out_is_still_to_be_seen() -> None:
    assert harmless(CLEAR) == "\\x1b[2J\\x1b[H"
    assert harmless(TURNED) == "invoice\\u202etxt.exe"


@pytest.mark.parametrize(
    "text", ["plain", "größer", "日本語", "naïve 🙂", "👩\u200d🚀", "नि\u200dषाद"]
)
def test_letters_of_all_scripts_are_left_as_they_are(text: str) -> None:
    assert harmless(text) == text


def test_one_line_stays_one_line_and_many_stay_many() -> None:
    assert harmless("a\nb\tc") == "a\\nb\\tc"
    assert harmless_lines("a\r\nb\tc\x1b[0m") == "a\nb\tc\\x1b[0m"


@pytest.mark.parametrize(
    "text", ["[bold]x[/]", "[red]", "[/]", "[link=http://x]y[/link]", ":smile:"]
)
def test_what_looks_like_markup_is_shown_as_it_stands(text: str) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    console.print(cell(text))
    console.print(block(text))
    assert stream.getvalue().count(text) == 2
