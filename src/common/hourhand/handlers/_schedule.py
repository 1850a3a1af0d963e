"""The schedule that ``@job`` declares: its types are checked there, its rule at packing."""

from __future__ import annotations

from collections.abc import Sequence

from hourhand.handlers._errors import InvalidHandler
from hourhand.ports.handler_directory import DeclaredSchedule

MAX_DECLARED_SCHEDULES = 1_000
"""How many handlers may declare one: the scheduler keeps their names in one record."""

_EXAMPLE = '"30 2 * * *"'


def read_schedule(name: str, schedule: object, timezone: object) -> DeclaredSchedule | None:
    """Return the declaration of the handler ``name``, if it has one.

    Raises `InvalidHandler` naming the argument that is wrong. The rule itself is not compiled:
    that would make the worker's start slower.
    """
    if schedule is None:
        if timezone is not None:
            raise InvalidHandler(f"timezone needs a schedule, such as schedule={_EXAMPLE}.")
        return None
    expression = schedule if isinstance(schedule, str) else _several(schedule)
    zone = "UTC" if timezone is None else timezone
    if not isinstance(zone, str):
        raise InvalidHandler(f"timezone must be a name such as Europe/Berlin, not {timezone!r}.")
    # All else that a handler's name may have, an ID may have, too.
    if "." in name:
        raise InvalidHandler(
            f"The schedule of the handler {name} has the handler's name as its id, so the name "
            "must not have a dot. Rename the handler, or put its schedule with "
            "`hourhand schedules apply`."
        )
    return DeclaredSchedule(expression=expression, timezone=zone)


def check_schedule(name: str, declared: DeclaredSchedule) -> None:
    """Raise `InvalidHandler` for a rule that cannot be understood, or that never runs."""
    from hourhand.domain.schedules.recurrence import (  # noqa: PLC0415 - no worker needs it
        EARLIEST,
        BadExpression,
        Rule,
        compile_rule,
    )

    rule = Rule(expressions=declared.expressions, timezone=declared.timezone, anchor=EARLIEST)
    try:
        runs = compile_rule(rule).can_ever_fire(EARLIEST)
    except BadExpression as error:
        message = f"The schedule of the handler {name} is wrong: {error.detail}"
        raise InvalidHandler(message) from None
    if not runs:
        shown = " | ".join(declared.expressions)
        raise InvalidHandler(f"The schedule of the handler {name} never runs: {shown}.")


def _several(schedule: object) -> tuple[str, ...]:
    if (
        not isinstance(schedule, Sequence)
        or not schedule
        or not all(isinstance(each, str) for each in schedule)
    ):
        raise InvalidHandler(
            f"schedule must be an expression such as {_EXAMPLE}, or a list of them, "
            f"not {schedule!r}."
        )
    return tuple(schedule)
