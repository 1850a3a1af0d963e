"""The texts of the journal and of overlaps."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.aws.layout.journal_text import journal_text, read_journal
from hourhand.aws.layout.overlap_text import overlap_text, read_overlap
from hourhand.domain.groups.overlap import Overlap, OverlapPolicy
from hourhand.domain.schedules.schedule import JournalEntry, SkipReason
from hourhand.memory import START

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def made(first: timedelta, **changes: object) -> JournalEntry:
    at = START + first
    return JournalEntry(**{"first": at, "last": at, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        (made(HOUR), "2s0"),
        (made(-HOUR), "-2s0"),
        (made(timedelta(0)), "0"),
        (made(HOUR + timedelta(milliseconds=7)), "2s0.007"),
        (made(-timedelta(milliseconds=250)), "-0.250"),
        (made(HOUR, reason=SkipReason.OVERLAP), "2s0O"),
        (
            made(HOUR, last=START + 3 * HOUR, count=3, reason=SkipReason.PAUSED),
            "2s0P_5k0*3",
        ),
        (
            made(HOUR, last=START, count=37, reason=SkipReason.MISFIRE, is_least=True),
            "2s0M_-2s0*11+",
        ),
        (made(HOUR, salt="trigger"), "2s0~trigger"),
        (made(HOUR, salt="a,b ~%"), "2s0~a%2Cb%20~%25"),
        (made(HOUR, count=0), "2s0*0"),
    ],
)
def test_an_entry_is_told_by_its_distance_from_the_one_before(
    entry: JournalEntry, written: str
) -> None:
    base = made(timedelta(0))
    text = journal_text((base, entry))
    assert text == f"{journal_text((base,))},{written}"
    assert read_journal(text) == (base, entry)


def test_an_empty_journal_is_an_empty_text() -> None:
    assert journal_text(()) == ""
    assert read_journal("") == ()


@pytest.mark.parametrize("reason", SkipReason)
def test_every_reason_has_its_letter(reason: SkipReason) -> None:
    entry = made(HOUR, reason=reason)
    assert read_journal(journal_text((entry,))) == (entry,)


def test_an_hour_apart_takes_four_characters_an_entry() -> None:
    journal = tuple(made(n * HOUR) for n in range(25))
    assert len(journal_text(journal)) == len(journal_text(journal[:1])) + 24 * 4


@pytest.mark.parametrize("written", ["?", "1o0,", "1o0 P", "1o0PP", "1o0.25"])
def test_what_is_no_journal_is_not_misread(written: str) -> None:
    with pytest.raises(ValueError, match="is no entry of a journal"):
        read_journal(written)


@pytest.mark.parametrize(
    ("overlap", "written"),
    [
        (Overlap(group="daily"), "S1.100"),
        (Overlap(group="daily", policy=OverlapPolicy.ALLOW, max_running=3), "A3.100"),
        (Overlap(group="daily", policy=OverlapPolicy.BUFFER_ONE), "O1.100"),
        (Overlap(group="daily", policy=OverlapPolicy.CANCEL_OTHER), "C1.100"),
        (
            Overlap(
                group="daily.b7",
                policy=OverlapPolicy.BUFFER_ALL,
                max_running=100,
                buffer_limit=1000,
                newest_first=True,
            ),
            "Bn100.1000+b7",
        ),
        (Overlap(group="a:b"), "S1.100:a:b"),
        (Overlap(group="daily."), "S1.100+"),
        (Overlap(group="daily.a+b:c\n"), "S1.100+a+b:c\n"),
        (Overlap(group="dailies.a+b"), "S1.100:dailies.a+b"),
        (Overlap(group=""), "S1.100:"),
    ],
)
def test_an_overlap_is_one_short_text(overlap: Overlap, written: str) -> None:
    assert overlap_text(overlap, "daily") == written
    assert read_overlap(written, "daily") == overlap


@pytest.mark.parametrize("policy", OverlapPolicy)
def test_every_policy_has_its_letter(policy: OverlapPolicy) -> None:
    overlap = Overlap(group="daily", policy=policy)
    assert read_overlap(overlap_text(overlap, None), None) == overlap


def test_a_group_that_was_written_in_full_is_read_as_well() -> None:
    assert read_overlap("S1.100:daily.b7", "daily") == Overlap(group="daily.b7")


@pytest.mark.parametrize("written", ["", "S", "S1", "S1.", "s1.100", "S1.100 daily", "Sx1.100"])
def test_anything_else_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is no overlap"):
        read_overlap(written, "daily")
