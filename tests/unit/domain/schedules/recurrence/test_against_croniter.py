"""Plain expressions mean what they mean to croniter, whose reading is much used.

Not what it gets wrong or lacks: equal and reversed ranges, `#` beside a day of month, `5L`, `LW`.
"""

from __future__ import annotations

from datetime import UTC, datetime

from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.schedules.recurrence.recurrence_samples import compiled

START = datetime(2026, 1, 1, tzinfo=UTC)
UNTIL = datetime(2060, 1, 1, tzinfo=UTC)
FIRES = 5


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    ranges = st.tuples(number, number).filter(lambda pair: pair[0] < pair[1])
    plain = ranges.map(lambda pair: f"{pair[0]}-{pair[1]}")
    step = st.integers(1, high)
    stepped = st.tuples(plain, step).map(lambda pair: f"{pair[0]}/{pair[1]}")
    item = st.one_of(number.map(str), plain, stepped)
    lists = st.lists(item, min_size=1, max_size=3).map(",".join)
    stars = st.one_of(st.just("*"), step.map(lambda n: f"*/{n}"))
    return st.one_of(stars, lists)


CRONS = st.tuples(_field(0, 59), _field(0, 23), _field(1, 28), _field(1, 12), _field(0, 6))


@given(fields=CRONS)
def test_five_fields_fire_as_with_croniter(fields: tuple[str, ...]) -> None:
    text = " ".join(fields)
    theirs = croniter(text, START, ret_type=datetime, implement_cron_bug=True)
    ours = compiled(text).fires(START, UNTIL)
    assert [next(ours).at for _ in range(FIRES)] == [theirs.get_next() for _ in range(FIRES)]
