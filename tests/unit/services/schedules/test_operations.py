"""What people do to operations, in stores that race, fail and die."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hourhand.api.requests.schedules import ScheduleInput
from hourhand.domain.errors import InvalidInput, NotFound, Unavailable
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.schedules.changes import MAX_FORMER_RULES, annotate
from hourhand.domain.schedules.schedule import Schedule, SkipReason
from hourhand.memory import START
from hourhand.services.schedules import operations as module
from hourhand.services.schedules.effects import Effect
from hourhand.services.schedules.operations import ScheduleService
from hourhand.testing import Crash
from tests.unit.services.schedule_views import (
    MINUTELY,
    at,
    job_at,
    job_minutes,
    minute_of,
    reason_of,
    recorded,
    statuses,
    stored,
    told,
)
from tests.world.faults import Faults, When
from tests.world.world import World

Act = Callable[[ScheduleService], object]


def parse(**body: object) -> ScheduleInput:
    return ScheduleInput.parse({"handler": "greet", "expression": MINUTELY, **body})


def put(world: World, schedule_id: str = "s", **body: object) -> bool:
    """Put a minutely schedule; whether it is new."""
    return world.api.schedules.put(schedule_id, parse(**body), actor="caller")[1]


def service(world: World, faults: Faults) -> ScheduleService:
    return world.process(faults).api.schedules


def touch(world: World, schedule_id: str = "s", **changes: Any) -> Schedule:
    """Write a schedule as somebody else does."""
    before = stored(world, schedule_id)
    after = annotate(before, now=world.clock.now(), write_id="else", note="somebody else's")
    after = replace(after, **changes)
    world.schedules.write(after, previous=before.sequence)
    return after


# --- put ---


def test_a_new_schedule_is_stored_and_what_is_due_soon_is_made_at_once(world: World) -> None:
    view, is_new = world.api.schedules.put("s", parse(note="why"), actor="caller")
    assert is_new
    assert view.schedule == stored(world)
    assert (view.schedule.revision, view.schedule.note) == (1, "why")
    assert view.next_occurrence == at(1)
    assert job_minutes(world) == [1, 2, 3, 4, 5]
    assert len(world.queues.messages()) == 5
    assert world.telemetry.total("schedules_changed") == 1


def test_a_schedule_may_be_put_paused(world: World) -> None:
    view, _ = world.api.schedules.put("s", parse(paused=True), actor="caller")
    assert view.schedule.paused_at == START
    assert (view.next_occurrence, job_minutes(world)) == (None, [])


def test_the_same_put_again_changes_nothing(world: World) -> None:
    put(world)
    before = stored(world)
    world.advance(30)
    assert not put(world)
    assert stored(world) == before
    assert world.telemetry.total("schedules_changed") == 1


def test_a_rate_that_is_put_again_keeps_its_beat(world: World) -> None:
    body = {"expression": "rate(7 minutes)"}
    put(world, **body)
    before = stored(world)
    world.advance(100)
    assert not put(world, **body)
    assert stored(world) == before
    put(world, expression="rate(7 minutes)", payload=1)
    view = world.api.schedule_views.get("s")
    assert view.definition.anchor == START


RATE = {"expression": "rate(1 hour)"}
STARTED = {**RATE, "start_at": "2026-01-05T12:00:07Z"}
ANCHORED = {**RATE, "anchor": "2026-01-05T09:20:00Z"}


@pytest.mark.parametrize("edited", [STARTED, ANCHORED, RATE, {**RATE, "anchor": None}])
@pytest.mark.parametrize("before", [STARTED, ANCHORED])
def test_a_put_keeps_the_beat_that_a_preview_shows(
    world: World, before: dict[str, Any], edited: dict[str, Any]
) -> None:
    put(world, **before)
    world.advance(2400)
    put(world, **edited)
    preview = world.api.previews.preview(parse(**edited).definition, count=1, after=None)
    assert world.api.schedule_views.get("s").next_occurrence == preview.fires[0].at
    assert not put(world, **edited)


# --- the tenant ---


@pytest.mark.parametrize("given", [{}, {"note": "from here on"}], ids=["", "with a note"])
@pytest.mark.parametrize(
    ("before", "after", "keeps_note"),
    [
        (None, None, True),
        ("a", "a", True),
        ("a", None, True),
        ("a", "b", False),
        (None, "b", False),
    ],
)
def test_a_note_stays_with_the_tenant_that_wrote_it(
    world: World, before: str | None, after: str | None, keeps_note: bool, given: dict[str, str]
) -> None:
    put(world, tenant=before, note="Owner: A")
    world.api.schedules.pause("s", "INC-42", actor="caller")
    changed = parse(tenant=after, payload=1, paused=False, **given)
    previewed = world.api.schedules.preview_put("s", changed)
    world.api.schedules.put("s", changed, actor="caller")
    note = given.get("note", "Owner: A" if keeps_note else "")
    assert (stored(world).note, previewed.schedule.note) == (note, note)
    assert (stored(world).tenant_since is None) is keeps_note


# --- the origin ---

WORKS: list[dict[str, Any]] = [{}, {"expression": "30 * * * *"}, {"note": "why"}, {"paused": True}]
"""What a put may change besides the origin."""


@pytest.mark.parametrize("other", WORKS, ids=["nothing", "definition", "note", "pause"])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "files:ops"),
        ({"managed_by": None}, ""),
        ({"managed_by": "code"}, "code"),
        ({"managed_by": "files:ops"}, "files:ops"),
    ],
    ids=["absent", "null", "another", "the same"],
)
def test_a_put_without_an_origin_keeps_it_and_null_clears_it(
    world: World, given: dict[str, Any], expected: str, other: dict[str, Any]
) -> None:
    put(world, managed_by="files:ops")
    put(world, **given, **other)
    after = stored(world)
    assert after.managed_by == expected
    assert after.note == other.get("note", "")
    assert (after.paused_at is not None) is other.get("paused", False)


def test_a_new_schedule_has_no_origin_and_a_deleted_one_leaves_none_behind(world: World) -> None:
    put(world)
    assert stored(world).managed_by == ""
    put(world, managed_by="code")
    world.api.schedules.delete("s", actor="caller")
    put(world)
    assert stored(world).managed_by == ""


def test_a_dry_put_answers_what_a_put_would_and_writes_nothing(world: World) -> None:
    new = parse(note="why", managed_by="files:ops", paused=True)
    faults = Faults()
    view = service(world, faults).preview_put("s", new)
    assert (view.schedule.note, view.schedule.managed_by) == ("why", "files:ops")
    assert view.schedule.paused_at == START
    assert world.schedules.get("s") is None
    put(world, note="kept", managed_by="code")
    before = stored(world)
    changed = service(world, faults).preview_put("s", parse(expression="30 * * * *"))
    assert changed.definition.expressions == ("30 * * * *",)
    assert (changed.schedule.note, changed.schedule.managed_by) == ("kept", "code")
    assert service(world, faults).preview_put("s", parse(managed_by=None)).schedule == replace(
        before, managed_by=""
    )
    assert stored(world) == before
    assert not [call for call in faults.calls if call.method.startswith(("write", "put"))]


def test_a_dry_put_refuses_what_a_put_refuses(world: World) -> None:
    with pytest.raises(InvalidInput) as caught:
        world.api.schedules.preview_put("s", parse(expression="at(2001-01-01T00:00)"))
    assert [error.field for error in caught.value.errors] == ["expression"]
    put(world)
    # What stands already is not judged again, as with a put.
    touch(world, cursor=START)
    assert world.api.schedules.preview_put("s", parse()).schedule == stored(world)


def test_another_definition_replaces_what_is_pending_and_leaves_what_ran(world: World) -> None:
    put(world)
    world.advance(60)
    world.deliver()
    assert not put(world, expression="30 * * * *")
    assert statuses(world) == {
        1: "SUCCEEDED",
        **dict.fromkeys((2, 3, 4, 5), "CANCELLED"),
    }
    assert reason_of(job_at(world, 2)) == SkipReason.REPLACED
    assert (stored(world).revision, stored(world).next_at) == (2, at(30))
    assert told(world) == [(1, 1, "job")]
    assert world.telemetry.total("occurrences_withdrawn") == 4


def test_what_the_new_definition_wants_at_the_same_time_is_adopted(world: World) -> None:
    put(world, payload=1)
    generations = {job_at(world, 3).generation}
    put(world, payload=2, expression="*/3 * * * *")
    adopted = job_at(world, 3)
    assert adopted.payload.text == "2"
    assert {adopted.generation} == generations
    assert (adopted.schedule_revision, adopted.status) == (2, JobStatus.ENQUEUED)
    assert statuses(world)[1] == "CANCELLED"
    assert world.telemetry.total("occurrences_adopted") == 1


MOVED = [
    {"priority": "high"},
    {"tenant": "t"},
    {"timeout_seconds": 9},
    {"overlap": "allow"},
    {"jitter_seconds": 9},
]
KEPT = [{"payload": 1}, {"tags": {"a": "b"}}, {"retry": {"max_attempts": 2}}, {"on_lost": "dead"}]


@pytest.mark.parametrize("edit", [*MOVED, *KEPT])
def test_a_job_keeps_its_message_unless_the_edit_changes_what_that_tells(
    world: World, edit: dict[str, Any]
) -> None:
    put(world)
    before, sent = job_at(world, 2), len(world.queues.messages())
    put(world, **edit)
    after = job_at(world, 2)
    is_moved = edit in MOVED
    assert after.generation == before.generation + is_moved
    assert (len(world.queues.messages()) > sent) is is_moved
    assert after.schedule_revision == 2
    name, value = next(iter(edit.items()))
    changed = {"payload": after.payload.text, "tags": after.tags, "priority": after.priority}
    assert str(changed.get(name, value)) == str(value)


def test_a_running_job_of_the_definition_before_is_left_alone(world: World) -> None:
    put(world, payload=1)
    world.advance(60)

    def replace_meanwhile(*_: object) -> Any:
        put(world, payload=2)
        raise Crash

    with pytest.raises(Crash):
        world.deliver(replace_meanwhile)
    running = job_at(world, 1)
    assert (running.status, running.payload.text) == (JobStatus.RUNNING, "1")
    assert job_at(world, 2).payload.text == "2"


def test_a_put_may_pause_resume_and_annotate_without_another_definition(world: World) -> None:
    put(world)
    put(world, paused=True, note="stop")
    assert stored(world).paused_at == START
    assert stored(world).note == "stop"
    assert set(statuses(world).values()) == {"CANCELLED"}
    put(world)
    assert stored(world).paused_at is not None
    put(world, paused=False)
    assert stored(world).is_live
    assert set(statuses(world).values()) == {"ENQUEUED"}
    put(world, paused=False, note="")
    assert (stored(world).note, stored(world).is_live) == ("", True)


def test_a_change_tells_what_it_did_with_jobs(world: World) -> None:
    created = world.put_schedule("s", expression=MINUTELY)
    assert created.effect == Effect(cancelled=0, restored=0, created=5)
    assert world.api.schedule_views.get("s").effect is None
    assert world.pause("s").effect == Effect(cancelled=5, restored=0, created=0)
    assert world.pause("s").effect is None
    assert world.resume("s").effect == Effect(cancelled=0, restored=5, created=0)
    replaced = world.put_schedule("s", expression="2,4 * * * *")
    assert replaced.effect == Effect(cancelled=3, restored=0, created=0)


def test_a_change_whose_work_is_left_to_the_next_tick_tells_no_effect(world: World) -> None:
    world.put_schedule("s", expression=MINUTELY)
    faults = Faults()
    faults.throttle("jobs.get_many")
    assert service(world, faults).pause("s", None, actor="caller").effect is None


def test_a_preview_of_the_end_of_a_pause_has_the_own_note_again(world: World) -> None:
    put(world, note="mine")
    world.api.schedules.pause("s", "why", actor="caller")
    shown = [world.api.schedules.preview_put("s", parse(paused=p)) for p in (None, False)]
    assert [view.schedule.note for view in shown] == ["why", "mine"]


DEFINITIONS: list[dict[str, Any]] = [{}, {"expression": "30 * * * *"}]


@pytest.mark.parametrize("other", DEFINITIONS, ids=["the same definition", "another definition"])
@pytest.mark.parametrize(
    ("sent", "shown", "own"),
    [
        ({}, "INC-42", "Owner: A"),
        ({"note": "Owner: A"}, "INC-42", "Owner: A"),
        ({"note": "Owner: B"}, "INC-42", "Owner: B"),
        ({"note": "INC-42"}, "INC-42", "Owner: A"),
        ({"note": "INC-42", "paused": True}, "INC-42", "Owner: A"),
        ({"note": "INC-43", "paused": True}, "INC-43", "Owner: A"),
    ],
)
def test_a_put_on_a_paused_schedule_keeps_its_note_and_that_of_the_pause_apart(
    world: World, sent: dict[str, Any], shown: str, own: str, other: dict[str, Any]
) -> None:
    put(world, note="Owner: A")
    world.api.schedules.pause("s", "INC-42", actor="caller")
    previewed = world.api.schedules.preview_put("s", parse(**sent, **other))
    put(world, **sent, **other)
    assert (stored(world).note, previewed.schedule.note) == (shown, shown)
    world.resume("s")
    assert stored(world).note == own


@pytest.mark.parametrize("other", DEFINITIONS, ids=["the same definition", "another definition"])
@pytest.mark.parametrize("origin", [{}, {"managed_by": "files:ops"}], ids=["", "another origin"])
def test_the_note_of_a_put_that_pauses_is_that_of_the_pause(
    world: World, other: dict[str, Any], origin: dict[str, Any]
) -> None:
    put(world, note="Owner: A")
    put(world, note="INC-42", paused=True, **other, **origin)
    assert stored(world).note == "INC-42"
    # What was read is sent back with the end of the pause.
    put(world, note="INC-42", paused=False, **other)
    assert (stored(world).is_live, stored(world).note) == (True, "Owner: A")


def test_a_replacement_may_pause_and_resume(world: World) -> None:
    put(world)
    put(world, payload=1, paused=True, note="n")
    assert (stored(world).paused_at, stored(world).note) == (START, "n")
    put(world, payload=2)
    assert (stored(world).paused_at, stored(world).note) == (START, "n")
    put(world, payload=3, paused=False)
    assert stored(world).is_live
    assert job_at(world, 1).payload.text == "3"


def test_what_only_a_replaced_definition_had_undecided_is_on_record(world: World) -> None:
    put(world)
    world.advance(600)
    put(world, expression="*/2 * * * *")
    jobs = [(minute, 1, "job") for minute in range(1, 6)]
    missed = [(6, 1, "misfire"), (7, 1, "replaced"), (8, 1, "job"), (9, 1, "replaced")]
    # That of the last minute was not missed.
    assert told(world)[:11] == [*jobs, *missed, (10, 1, "job"), (12, 1, "job")]


def test_what_fell_into_a_pause_is_decided_after_it_though_its_rule_changed(world: World) -> None:
    put(world, paused=True)
    world.advance(600)
    put(world, expression="*/2 * * * *")
    world.advance(600)
    put(world, expression="*/5 * * * *")
    assert told(world) == []
    world.resume("s")
    # Odd minutes after the tenth never were times of the schedule.
    assert told(world) == [(1, 14, "paused"), (20, 1, "job"), (25, 1, "job")]


def test_what_is_left_when_its_rule_was_edited_too_often_is_on_record(world: World) -> None:
    put(world, paused=True)
    for number in range(MAX_FORMER_RULES + 1):
        world.advance(600)
        put(world, expression="* * * * *" if number % 2 else "*/5 * * * *")
    # The edit that is one too many passes over all until then.
    assert stored(world).former == ()
    assert {reason for _, _, reason in told(world)} == {"paused"}
    assert stored(world).cursor == world.clock.now()


def test_times_after_its_last_occurrence_are_no_times_of_a_schedule(world: World) -> None:
    put(world, max_occurrences=1)
    world.advance(600)
    put(world, payload=1)
    assert told(world)[:2] == [(1, 1, "job"), (11, 1, "job")]


def test_jobs_of_a_visit_that_died_are_on_record_when_the_definition_changes(world: World) -> None:
    faults = Faults()
    faults.throttle("schedules.write", nth=2)
    service(world, faults).put("s", parse(), actor="caller")
    world.advance(180)
    world.deliver()
    world.advance(420)
    put(world, expression="0 0 1 1 *")
    assert statuses(world)[3] == "SUCCEEDED"
    # The job that ran is on record; the others had not started, and the new rule has none of them.
    replaced = [(1, 2, "replaced"), (3, 1, "job"), (4, 6, "replaced"), (10, 1, "replaced")]
    assert told(world) == replaced
    world.settle()
    assert [statuses(world)[minute] for minute in (1, 2, 4, 5)] == ["CANCELLED"] * 4


def test_a_put_that_cannot_be_is_refused_and_nothing_is_stored(world: World) -> None:
    for body in (
        {"handler": "great"},
        {"exclude": ["no-calendar"]},
        {"end_at": "2020-01-01T00:00:00Z"},
        {"expression": "59 23 31 2 *"},
    ):
        with pytest.raises(InvalidInput):
            put(world, **body)
    assert world.schedules.get("s") is None


def test_a_definition_that_is_gone_does_not_stop_its_replacement(world: World) -> None:
    put(world)
    touch(world, definition="gone")
    with pytest.raises(Unavailable, match="is missing"):
        world.api.schedule_views.get("s")
    put(world, payload=1)
    assert job_at(world, 1).payload.text == "1"


# --- races ---


def test_twenty_puts_at_once_leave_one_schedule_and_one_job_for_each_time(world: World) -> None:
    services = [world.process().api.schedules for _ in range(20)]
    gate = threading.Barrier(len(services))
    failures: list[BaseException] = []

    def put_together(one: ScheduleService) -> None:
        gate.wait()
        try:
            one.put("s", parse(), actor="caller")
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)

    threads = [threading.Thread(target=put_together, args=(one,)) for one in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert stored(world).revision == 1
    assert job_minutes(world) == [1, 2, 3, 4, 5]
    assert [(m, why) for m, _, why in told(world)] == [(m, "job") for m in (1, 2, 3, 4, 5)]
    assert len(world.queues.messages()) == 5


def test_twenty_different_puts_at_once_leave_one_of_them_in_force(world: World) -> None:
    put(world, payload="first")
    services = [world.process().api.schedules for _ in range(20)]
    threads = [
        threading.Thread(target=one.put, args=("s", parse(payload=n)), kwargs={"actor": "caller"})
        for n, one in enumerate(services)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    world.tick()
    assert job_minutes(world) == [1, 2, 3, 4, 5]
    schedule = stored(world)
    used = world.api.schedule_views.get("s").definition.payload_text
    assert schedule.revision == 21
    for minute in (1, 2, 3, 4, 5):
        job = job_at(world, minute)
        assert (job.status, job.payload.text) == (JobStatus.ENQUEUED, used)
        assert job.schedule_revision == schedule.revision


@pytest.mark.parametrize(
    "act",
    [
        lambda s: s.put("s", parse(payload=1), actor="c"),
        lambda s: s.put("s", parse(note="mine"), actor="c"),
        lambda s: s.put("s", parse(paused=True), actor="c"),
        lambda s: s.pause("s", None, actor="c"),
        lambda s: s.delete("s", actor="c"),
        lambda s: s.recompute("s", actor="c"),
    ],
    ids=["replace", "annotate", "put paused", "pause", "delete", "recompute"],
)
def test_who_loses_a_race_judges_anew_from_what_stands(world: World, act: Act) -> None:
    put(world)
    faults = Faults()
    faults.interrupt("schedules.write", lambda: touch(world))
    act(service(world, faults))
    after = stored(world)
    assert after.sequence >= 4
    # The other's note stands, unless this one brings its own.
    assert after.note in {"somebody else's", "mine"}
    assert after.write_id != "else"


@pytest.mark.parametrize("paused", [True, False])
@pytest.mark.parametrize("is_deleted", [False, True], ids=["replaced", "deleted"])
def test_a_put_that_pauses_or_resumes_puts_its_definition_though_another_one_came_between(
    world: World, paused: bool, is_deleted: bool
) -> None:
    put(world, payload="mine", paused=not paused)

    def step_in() -> None:
        if is_deleted:
            world.delete_schedule("s")
        else:
            put(world, payload="else")

    faults = Faults().interrupt("schedules.write", step_in)
    wanted = parse(payload="mine", paused=paused)
    view, is_new = service(world, faults).put("s", wanted, actor="caller")
    assert (view.definition.payload_text, is_new) == ('"mine"', is_deleted)
    assert stored(world).definition == view.schedule.definition
    assert (stored(world).paused_at is not None) is paused


def test_who_loses_for_ever_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    put(world)
    monkeypatch.setattr(module, "MAX_LOST_RACES", 3)
    acts: list[Act] = [
        lambda s: s.put("s", parse(payload=1), actor="c"),
        lambda s: s.put("s", parse(note="x"), actor="c"),
        lambda s: s.pause("s", None, actor="c"),
    ]
    for act in acts:
        faults = Faults()
        for nth in (1, 2, 3):
            faults.interrupt("schedules.write", lambda: touch(world), nth=nth)
        with pytest.raises(Unavailable, match="too often"):
            act(service(world, faults))


# --- pause, resume, delete ---


def test_a_pause_withdraws_what_is_pending(world: World) -> None:
    put(world)
    view = world.api.schedules.pause("s", "for now", actor="caller")
    assert (view.schedule.note, view.next_occurrence) == ("for now", None)
    assert {reason_of(job) for job in world.store.jobs().values()} == {SkipReason.PAUSED}
    assert not world.unfinished()
    world.advance(600)
    world.tick()
    assert set(statuses(world).values()) == {"CANCELLED"}
    assert told(world) == []


def test_a_pause_is_no_error_twice_and_may_change_the_note(world: World) -> None:
    put(world, note="a")
    world.pause("s")
    before = stored(world)
    world.pause("s")
    assert stored(world) == before
    world.api.schedules.pause("s", "b", actor="caller")
    assert (stored(world).note, stored(world).revision) == ("b", before.revision)
    world.resume("s")
    before = stored(world)
    world.resume("s")
    assert stored(world) == before
    world.api.schedules.resume("s", "c", actor="caller")
    assert stored(world).note == "c"


def test_a_resume_in_time_takes_back_the_very_jobs_that_the_pause_cancelled(world: World) -> None:
    put(world)
    world.pause("s")
    world.resume("s")
    assert job_minutes(world) == [1, 2, 3, 4, 5]
    assert set(statuses(world).values()) == {"ENQUEUED"}
    assert {job.round for job in world.store.jobs().values()} == {2}
    for _ in range(5):
        world.advance(60)
        world.deliver()
    assert set(statuses(world).values()) == {"SUCCEEDED"}
    assert len(world.runs) == 5


def test_after_a_pause_the_latest_runs_and_the_others_are_on_record(world: World) -> None:
    put(world)
    world.advance(30)
    world.pause("s")
    world.advance(570)
    world.resume("s")
    assert told(world)[:2] == [(1, 9, "paused"), (10, 1, "job")]
    world.deliver()
    assert statuses(world)[10] == "SUCCEEDED"


def test_a_deleted_schedule_is_gone_and_what_was_pending_is_cancelled(world: World) -> None:
    put(world)
    world.advance(60)
    world.deliver()
    world.delete_schedule("s")
    assert statuses(world) == {1: "SUCCEEDED", **dict.fromkeys((2, 3, 4, 5), "CANCELLED")}
    assert reason_of(job_at(world, 2)) == SkipReason.DELETED
    acts: list[Act] = [
        lambda s: s.views.get("s"),
        lambda s: s.pause("s", None, actor="c"),
        lambda s: s.resume("s", None, actor="c"),
        lambda s: s.delete("s", actor="c"),
        lambda s: s.trigger("s", None, actor="c"),
    ]
    for act in acts:
        with pytest.raises(NotFound):
            act(world.api.schedules)
    world.api.schedules.recompute("s", actor="walk")


def test_a_schedule_that_is_deleted_and_put_again_makes_each_time_from_then_on(
    world: World,
) -> None:
    put(world)
    world.advance(90)
    world.delete_schedule("s")
    assert put(world)
    world.advance(300)
    world.deliver()
    ran = [minute_of(run.job.occurrence) for run in world.runs if run.job.occurrence]
    # 1 was due before the deletion, and had not started.
    assert sorted(ran) == [2, 3, 4, 5, 6]


def test_a_recomputation_notices_what_a_calendar_excludes_now(world: World) -> None:
    world.put_calendar("holidays", ["2026-12-25"])
    put(world, exclude=["holidays"])
    excluded = {"from": "2026-01-05T09:02:00Z", "to": "2026-01-05T09:04:00Z"}
    world.put_calendar("holidays", [excluded])
    world.process().api.schedules.recompute("s", actor="walk")
    assert [why for _, _, why in told(world)] == ["job", "excluded", "excluded", "job", "job"]
    assert statuses(world)[2] == statuses(world)[3] == "CANCELLED"
    assert stored(world).revision == 2


def test_an_unknown_schedule_is_not_found(world: World) -> None:
    with pytest.raises(NotFound):
        world.api.schedule_views.get("s")
    world.api.schedules.recompute("s", actor="walk")


# --- crashes ---


def live_through(world: World) -> None:
    """Let some minutes pass, each with a tick and deliveries."""
    for _ in range(8):
        world.minute()


def everything(one: ScheduleService) -> None:
    """Do all that can be done to a schedule."""
    one.put("s", parse(), actor="c")
    one.put("s", parse(expression="*/2 * * * *", payload="p" * 300), actor="c")
    one.pause("s", None, actor="c")
    one.resume("s", None, actor="c")
    one.recompute("s", actor="c")


def count_calls() -> int:
    faults = Faults()
    everything(service(World(), faults))
    return len(faults.calls)


@pytest.mark.parametrize("when", When)
def test_a_process_that_dies_anywhere_loses_no_nominal_time_and_runs_none_twice(
    when: When,
) -> None:
    for number in range(1, count_calls() + 1):
        world, faults = World(), Faults()
        faults.crash(number, when)
        with pytest.raises(Crash):
            everything(service(world, faults))
        live_through(world)
        found = world.schedules.get("s")
        if found is None:
            assert not world.runs
            continue
        if found.paused_at is not None:
            assert not world.runs, number
            world.resume("s")
            live_through(world)
        check_all_accounted(world, number)


def check_all_accounted(world: World, number: int) -> None:
    """Each nominal time ran once, or is on record with the reason why it did not."""
    definition = world.api.schedule_views.get("s").definition
    step = 1 if definition.expressions == (MINUTELY,) else 2
    until = minute_of(world.clock.now())
    fires = [float(minute) for minute in range(step, int(until) + 1, step)]
    entries = [entry for entry in recorded(world) if entry.first <= at(until)]
    told_of: list[float] = []
    for entry in entries:
        first = minute_of(entry.first)
        told_of += [first + step * n for n in range(entry.count)]
    assert told_of == fires, number
    ran = [minute_of(run.job.occurrence) for run in world.runs if run.job.occurrence]
    assert len(set(ran)) == len(ran), number
    made = {minute_of(entry.first) for entry in entries if entry.reason is None}
    assert set(ran) <= made, number
    # What is due this very minute may still be on its way.
    assert {minute for minute in made if minute < until - 1} <= set(ran), number


def test_a_store_that_does_not_answer_anywhere_loses_no_nominal_time() -> None:
    faults = Faults()
    everything(service(World(), faults))
    for call in faults.calls:
        world, failing = World(), Faults()
        failing.throttle(f"{call.port}.{call.method}", nth=call.nth)
        try:
            everything(service(world, failing))
        except Unavailable:
            everything(service(world, Faults()))
        live_through(world)
        check_all_accounted(world, call.number)
