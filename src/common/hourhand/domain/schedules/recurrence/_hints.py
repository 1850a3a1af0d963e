"""What the author of a cron expression may not expect of it, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from hourhand.domain.schedules.recurrence import _cron_fields as fields
from hourhand.domain.schedules.recurrence._dst import Expression, ZonedTimes

_UNIX = (
    *(fields.SECOND, fields.MINUTE, fields.HOUR),
    *(fields.UNIX_DAY_OF_MONTH, fields.MONTH, fields.UNIX_DAY_OF_WEEK),
)
_AWS = (
    *(fields.AWS_MINUTE, fields.AWS_HOUR, fields.AWS_DAY_OF_MONTH),
    *(fields.AWS_MONTH, fields.AWS_DAY_OF_WEEK, fields.YEAR),
)
_WEEK = 7


def hints_on(text: str, expression: Expression) -> Iterator[str]:
    """Yield what to know of an expression that was compiled from ``text``."""
    plain = " ".join(text.upper().split())
    is_aws = plain.startswith("CRON")
    bare = plain.partition("(")[2].rstrip(") ") if is_aws and "(" in plain else plain
    parts = (bare.partition(" ")[2] if "TZ=" in bare else bare).split()
    if not isinstance(expression, ZonedTimes) or "(" in bare or len(parts) < len(_UNIX) - 1:
        return
    kinds = _AWS if is_aws and bare is not plain else _UNIX[-len(parts) :]
    for kind, part in zip(kinds, parts, strict=True):
        for item in part.split(","):
            yield from _hints_on_step(kind, item)
    if kinds is not _AWS and not parts[-3].startswith("*") and not parts[-1].startswith("*"):
        yield "A day runs that matches the day of month or the day of week: it need not match both."


def _hints_on_step(kind: fields.Field, item: str) -> Iterator[str]:
    head, _, step = item.partition("/")
    if not step or kind is fields.YEAR:
        return
    values = fields.item_values(kind, item)
    size = _WEEK if kind is fields.UNIX_DAY_OF_WEEK else kind.high - kind.low + 1
    if len(values) == 1:
        yield f"The {kind.name} {item} has a step beyond its field: it is {values[0]} alone."
    elif "-" not in head and values[0] + size - values[-1] != int(step):
        yield (
            f"The step of the {kind.name} {item} does not divide its field: {values[0]} follows "
            f"{values[-1]}, by less than a step."
        )
