"""Whatever dies or goes unanswered: what a caller did is on record once if it was done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from hourhand.api.app import create_app
from hourhand.api.requests.schedule_operations import NoteInput
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.api.routing import Services
from hourhand.domain.callers import caller_key
from hourhand.domain.errors import Unavailable
from hourhand.domain.schedules.schedule import Schedule, ScheduleEvent
from hourhand.testing import Crash
from tests.functions.api_client import ALICE, ApiClient
from tests.world.faults import Faults, When
from tests.world.world import World

KEY = caller_key(ALICE)
OFTEN: dict[str, Any] = {"expression": "* * * * *", "handler": "greet"}
Act = Callable[[Services], object]
ACTS: dict[str, Act] = {
    "put": lambda api: api.schedules.put("s", ScheduleInput.parse(OFTEN), actor=KEY),
    "replace": lambda api: api.schedules.put(
        "s", ScheduleInput.parse({**OFTEN, "priority": "low"}), actor=KEY
    ),
    "note": lambda api: api.schedules.put(
        "s", ScheduleInput.parse({**OFTEN, "note": "why"}), actor=KEY
    ),
    "pause": lambda api: api.schedules.pause("s", NoteInput(note="why").note, actor=KEY),
    "trigger": lambda api: api.schedules.trigger("s", "why", actor=KEY),
    "delete": lambda api: api.schedules.delete("s", actor=KEY),
}
EXISTING = [name for name in ACTS if name != "put"]
MAX_CALLS = 60


def prepared(*, exists: bool) -> World:
    """Return a world, maybe with a schedule that others put and resumed."""
    world = World()
    if exists:
        world.put_schedule("s", **OFTEN)
        world.api.schedules.pause("s", "earlier", actor="local")
        world.advance(1)
        world.api.schedules.resume("s", None, actor="local")
        world.advance(1)
    return world


def events_of(world: World) -> list[ScheduleEvent]:
    """Return all that is on record, the newest first, each as often as a reader is told."""
    stored = world.schedules.get("s")
    newest = stored.last_event if stored is not None else None
    before = None if newest is None else (newest.at, newest.sequence)
    kept = world.schedules.read_events("s", before=before, limit=100)
    return [*([newest] if newest is not None else []), *kept]


def was_changed(before: Schedule | None, after: Schedule | None) -> bool:
    """Whether a caller's change stands: it has an event under its own sequence."""
    event = None if after is None else after.last_event
    return event is not None and (before is None or event != before.last_event)


@pytest.mark.parametrize("name", ACTS)
@pytest.mark.parametrize("when", When)
def test_a_death_at_any_call_loses_and_doubles_no_event(name: str, when: When) -> None:
    for number in range(1, MAX_CALLS):
        world = prepared(exists=name in EXISTING)
        before, earlier = world.schedules.get("s"), events_of(world)
        faults = Faults().crash(number, when)
        process = world.process(faults)
        with suppress(Crash):
            ACTS[name](process.api)
        events = events_of(world)

        changed = was_changed(before, world.schedules.get("s"))
        assert events[int(changed) :] == earlier, number
        if changed:
            assert (events[0].actor, len(set(events))) == (KEY, len(events))
        # The next caller finds all of them, too.
        world.advance(1)
        stored = world.schedules.get("s")
        if stored is not None and stored.deleted_at is None:
            again = "resume" if stored.paused_at is not None else "pause"
            getattr(world.api.schedules, again)("s", "again", actor="local")
            assert events_of(world)[1:] == events
        if not faults.is_crashed:
            assert changed
            return
    raise AssertionError("the act makes more calls than are tried")


@pytest.mark.parametrize("name", ACTS)
def test_two_callers_at_once_are_both_on_record(name: str) -> None:
    """Another caller writes the schedule just before this one does."""
    world = prepared(exists=name in EXISTING)
    earlier = events_of(world)
    faults = Faults().interrupt(
        "schedules.write",
        lambda: world.api.schedules.put(
            "s", ScheduleInput.parse({**OFTEN, "priority": "high"}), actor="local"
        ),
    )
    process = world.process(faults)
    ACTS[name](process.api)

    mine, theirs, *rest = events_of(world)
    assert (mine.actor, theirs.actor) == (KEY, "local")
    assert rest == earlier


@pytest.mark.parametrize("method", ["keep_caller"])
def test_no_job_is_accepted_from_a_caller_that_is_not_on_record(method: str) -> None:
    world = World()
    faults = Faults().throttle(f"control.{method}")
    api = ApiClient(create_app(world.process(faults).api))

    refused = api.post("/v1/jobs", {"handler": "greet", "id": "one"})
    assert (refused.status, world.store.get("one")) == (503, None)
    assert api.post("/v1/jobs", {"handler": "greet", "id": "one"}).status == 201
    assert world.control.read_callers([KEY]) == {KEY: ALICE}


def test_a_record_whose_answer_was_lost_is_found_again() -> None:
    world = World()
    faults = Faults().lose_answer("control.keep_caller")
    api = ApiClient(create_app(world.process(faults).api))

    with suppress(Unavailable):
        api.post("/v1/jobs", {"handler": "greet", "id": "one"})
    api.submit(id="two")
    assert world.job("two").history[0].actor == KEY
