"""The expressions of schedules in words: only what the words say exactly becomes words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORDS = {
    "rate(5 minutes)": "Every 5 minutes",
    "rate(1 day)": "Every day",
    "at(2027-01-01T09:00)": "Once, on 1 Jan 2027 at 09:00",
    "@hourly": "Every hour",
    "@weekly": "Sundays at 00:00",
    "@yearly": "Day 1 of the month at 00:00 in January",
    "30 2 * * *": "Every day at 02:30",
    "0 6,18 * * *": "Every day at 06:00 and 18:00",
    "0 6 * * MON-FRI": "Weekdays at 06:00",
    "0 6 * * 6,0": "Weekends at 06:00",
    "0 6 * * FRI-MON": "Mondays, Fridays, Saturdays and Sundays at 06:00",
    "*/5 * * * *": "Every 5 minutes",
    "0 */2 * * *": "Every 2 hours",
    "5,35 * * * *": "Every hour at :05 and :35",
    "0 9-17 * * 1-5": "Every hour from 09:00 to 17:00 on weekdays",
    "*/15 9-17 * * 1-5": "Every 15 minutes from 09:00 to 17:59 on weekdays",
    "0 18 L * *": "The last day of the month at 18:00",
    "0 6 15W * *": "The weekday nearest to day 15 of the month at 06:00",
    "0 9 * * FRI#2": "The second Friday of the month at 09:00",
    "0 9 * * 5L": "The last Friday of the month at 09:00",
    "0 6 13 * 5": "Day 13 of the month, and Fridays, at 06:00",
    "* * * * * *": "Every second",
    "15 0 6 * * *": "Every day at 06:00:15",
    # In AWS's dialect, Sunday is 1.
    "cron(0 9 ? * 2 *)": "Mondays at 09:00",
    "cron(0 9 ? * MON-FRI 2027)": "Weekdays at 09:00 in 2027",
}
"""By the expression as it is written."""

WITHOUT_WORDS = (
    # Every seven minutes only within an hour: at :56 it is four minutes to the next.
    "*/7 * * * *",
    "0 */5 * * *",
    "0 6-23/3 * * *",
    "0 6,7,8,9,10,11,12 * * *",
    "0 6 * 1-12/2 *",
    "cron(0 9 ? * MON-FRI 2027-2030)",
    "61 * * * *",
    "never",
    "",
)


@pytest.fixture
def rules(page: Page) -> Page:
    page.goto("/console/schedules")
    page.get_by_role("heading", name="Schedules", exact=True).wait_for()
    return page


def in_words(page: Page, expressions: list[str]) -> list[str | None]:
    """Return what the console writes for each expression."""
    script = """async (expressions) => {
      const { ruleWords } = await import("/console/static/views/schedule_rule.js");
      return expressions.map(ruleWords);
    }"""
    found: list[str | None] = page.evaluate(script, expressions)
    return found


def test_usual_expressions_are_written_in_words(rules: Page) -> None:
    assert dict(zip(WORDS, in_words(rules, list(WORDS)), strict=True)) == WORDS


def test_what_no_words_say_exactly_has_none(rules: Page) -> None:
    found = in_words(rules, list(WITHOUT_WORDS))
    assert dict.fromkeys(WITHOUT_WORDS) == dict(zip(WITHOUT_WORDS, found, strict=True))
