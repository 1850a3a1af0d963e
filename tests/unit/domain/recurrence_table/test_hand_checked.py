"""What fires where clocks are changed, worked out by hand from the published rules of each zone.

The dates of the changes were looked up in tzdata 2026f, too; what must then fire was not. Offsets
are written out, so that reading the table asks no database of zones.
"""

from __future__ import annotations

import pytest

from hourhand.domain.schedules.recurrence import DstFold, DstGap, Rule
from tests.unit.domain.recurrence_table.rows import Row, Window, by_policies

NEXT_VALID, SKIP, SHIFT = DstGap.NEXT_VALID, DstGap.SKIP, DstGap.SHIFT
FIRST, SECOND, BOTH = DstFold.FIRST, DstFold.SECOND, DstFold.BOTH

# European Union: at 01:00 UTC on the last Sundays of March and October. In Berlin, on 29 March 2026
# 02:00 CET becomes 03:00 CEST; on 25 October 2026 03:00 CEST becomes 02:00 CET.
BERLIN = "Europe/Berlin"
MARCH = Window(BERLIN, "2026-03-28T12:00+01:00", "2026-03-30T12:00+02:00")
GAP = Window(BERLIN, "2026-03-29T00:00+01:00", "2026-03-29T12:00+02:00")
OCTOBER = Window(BERLIN, "2026-10-24T12:00+02:00", "2026-10-26T12:00+01:00")
FOLD = Window(BERLIN, "2026-10-25T00:00+02:00", "2026-10-25T12:00+01:00")
BETWEEN_PASSES = Window(BERLIN, "2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00")

LEFT_OUT = [
    MARCH.row("30 2 * * *", "2026-03-29T03:00+02:00 2026-03-30T02:30+02:00", NEXT_VALID),
    MARCH.row("30 2 * * *", "2026-03-30T02:30+02:00", SKIP),
    MARCH.row("30 2 * * *", "2026-03-29T03:30+02:00 2026-03-30T02:30+02:00", SHIFT),
    # The first and the last time that are left out, and their neighbours that are not.
    GAP.row("0 2 * * *", "2026-03-29T03:00+02:00", NEXT_VALID),
    GAP.row("0 2 * * *", "2026-03-29T03:00+02:00", SHIFT),
    GAP.row("0 2 * * *", "", SKIP),
    GAP.row("59 2 * * *", "2026-03-29T03:00+02:00", NEXT_VALID),
    GAP.row("59 2 * * *", "2026-03-29T03:59+02:00", SHIFT),
    GAP.row("59 2 * * *", "", SKIP),
    GAP.row("59 1 * * *", "2026-03-29T01:59+01:00"),
    GAP.row("0 3 * * *", "2026-03-29T03:00+02:00"),
    # Several in one gap are one fire, and one with the regular fire at its end.
    GAP.row("15,45 2 * * *", "2026-03-29T03:00+02:00", NEXT_VALID),
    GAP.row("15,45 2 * * *", "", SKIP),
    GAP.row("15,45 2 * * *", "2026-03-29T03:15+02:00 2026-03-29T03:45+02:00", SHIFT),
    GAP.row("0,30 2,3 * * *", "2026-03-29T03:00+02:00 2026-03-29T03:30+02:00"),
    GAP.row(
        "10 1-4 * * *",
        "2026-03-29T01:10+01:00 2026-03-29T03:00+02:00 2026-03-29T03:10+02:00"
        " 2026-03-29T04:10+02:00",
        NEXT_VALID,
    ),
    GAP.row(
        "10 1-4 * * *",
        "2026-03-29T01:10+01:00 2026-03-29T03:10+02:00 2026-03-29T04:10+02:00",
        SHIFT,
    ),
]

REPEATED = [
    OCTOBER.row("30 2 * * *", "2026-10-25T02:30+02:00 2026-10-26T02:30+01:00", FIRST),
    OCTOBER.row("30 2 * * *", "2026-10-25T02:30+01:00 2026-10-26T02:30+01:00", SECOND),
    OCTOBER.row(
        "30 2 * * *",
        "2026-10-25T02:30+02:00 2026-10-25T02:30+01:00 2026-10-26T02:30+01:00",
        BOTH,
    ),
    FOLD.row("0 2 * * *", "2026-10-25T02:00+02:00", FIRST),
    FOLD.row("0 2 * * *", "2026-10-25T02:00+01:00", SECOND),
    FOLD.row("59 2 * * *", "2026-10-25T02:59+02:00", FIRST),
    FOLD.row("59 1 * * *", "2026-10-25T01:59+02:00"),
    FOLD.row("0 3 * * *", "2026-10-25T03:00+01:00"),
    FOLD.row(
        "0,30 2,3 * * *",
        "2026-10-25T02:00+02:00 2026-10-25T02:30+02:00 2026-10-25T03:00+01:00"
        " 2026-10-25T03:30+01:00",
        FIRST,
    ),
    FOLD.row(
        "0,30 2,3 * * *",
        "2026-10-25T02:00+01:00 2026-10-25T02:30+01:00 2026-10-25T03:00+01:00"
        " 2026-10-25T03:30+01:00",
        SECOND,
    ),
    FOLD.row(
        "0,30 2,3 * * *",
        "2026-10-25T02:00+02:00 2026-10-25T02:30+02:00 2026-10-25T02:00+01:00"
        " 2026-10-25T02:30+01:00 2026-10-25T03:00+01:00 2026-10-25T03:30+01:00",
        BOTH,
    ),
    # A window may begin with the first pass over and the second to come.
    BETWEEN_PASSES.row("30 2 * * *", "", FIRST),
    BETWEEN_PASSES.row("30 2 * * *", "2026-10-25T02:30+01:00", SECOND),
    BETWEEN_PASSES.row("30 2 * * *", "2026-10-25T02:30+01:00", BOTH),
]

# What runs in every hour follows real time, whatever the policies.
REAL_TIME = [
    Window(BERLIN, "2026-03-28T23:30+01:00", "2026-03-29T05:00+02:00").row(
        "0 * * * *",
        "2026-03-29T00:00+01:00 2026-03-29T01:00+01:00 2026-03-29T03:00+02:00"
        " 2026-03-29T04:00+02:00 2026-03-29T05:00+02:00",
    ),
    Window(BERLIN, "2026-10-25T00:30+02:00", "2026-10-25T04:00+01:00").row(
        "0 * * * *",
        "2026-10-25T01:00+02:00 2026-10-25T02:00+02:00 2026-10-25T02:00+01:00"
        " 2026-10-25T03:00+01:00 2026-10-25T04:00+01:00",
    ),
    Window(BERLIN, "2026-03-29T01:30+01:00", "2026-03-29T03:30+02:00").row(
        "*/15 * * * *",
        "2026-03-29T01:45+01:00 2026-03-29T03:00+02:00 2026-03-29T03:15+02:00"
        " 2026-03-29T03:30+02:00",
    ),
    Window(BERLIN, "2026-10-25T02:30+02:00", "2026-10-25T03:00+01:00").row(
        "*/15 * * * *",
        "2026-10-25T02:45+02:00 2026-10-25T02:00+01:00 2026-10-25T02:15+01:00"
        " 2026-10-25T02:30+01:00 2026-10-25T02:45+01:00 2026-10-25T03:00+01:00",
    ),
    # A step within some hours is a list of times of day.
    GAP.row("*/30 2 * * *", "2026-03-29T03:00+02:00", NEXT_VALID),
    GAP.row("*/30 2 * * *", "", SKIP),
    GAP.row("*/30 2 * * *", "2026-03-29T03:00+02:00 2026-03-29T03:30+02:00", SHIFT),
    FOLD.row("*/30 2 * * *", "2026-10-25T02:00+02:00 2026-10-25T02:30+02:00", FIRST),
    FOLD.row("*/30 2 * * *", "2026-10-25T02:00+01:00 2026-10-25T02:30+01:00", SECOND),
    Window(BERLIN, "2026-10-24T23:00+02:00", "2026-10-25T05:00+01:00").row(
        "15 */2 * * *",
        "2026-10-25T00:15+02:00 2026-10-25T02:15+02:00 2026-10-25T04:15+01:00",
        FIRST,
    ),
    # Every hour by a range is every hour.
    Window(BERLIN, "2026-10-25T02:30+02:00", "2026-10-25T03:00+01:00").row(
        "0-59/15 0-23 * * *",
        "2026-10-25T02:45+02:00 2026-10-25T02:00+01:00 2026-10-25T02:15+01:00"
        " 2026-10-25T02:30+01:00 2026-10-25T02:45+01:00 2026-10-25T03:00+01:00",
    ),
]

# at(): one local time; it can be left out or come twice as any other.
ONCE = [
    GAP.row("at(2026-03-29T02:30)", "2026-03-29T03:00+02:00", NEXT_VALID),
    GAP.row("at(2026-03-29T02:30)", "", SKIP),
    GAP.row("at(2026-03-29T02:30:15)", "2026-03-29T03:30:15+02:00", SHIFT),
    GAP.row("at(2026-03-29T09:00:00)", "2026-03-29T09:00+02:00"),
    FOLD.row("at(2026-10-25T02:30)", "2026-10-25T02:30+02:00", FIRST),
    FOLD.row("at(2026-10-25T02:30)", "2026-10-25T02:30+01:00", SECOND),
    FOLD.row("at(2026-10-25T02:30)", "2026-10-25T02:30+02:00 2026-10-25T02:30+01:00", BOTH),
    GAP.row("at(2026-03-28T09:00)", ""),
]

# rate(): elapsed time; a day is 24 hours, and local times move with the clocks.
ELAPSED = [
    MARCH.row(
        "rate(1 day)",
        "2026-03-29T10:00+02:00 2026-03-30T10:00+02:00",
        anchor="2026-03-28T09:00+01:00",
    ),
    OCTOBER.row(
        "rate(1 day)",
        "2026-10-25T08:00+01:00 2026-10-26T08:00+01:00",
        anchor="2026-10-24T09:00+02:00",
    ),
    Window(BERLIN, "2026-10-25T01:00+02:00", "2026-10-25T03:10+01:00").row(
        "rate(45 minutes)",
        "2026-10-25T01:45+02:00 2026-10-25T02:30+02:00 2026-10-25T02:15+01:00"
        " 2026-10-25T03:00+01:00",
        anchor="2026-10-25T01:00+02:00",
    ),
    # The anchor may lie behind the window: the whole multiples are before it, too.
    Window("UTC", "2026-10-24T00:00+00:00", "2026-10-24T06:00+00:00").row(
        "rate(2 hours)",
        "2026-10-24T01:30+00:00 2026-10-24T03:30+00:00 2026-10-24T05:30+00:00",
        anchor="2026-10-25T01:30+00:00",
    ),
]

# Six bare fields have seconds first.
SECONDS = [
    GAP.row("30 15 2 * * *", "2026-03-29T03:00+02:00", NEXT_VALID),
    GAP.row("30 15 2 * * *", "2026-03-29T03:15:30+02:00", SHIFT),
    GAP.row("30 15 2 * * *", "", SKIP),
    GAP.row("*/20 30 2 * * *", "2026-03-29T03:00+02:00", NEXT_VALID),
    GAP.row(
        "*/20 0 3 * * *",
        "2026-03-29T03:00+02:00 2026-03-29T03:00:20+02:00 2026-03-29T03:00:40+02:00",
    ),
    FOLD.row("30 15 2 * * *", "2026-10-25T02:15:30+02:00", FIRST),
    FOLD.row("30 15 2 * * *", "2026-10-25T02:15:30+01:00", SECOND),
    Window(BERLIN, "2026-03-29T01:59:00+01:00", "2026-03-29T03:00:30+02:00").row(
        "*/30 * * * * *",
        "2026-03-29T01:59:30+01:00 2026-03-29T03:00:00+02:00 2026-03-29T03:00:30+02:00",
    ),
]

ALL = [*LEFT_OUT, *REPEATED, *REAL_TIME, *ONCE, *ELAPSED, *SECONDS]


@pytest.mark.parametrize(("row", "rule"), by_policies(ALL))
def test_it_fires_as_worked_out_by_hand(row: Row, rule: Rule) -> None:
    row.check(rule)
