"""What the page on schedules says of expressions is what they do."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hourhand.api.requests.schedules import ScheduleInput
from hourhand.domain.schedules.recurrence import DstFold, DstGap, Rule, compile_rule

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "schedules.md").read_text()
CLOCK_ROWS = re.findall(
    r"^\| `([^`]+)` \| (\w+/\w+) \| (\w+), (\w+) \| (\d{4}-\d\d-\d\d) \| (.+?) \|$", PAGE, re.M
)
FORMS = re.findall(r"^\| `([^|]+?)` \|", PAGE.split("## When the clocks")[0], re.M)


def test_the_page_has_the_rows_that_are_checked() -> None:
    assert len(CLOCK_ROWS) == 12
    assert len(FORMS) >= 7


@pytest.mark.parametrize(("expression", "zone", "gap", "fold", "day", "fires"), CLOCK_ROWS)
def test_a_change_of_the_clocks_does_what_its_row_says(
    expression: str, zone: str, gap: str, fold: str, day: str, fires: str
) -> None:
    rule = Rule(
        expressions=(expression,), timezone=zone, dst_gap=DstGap(gap), dst_fold=DstFold(fold)
    )
    found = [
        local.isoformat(timespec="minutes")[11:]
        for local in _local_times(rule, date.fromisoformat(day))
    ]

    if fires.startswith("every hour"):
        assert len(found) == int(re.findall(r"\d+", fires)[0])
    else:
        assert found == ([] if fires == "never" else fires.split(", "))


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_expression_is_taken(form: str) -> None:
    for text in form.split("` `"):
        expression = json.loads(text) if text.startswith("[") else text
        ScheduleInput.parse({"expression": expression, "handler": "report"})


def test_the_schedule_on_the_page_is_taken() -> None:
    [body] = re.findall(r"```json\n(.+?)```", PAGE, re.S)

    schedule = ScheduleInput.parse(json.loads(body))

    assert schedule.definition.handler == "send-welcome"


def _local_times(rule: Rule, day: date) -> list[datetime]:
    zone = ZoneInfo(rule.timezone)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1)
    fires = compile_rule(rule).fires(start, start + timedelta(days=3))
    local = [fire.at.astimezone(zone) for fire in fires]
    return [time for time in local if time.date() == day]
