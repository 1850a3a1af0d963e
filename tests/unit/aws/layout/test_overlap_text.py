from __future__ import annotations

import pytest

from hourhand.aws.layout.overlap_text import overlap_text, read_overlap
from hourhand.domain.groups.overlap import Overlap, OverlapPolicy


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
