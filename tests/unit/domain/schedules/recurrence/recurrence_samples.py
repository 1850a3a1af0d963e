"""Short ways to ask a rule for its fires."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.schedules.recurrence import (
    BadExpression,
    Recurrence,
    Rule,
    compile_rule,
    zone_named,
)

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
EVE = NEW_YEAR - timedelta(seconds=1)
"""Just before the year, so that a fire at its first instant is later than this."""


def compiled(*expressions: str, **fields: Any) -> Recurrence:
    return compile_rule(Rule(expressions=expressions, **fields))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def fires(
    *expressions: str,
    after: datetime | str = EVE,
    count: int = 5,
    days: int = 3660,
    **fields: Any,
) -> list[str]:
    """The next fires that are not excluded, as UTC times like ``2026-01-31T02:30``."""
    start = utc(after) if isinstance(after, str) else after
    found: list[str] = []
    for fire in compiled(*expressions, **fields).fires(start, start + timedelta(days=days)):
        if len(found) == count:
            break
        if not fire.is_excluded:
            found.append(fire.at.replace(tzinfo=None).isoformat().removesuffix(":00"))
    return found


def local_fires(*expressions: str, zone: str, after: str, days: int, **fields: Any) -> list[str]:
    """The fires of some local days from midnight on, with offset: ``29 03:00+02:00``."""
    start = datetime.fromisoformat(after).replace(tzinfo=zone_named(zone))
    begin, end = start.astimezone(UTC), (start + timedelta(days=days)).astimezone(UTC)
    second = timedelta(seconds=1)
    rule = compiled(*expressions, timezone=zone, **fields)
    return [
        fire.at.astimezone(zone_named(zone))
        .isoformat(" ")
        .replace(":00+", "+")
        .replace(":00-", "-")[8:]
        for fire in rule.fires(begin - second, end - second)
    ]


def refusal(*expressions: str, **fields: Any) -> str:
    """What people are told about a rule that is refused."""
    with pytest.raises(BadExpression) as raised:
        compiled(*expressions, **fields)
    return raised.value.detail
