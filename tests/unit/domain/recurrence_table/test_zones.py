"""The same by hand for zones that change their clocks in other ways."""

from __future__ import annotations

import pytest

from hourhand.domain.schedules.recurrence import DstFold, DstGap, Rule
from tests.unit.domain.recurrence_table.rows import Row, Window, by_policies

NEXT_VALID, SKIP, SHIFT = DstGap.NEXT_VALID, DstGap.SKIP, DstGap.SHIFT
FIRST, SECOND, BOTH = DstFold.FIRST, DstFold.SECOND, DstFold.BOTH

# United States: at 02:00 on the second Sunday of March, back at 02:00 on the first of November.
NY_GAP = Window("America/New_York", "2026-03-08T00:00-05:00", "2026-03-08T12:00-04:00")
NY_FOLD = Window("America/New_York", "2026-11-01T00:00-04:00", "2026-11-01T12:00-05:00")
NEW_YORK = [
    NY_GAP.row("30 2 * * *", "2026-03-08T03:00-04:00", NEXT_VALID),
    NY_GAP.row("30 2 * * *", "2026-03-08T03:30-04:00", SHIFT),
    NY_GAP.row("30 2 * * *", "", SKIP),
    NY_GAP.row("30 1 * * *", "2026-03-08T01:30-05:00"),
    NY_FOLD.row("30 1 * * *", "2026-11-01T01:30-04:00", FIRST),
    NY_FOLD.row("30 1 * * *", "2026-11-01T01:30-05:00", SECOND),
    NY_FOLD.row("30 1 * * *", "2026-11-01T01:30-04:00 2026-11-01T01:30-05:00", BOTH),
    NY_FOLD.row("0 2 * * *", "2026-11-01T02:00-05:00"),
]

# At 01:00 UTC as in all of Europe, which is 01:00 here. Irish law calls the summer time the
# standard, so that tz has negative daylight saving in Dublin's winter; the clocks show the same.
ISLANDS = [
    row
    for zone in ("Europe/London", "Europe/Dublin")
    for gap in [Window(zone, "2026-03-29T00:00+00:00", "2026-03-29T12:00+01:00")]
    for fold in [Window(zone, "2026-10-25T00:00+01:00", "2026-10-25T12:00+00:00")]
    for row in [
        gap.row("30 1 * * *", "2026-03-29T02:00+01:00", NEXT_VALID),
        gap.row("30 1 * * *", "2026-03-29T02:30+01:00", SHIFT),
        gap.row("30 1 * * *", "", SKIP),
        gap.row("30 2 * * *", "2026-03-29T02:30+01:00"),
        fold.row("30 1 * * *", "2026-10-25T01:30+01:00", FIRST),
        fold.row("30 1 * * *", "2026-10-25T01:30+00:00", SECOND),
        fold.row("30 1 * * *", "2026-10-25T01:30+01:00 2026-10-25T01:30+00:00", BOTH),
        fold.row("0 2 * * *", "2026-10-25T02:00+00:00"),
    ]
]

# Chile: Saturdays at 24:00, that of 5 September 2026 forward and that of 4 April back. The day
# that begins at 01:00 has no midnight, the other Saturday ends twice.
SANTIAGO = "America/Santiago"
CL_GAP = Window(SANTIAGO, "2026-09-05T12:00-04:00", "2026-09-06T12:00-03:00")
CL_FOLD = Window(SANTIAGO, "2026-04-04T12:00-03:00", "2026-04-05T12:00-04:00")
CHILE = [
    CL_GAP.row("0 0 * * *", "2026-09-06T01:00-03:00", NEXT_VALID),
    CL_GAP.row("@daily", "2026-09-06T01:00-03:00", NEXT_VALID),
    CL_GAP.row("0 0 * * *", "2026-09-06T01:00-03:00", SHIFT),
    CL_GAP.row("0 0 * * *", "", SKIP),
    # The missing half past midnight is of the 6th, a Sunday, and not of the day before.
    CL_GAP.row("30 0 6 9 *", "2026-09-06T01:00-03:00", NEXT_VALID),
    CL_GAP.row("30 0 6 9 *", "2026-09-06T01:30-03:00", SHIFT),
    CL_GAP.row("30 0 * * SUN", "2026-09-06T01:00-03:00", NEXT_VALID),
    CL_GAP.row("30 0 5 9 *", ""),
    CL_GAP.row("30 0 * * SAT", ""),
    CL_GAP.row("59 23 5 * *", "2026-09-05T23:59-04:00"),
    Window(SANTIAGO, "2026-09-05T23:00-04:00", "2026-09-06T01:30-03:00").row(
        "*/30 * 6 9 *", "2026-09-06T01:00-03:00 2026-09-06T01:30-03:00"
    ),
    CL_GAP.row("30 * * * 0#1", "".join(f" 2026-09-06T{h:02}:30-03:00" for h in range(1, 12))),
    CL_FOLD.row("30 23 * * *", "2026-04-04T23:30-03:00", FIRST),
    CL_FOLD.row("30 23 * * *", "2026-04-04T23:30-04:00", SECOND),
    CL_FOLD.row("30 23 4 4 SAT", "2026-04-04T23:30-03:00 2026-04-04T23:30-04:00", BOTH),
    CL_FOLD.row("0 0 * * *", "2026-04-05T00:00-04:00"),
    CL_FOLD.row("0 23 5 4 *", ""),
]

# Lord Howe Island: half an hour; at 02:00 on the first Sundays of October and April.
LORD_HOWE = "Australia/Lord_Howe"
LH_GAP = Window(LORD_HOWE, "2026-10-04T00:00+10:30", "2026-10-04T12:00+11:00")
LH_FOLD = Window(LORD_HOWE, "2026-04-05T00:00+11:00", "2026-04-05T12:00+10:30")
HALF_AN_HOUR = [
    LH_GAP.row("15 2 * * *", "2026-10-04T02:30+11:00", NEXT_VALID),
    LH_GAP.row("15 2 * * *", "2026-10-04T02:45+11:00", SHIFT),
    LH_GAP.row("15 2 * * *", "", SKIP),
    LH_GAP.row("0,15,30 2 * * *", "2026-10-04T02:30+11:00", NEXT_VALID),
    LH_GAP.row("0,15,30 2 * * *", "2026-10-04T02:30+11:00", SKIP),
    LH_GAP.row("0,15,30 2 * * *", "2026-10-04T02:30+11:00 2026-10-04T02:45+11:00", SHIFT),
    LH_GAP.row("45 2 * * *", "2026-10-04T02:45+11:00"),
    LH_FOLD.row("45 1 * * *", "2026-04-05T01:45+11:00", FIRST),
    LH_FOLD.row("45 1 * * *", "2026-04-05T01:45+10:30", SECOND),
    LH_FOLD.row(
        "15,45 1 * * *",
        "2026-04-05T01:15+11:00 2026-04-05T01:45+11:00 2026-04-05T01:45+10:30",
        BOTH,
    ),
    LH_FOLD.row("15 1 * * *", "2026-04-05T01:15+11:00"),
    Window(LORD_HOWE, "2026-10-04T01:30+10:30", "2026-10-04T02:45+11:00").row(
        "*/15 * * * *", "2026-10-04T01:45+10:30 2026-10-04T02:30+11:00 2026-10-04T02:45+11:00"
    ),
    Window(LORD_HOWE, "2026-04-05T01:30+11:00", "2026-04-05T02:00+10:30").row(
        "*/15 * * * *",
        "2026-04-05T01:45+11:00 2026-04-05T01:30+10:30 2026-04-05T01:45+10:30"
        " 2026-04-05T02:00+10:30",
    ),
    Window(LORD_HOWE, "2026-10-04T01:00+10:30", "2026-10-04T03:00+11:00").row(
        "40 * * * *", "2026-10-04T01:40+10:30 2026-10-04T02:40+11:00"
    ),
    Window(LORD_HOWE, "2026-04-05T01:00+11:00", "2026-04-05T03:00+10:30").row(
        "40 * * * *", "2026-04-05T01:40+11:00 2026-04-05T01:40+10:30 2026-04-05T02:40+10:30"
    ),
    LH_GAP.row("* 10 * * *", "".join(f" 2026-10-04T10:{m:02}+11:00" for m in range(60))),
]

# Samoa went over the date line: after 29 December 2011, UTC-10, came the 31st, UTC+14.
APIA = Window("Pacific/Apia", "2011-12-29T00:00-10:00", "2012-01-01T00:00+14:00")
NO_SUCH_DAY = [
    APIA.row(
        "0 12 * * *",
        "2011-12-29T12:00-10:00 2011-12-31T00:00+14:00 2011-12-31T12:00+14:00",
        NEXT_VALID,
    ),
    APIA.row("0 12 * * *", "2011-12-29T12:00-10:00 2011-12-31T12:00+14:00", SKIP),
    # 24 hours later, at the same instant as the fire of the 31st.
    APIA.row("0 12 * * *", "2011-12-29T12:00-10:00 2011-12-31T12:00+14:00", SHIFT),
    APIA.row("0,30 9-17 30 12 *", "2011-12-31T00:00+14:00", NEXT_VALID),
    APIA.row("30 9 30 12 *", "2011-12-31T09:30+14:00", SHIFT),
    APIA.row("30 9 30 12 *", "", SKIP),
    APIA.row("0 9 * * FRI", "2011-12-31T00:00+14:00", NEXT_VALID),
    APIA.row("0 * 30 12 *", ""),
    APIA.row("at(2011-12-30T12:00)", "2011-12-31T00:00+14:00", NEXT_VALID),
    APIA.row(
        "rate(1 day)",
        "2011-12-29T08:00-10:00 2011-12-31T08:00+14:00",
        anchor="2011-12-29T08:00-10:00",
    ),
]

# Nepal never changes its clocks, a quarter of an hour off.
KATHMANDU = Window("Asia/Kathmandu", "2026-03-28T00:00+00:00", "2026-03-30T00:00+00:00")
NEPAL = [
    KATHMANDU.row("0 9 * * *", "2026-03-28T03:15+00:00 2026-03-29T03:15+00:00"),
    KATHMANDU.row("15 5 28 3 *", ""),
    KATHMANDU.row("45 5 30 3 *", "2026-03-30T00:00+00:00"),
]

# Morocco: an hour ahead, but not in Ramadan: back at 03:00 on 15 February 2026, forward at 02:00 on
# 22 March. tz calls that negative daylight saving.
RAMADAN = Window("Africa/Casablanca", "2026-02-15T00:00+01:00", "2026-02-15T12:00+00:00")
AFTER_RAMADAN = Window("Africa/Casablanca", "2026-03-22T00:00+00:00", "2026-03-22T12:00+01:00")
MOROCCO = [
    RAMADAN.row("30 2 * * *", "2026-02-15T02:30+01:00", FIRST),
    RAMADAN.row("30 2 * * *", "2026-02-15T02:30+00:00", SECOND),
    AFTER_RAMADAN.row("30 2 * * *", "2026-03-22T03:00+01:00", NEXT_VALID),
    AFTER_RAMADAN.row("30 2 * * *", "2026-03-22T03:30+01:00", SHIFT),
    AFTER_RAMADAN.row("30 2 * * *", "", SKIP),
]

ALL = [*NEW_YORK, *ISLANDS, *CHILE, *HALF_AN_HOUR, *NO_SUCH_DAY, *NEPAL, *MOROCCO]


@pytest.mark.parametrize(("row", "rule"), by_policies(ALL))
def test_it_fires_as_worked_out_by_hand(row: Row, rule: Rule) -> None:
    row.check(rule)
