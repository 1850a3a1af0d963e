"""``every()`` fires at the times of day of its anchor, by the rules that hold for a cron."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from hourhand.domain.schedules.recurrence import DstFold, DstGap, Rule, compile_rule

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "UTC")
SPAN = timedelta(days=800)
anchors = st.datetimes(datetime(2019, 1, 1), datetime(2031, 1, 1)).map(  # noqa: DTZ001 - a local time
    lambda at: at.replace(microsecond=0, second=0)
)


def fires(text: str, zone: str, gap: DstGap, fold: DstFold, anchor: datetime) -> list[datetime]:
    start = datetime(2025, 1, 1, tzinfo=UTC)
    rule = Rule(expressions=(text,), timezone=zone, dst_gap=gap, dst_fold=fold, anchor=anchor)
    return [fire.at for fire in compile_rule(rule).fires(start, start + SPAN)]


@given(
    zone=st.sampled_from(ZONES),
    gap=st.sampled_from(DstGap),
    fold=st.sampled_from(DstFold),
    local=anchors,
    count=st.integers(1, 5),
)
@settings(max_examples=150, deadline=None)
def test_every_day_week_and_month_are_as_their_cron(
    zone: str, gap: DstGap, fold: DstFold, local: datetime, count: int
) -> None:
    anchor = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    # A time that does not exist was moved.
    local = anchor.astimezone(ZoneInfo(zone))
    time = f"{local.minute} {local.hour}"
    crons = {"day": f"{time} * * *", "week": f"{time} * * {local.isoweekday() % 7}"}
    if local.day <= 28:
        crons["month"] = f"{time} {local.day} * *"
    for unit, cron in crons.items():
        by_cron = fires(cron, zone, gap, fold, anchor)
        assert fires(f"every(1 {unit})", zone, gap, fold, anchor) == by_cron
        some = fires(f"every({count} {unit}s)", zone, gap, fold, anchor)
        assert set(some) <= set(by_cron)
        days = {"day": 1, "week": 7, "month": 28}[unit] * count
        # A time that is repeated may run twice on its day.
        dates = {at.astimezone(ZoneInfo(zone)).date() for at in some}
        assert len(dates) <= SPAN.days / days + 2
        assert len(some) >= len(by_cron) // count - 1


@given(zone=st.sampled_from(ZONES), local=anchors, count=st.integers(1, 30))
@settings(max_examples=100, deadline=None)
def test_every_month_has_one_run_also_where_the_day_is_missing(
    zone: str, local: datetime, count: int
) -> None:
    local = local.replace(day=31, month=1, hour=12)
    anchor = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    found = fires(f"every({count} months)", zone, DstGap.SKIP, DstFold.FIRST, anchor)
    for at in found:
        shown = at.astimezone(ZoneInfo(zone))
        assert (shown + timedelta(days=1)).day == 1, "the last day of its month"
        assert (shown.hour, shown.minute) == (12, local.minute)
        assert ((shown.year - local.year) * 12 + shown.month - 1) % count == 0
