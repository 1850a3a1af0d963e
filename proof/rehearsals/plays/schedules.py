"""Rehearsals of schedules: one whose calendars exclude more than can be computed."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from hourhand.aws.clients import dynamodb_client
from hourhand.aws.schedule_store import DynamoCalendarStore
from hourhand.domain.schedules.rule import ExcludedExpression
from hourhand.domain.schedules.schedule import Calendar
from proof.rehearsals.stage import RehearsalFailed, Stage

CALENDARS = 60
EXPRESSIONS = 20
EVERYTHING = "* * * * *"
BROKEN = (
    "A schedule is broken: it creates no jobs until the schedule, or one of its calendars, is "
    "changed."
)
TICKS_AFTERWARDS = 4


def poison_schedule(stage: Stage) -> None:
    """A schedule's calendars exclude 1,200 expressions: it is broken, and other jobs run."""
    names = [_name(number) for number in range(CALENDARS)]
    poison = {"handler": "work", "payload": 0, "expression": "* * * * * *", "exclude": names}
    _put_calendars(stage, 1)
    stage.check("it is accepted while its calendars are small", _put(stage, poison) == 201)
    stage.ask("PUT", "/v1/schedules/healthy", {**poison, "exclude": []})
    stage.submit_apart(20, "work", 0.05, first=2.0, apart=1.0)
    _put_calendars(stage, EXPRESSIONS)
    stage.tell("breaks", f"each of {CALENDARS} calendars excludes {EXPRESSIONS} expressions now")
    seen = stage.wait("it is marked broken", lambda: _broken(stage))
    stage.tell("seen", f"GET /v1/schedules/poison: status broken, {seen['broken_reason']}")
    stage.wait("the scheduler has marked it", lambda: stage.logged(BROKEN) or None)
    refused = stage.ask("PUT", "/v1/schedules/another", poison)
    errors = refused.body.get("errors", [{}])
    stage.check("the same definition is refused", refused.status == 422, errors[0].get("field"))
    began = time.monotonic()
    stage.ask("GET", "/v1/schedules/poison")
    stage.tell("seen", f"GET /v1/schedules/poison took {time.monotonic() - began:.2f} s")
    before, marked = len(stage.ticks()), len(stage.logged(BROKEN))
    stage.wait("further ticks end", lambda: len(stage.ticks()) >= before + TICKS_AFTERWARDS or None)
    # Each change of a calendar lets it be looked at anew: once more for the last of them at most.
    again = len(stage.logged(BROKEN)) - marked
    stage.check("the ticks continue, and it is not marked each time", again <= 1, again)
    stage.check("another schedule continues", _made(stage, "healthy") > TICKS_AFTERWARDS)
    stage.repair("restores the calendars", lambda: _put_calendars(stage, 1))
    stage.wait("it is active again", lambda: _status(stage).get("status") == "active" or None)
    _put_calendars(stage, 0)
    stage.wait("it creates jobs", lambda: _made(stage, "poison") or None)
    for name in ("poison", "healthy"):
        stage.ask("DELETE", f"/v1/schedules/{name}")
    stage.wait_for_the_end()


def _put(stage: Stage, definition: dict[str, Any]) -> int:
    return stage.ask("PUT", "/v1/schedules/poison", definition).status


def _put_calendars(stage: Stage, expressions: int) -> None:
    """Let each calendar exclude so many expressions; the last one of them excludes everything.

    All but one are written as the API writes them; that one is put by it, so that a walk begins.
    """
    store = DynamoCalendarStore(dynamodb_client(), stage.cloud.settings.schedules_table)
    known = store.get_calendars([_name(number) for number in range(CALENDARS)])
    for number in range(CALENDARS):
        few = [
            f"{minute} {number % 24} {1 + number // 24} 3 *" for minute in range(expressions - 1)
        ]
        exclude = [*few, *([EVERYTHING] if expressions else [])]
        name, before = _name(number), known.get(_name(number))
        if number == CALENDARS - 1:
            body = {"exclude": ["2000-01-01", *exclude]}
            answer = stage.ask("PUT", f"/v1/calendars/{name}", body)
            if answer.status not in {200, 201}:
                raise RehearsalFailed(f"PUT of a calendar: {answer.status}, {answer.body}")
            continue
        calendar = Calendar(
            name=name,
            revision=1 if before is None else before.revision + 1,
            exclude=tuple(map(ExcludedExpression, exclude)),
            updated_at=datetime.now(UTC),
        )
        store.put_calendar(calendar, previous=None if before is None else before.revision)


def _name(number: int) -> str:
    return f"calendar-{number:02}"


def _status(stage: Stage) -> dict[str, Any]:
    return stage.ask("GET", "/v1/schedules/poison").body


def _broken(stage: Stage) -> dict[str, Any] | None:
    found = _status(stage)
    return found if found["status"] == "broken" else None


def _made(stage: Stage, name: str) -> int:
    return int(stage.ask("GET", f"/v1/schedules/{name}").body["occurrences_made"])
