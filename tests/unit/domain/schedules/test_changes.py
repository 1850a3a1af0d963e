"""What people do to a schedule, and what becomes of the nominal times that it decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.jobs.retry import RetryChanges
from hourhand.domain.schedules.changes import (
    DELETED_KEPT,
    MAX_FORMER_RULES,
    add_backfill,
    annotate,
    create,
    definition_name,
    delete,
    give_to_tenant,
    gives_up,
    newest_until,
    pause,
    put_back,
    put_over_deleted,
    recompute,
    record,
    replace_definition,
    resume,
    until,
    with_put_note,
    withdrawn,
)
from hourhand.domain.schedules.occurrences import decide
from hourhand.domain.schedules.recurrence import (
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
)
from hourhand.domain.schedules.schedule import (
    CalendarName,
    FormerRule,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from tests.unit.domain.schedule_samples import (
    LOOK_AHEAD,
    NOON,
    at,
    made,
    make_definition,
    make_schedule,
    minutes,
    misfire,
    ordered,
    rules_of,
    skipped,
    told,
    visit,
)

MINUTELY = make_definition()
HOURLY = make_definition("30 * * * *")
TICK = timedelta(milliseconds=1)


def visited(definition: ScheduleDefinition = MINUTELY, now: datetime = NOON) -> Schedule:
    """Return a schedule whose next five minutes are materialised."""
    return visit(make_schedule(definition, now), definition, now).schedule


def do_replace(
    schedule: Schedule, now: datetime, *, note: str | None = None, **more: Any
) -> Schedule:
    noted = with_put_note(schedule, note, paused=more.get("paused"))
    return replace_definition(noted, HOURLY, now=now, zone_data="2026b", write_id="x", **more)


def do_pause(schedule: Schedule, now: datetime) -> Schedule:
    return pause(schedule, now=now, write_id="x", note="a note")


def do_delete(schedule: Schedule, now: datetime) -> Schedule:
    return delete(schedule, now=now, write_id="x")


def do_recompute(schedule: Schedule, now: datetime) -> Schedule:
    return recompute(schedule, now=now, zone_data="2026b", write_id="x")


REOPENING = [do_replace, do_pause, do_delete, do_recompute]
Change = Callable[[Schedule, datetime], Schedule]


# --- definitions ---


def test_equal_definitions_and_only_those_share_a_name() -> None:
    varied: dict[str, Any] = {
        "expressions": ("0 * * * *",),
        "handler": "other",
        "is_union": True,
        "timezone": "Europe/Berlin",
        "anchor": NOON,
        "payload_text": "1",
        "retry": RetryChanges(max_attempts=1),
        "tags": {"a": "b"},
        "start_at": NOON,
        "end_at": NOON,
        "max_occurrences": 1,
        "pause_on_failure": True,
        "is_anchor_given": True,
    }
    names = {definition_name(replace(MINUTELY, **{name: value})) for name, value in varied.items()}
    assert len(names | {definition_name(MINUTELY)}) == len(varied) + 1
    assert definition_name(replace(MINUTELY)) == definition_name(MINUTELY)
    known = {field.name for field in fields(ScheduleDefinition)}
    assert set(varied) <= known


def test_exclusions_of_different_kinds_never_share_a_name() -> None:
    day = date(2026, 3, 2)
    kinds = (
        CalendarName("x"),
        ExcludedExpression("x"),
        ExcludedDate(day),
        ExcludedDates(day, day),
        ExcludedTimes(NOON, NOON),
    )
    assert len({definition_name(make_definition(exclude=(kind,))) for kind in kinds}) == 5


# --- creation ---


def new(definition: ScheduleDefinition, now: datetime = NOON, **fields: Any) -> Schedule:
    fields = {"paused": False, "note": "", **fields}
    return create("s", definition, now=now, zone_data="2026a", write_id="w", **fields)


def test_a_new_schedule_decides_from_now_on_and_is_due_at_once() -> None:
    schedule = new(MINUTELY)
    assert (schedule.sequence, schedule.revision, schedule.made) == (1, 1, 0)
    assert (schedule.cursor, schedule.next_at, schedule.created_at) == (NOON, NOON, NOON)
    assert schedule.is_live
    assert schedule.definition == definition_name(MINUTELY)
    assert ordered(visit(schedule, MINUTELY, NOON))[0] == 1


def test_a_new_schedule_may_be_paused() -> None:
    schedule = new(MINUTELY, paused=True, note="not yet")
    assert (schedule.paused_at, schedule.next_at, schedule.note) == (NOON, None, "not yet")
    assert not schedule.is_live


def test_its_start_itself_may_be_a_nominal_time_and_nothing_before_it_is() -> None:
    definition = make_definition(start_at=at(3))
    assert ordered(visit(new(definition), definition, NOON)) == [3, 4, 5]
    between = make_definition(start_at=at(2.5))
    assert ordered(visit(new(between), between, NOON)) == [3, 4, 5]


def test_a_start_in_the_past_does_not_make_what_is_over() -> None:
    definition = make_definition(start_at=at(-60))
    assert ordered(visit(new(definition), definition, NOON))[0] == 1


def test_times_are_kept_in_whole_milliseconds() -> None:
    late = NOON + timedelta(microseconds=1999)
    assert new(MINUTELY, late).cursor == NOON + TICK
    assert do_pause(visited(), late).effective_from == NOON + 2 * TICK


# --- what every reopening does ---


@pytest.mark.parametrize("change", REOPENING)
def test_what_was_made_ahead_is_withdrawn_and_decided_anew(change: Change) -> None:
    before = visited()
    after = change(before, at(2.5))
    assert (after.sequence, after.revision, after.write_id) == (2, 2, "x")
    assert told(after) == [(1, 1, 1, "job"), (2, 2, 1, "job")]
    assert (after.cursor, after.last_made, after.last_fire) == (at(2.5), at(2), at(2))
    assert withdrawn(before, after) == [at(3), at(4), at(5)]
    assert after.made == (0 if change is do_replace else 2)
    assert after.updated_at == at(2.5)
    assert after.next_at == (at(2.5) if change in {do_replace, do_recompute} else None)
    at_once = change(before, at(0.5))
    assert (at_once.journal, at_once.last_made, at_once.last_fire) == ((), None, None)
    assert at_once.made == 0


@pytest.mark.parametrize("change", REOPENING)
def test_a_nominal_time_at_the_very_instant_of_a_change_was_due_before_it(change: Change) -> None:
    before = visited()
    after = change(before, at(3))
    assert told(after)[-1] == (3, 3, 1, "job")
    assert withdrawn(before, after) == [at(4), at(5)]
    # Whoever judges a job takes those before `effective_from` for the schedule's own.
    assert at(3) < after.effective_from
    assert after.cursor == at(3)


@pytest.mark.parametrize("change", REOPENING)
def test_what_an_outage_left_undecided_is_not_passed_over(change: Change) -> None:
    before = visited()
    after = change(before, at(30))
    if change is not do_replace:
        assert after.cursor == at(5)
    assert withdrawn(before, after) == []


@pytest.mark.parametrize("change", REOPENING)
def test_what_was_triggered_stays(change: Change) -> None:
    before = record(visited(), made(2.2, salt="trigger"), write_id="t")
    before = record(before, made(4.2, salt="trigger"), write_id="t")
    after = change(before, at(3))
    assert [e.first for e in after.journal if e.salt] == [at(2.2), at(4.2)]
    assert at(4.2) not in withdrawn(before, after)


@pytest.mark.parametrize("change", REOPENING)
def test_exclusions_ahead_are_taken_back_and_end_no_data_interval(change: Change) -> None:
    definition = make_definition(exclude=(ExcludedTimes(at(2), at(4)),))
    after = change(visited(definition), at(3.5))
    assert told(after) == [(1, 1, 1, "job"), (2, 2, 1, "excluded"), (3, 3, 1, "excluded")]
    assert (after.last_made, after.last_fire) == (at(1), at(1))


@pytest.mark.parametrize("change", REOPENING)
def test_what_went_to_pages_is_remembered_as_the_newest(change: Change) -> None:
    before = make_schedule(MINUTELY, last_made=at(-1), last_fire=at(-0.5), made=9)
    after = change(before, NOON)
    assert (after.last_made, after.last_fire) == (at(-1), at(-0.5))


def test_jobs_made_ahead_that_are_taken_back_may_be_made_again() -> None:
    definition = make_definition(max_occurrences=5)
    before = visited(definition)
    assert before.next_at is None
    after = recompute(before, now=at(2.5), zone_data="x", write_id="x")
    again = visit(after, definition, at(2.5))
    assert ordered(again) == [3, 4, 5]
    assert again.schedule.made == 5


def test_the_count_of_what_was_made_never_falls_below_zero() -> None:
    before = replace(visited(), made=1)
    assert do_pause(before, NOON).made == 0


@pytest.mark.parametrize("change", REOPENING)
def test_jobs_of_times_that_the_present_revision_did_not_decide_are_not_its_own(
    change: Change,
) -> None:
    undecided = replace(visited(), cursor=at(2))
    assert change(undecided, at(4)).effective_from == at(2) + TICK
    assert change(visited(), at(4)).effective_from == at(4) + TICK


@pytest.mark.parametrize("stop", [do_pause, do_delete])
def test_what_was_withdrawn_stays_so_however_often_a_schedule_that_stands_still_is_changed(
    stop: Change,
) -> None:
    stopped = stop(visited(), at(2.5))
    paused_still = do_replace(stopped, at(4), paused=True)
    assert paused_still.effective_from == at(2.5) + TICK
    assert do_replace(paused_still, at(6)).effective_from == at(2.5) + TICK


# --- replacing ---


def test_a_replaced_schedule_decides_by_its_new_rule_from_now_on() -> None:
    after = do_replace(visited(), at(2.5))
    assert (after.definition, after.zone_data) == (definition_name(HOURLY), "2026b")
    assert (after.next_at, after.served_until, after.created_at) == (at(2.5), None, NOON)
    decided = visit(after, HOURLY, at(2.5), timedelta(hours=1))
    assert ordered(decided) == [30]
    assert decided.orders[0].previous == at(2)
    assert decided.orders[0].revision == 2


def test_the_same_nominal_time_under_another_definition_is_made_again_to_be_adopted() -> None:
    before = visited()
    other = make_definition(payload_text="2")
    after = replace_definition(before, other, now=at(2.5), zone_data="2026a", write_id="x")
    decision = visit(after, other, at(2.5))
    assert ordered(decision) == [3, 4, 5, 6, 7]
    assert withdrawn(before, decision.schedule) == []


def test_what_the_definition_before_left_undecided_stays_so_beside_its_rule() -> None:
    after = do_replace(visited(), at(20), before=MINUTELY)
    assert (after.cursor, after.effective_from) == (at(5), at(5) + TICK)
    assert after.former == (FormerRule(definition_name(MINUTELY), at(20)),)
    # What a former rule ruled is decided since then, or is ruled by the next one, too.
    again = do_replace(replace(after, cursor=at(21)), at(30), before=HOURLY)
    assert (again.cursor, again.former) == (at(21), ())


def test_an_edit_that_leaves_the_rule_as_it_is_keeps_no_former_one() -> None:
    other = replace(HOURLY, payload_text="1", misfire=misfire("all"))
    after = do_replace(visited(HOURLY), at(20), before=other)
    assert (after.cursor, after.former) == (at(5), ())


def test_an_edit_passes_over_what_nothing_is_known_of_or_its_count_had_ended() -> None:
    assert do_replace(visited(), at(20)).cursor == at(20)
    ended = make_definition(max_occurrences=5)
    after = do_replace(visited(ended), at(20), before=ended)
    assert (after.cursor, after.former) == (at(20), ())


def test_the_rules_since_the_cursor_are_not_kept_without_end() -> None:
    schedule = visited()
    for minute in range(MAX_FORMER_RULES):
        assert not gives_up(schedule, MINUTELY)
        schedule = do_replace(schedule, at(20 + minute), before=MINUTELY)
    assert gives_up(schedule, MINUTELY)
    after = do_replace(schedule, at(60), before=MINUTELY)
    assert (after.cursor, after.former) == (at(60), ())


@pytest.mark.parametrize(
    ("was_paused", "paused", "paused_at"),
    [
        (False, None, None),
        (False, False, None),
        (False, True, at(2)),
        (True, None, at(1)),
        (True, True, at(1)),
        (True, False, None),
    ],
)
def test_a_replacement_is_paused_as_it_was_unless_it_says_otherwise(
    was_paused: bool, paused: bool | None, paused_at: datetime | None
) -> None:
    before = do_pause(visited(), at(1)) if was_paused else visited()
    after = do_replace(before, at(2), paused=paused)
    assert after.paused_at == paused_at
    assert after.next_at == (at(2) if paused_at is None else None)
    resumed = (at(1), at(2)) if was_paused and paused is False else (None, None)
    assert (after.paused_from, after.resumed_at) == resumed


def test_a_schedule_that_is_put_over_a_deleted_one_goes_on_with_its_events_alone() -> None:
    deleted = do_delete(do_pause(visited(), at(1)), at(2))
    created = new(HOURLY, at(3))
    after = put_over_deleted(created, deleted)
    assert (after.sequence, after.revision) == (deleted.sequence + 1, deleted.revision + 1)
    assert (after.incarnation, after.key, deleted.key) == (1, "s.1", "s")
    assert after.tenant_since == deleted.created_at
    of_the_item = {"sequence", "revision", "incarnation", "tenant_since", "last_event"}
    others = [f.name for f in fields(Schedule) if f.name not in of_the_item]
    assert [getattr(after, n) for n in others] == [getattr(created, n) for n in others]


# --- pause and resume ---


def test_a_paused_schedule_wants_no_visit() -> None:
    after = do_pause(visited(), at(2.5))
    assert (after.paused_at, after.next_at, after.note) == (at(2.5), None, "a note")


def test_a_resumed_schedule_deals_with_its_pause_at_once() -> None:
    paused = do_pause(visited(), at(2.5))
    after = resume(paused, now=at(30), write_id="r", note="go on")
    assert (after.paused_at, after.resumed_at, after.next_at) == (None, at(30), at(30))
    assert (after.sequence, after.revision, after.note) == (3, 3, "go on")
    assert (after.cursor, after.effective_from) == (paused.cursor, paused.effective_from)
    decision = visit(after, MINUTELY, at(30))
    assert ordered(decision) == [30, 31, 32, 33, 34, 35]
    assert told(decision.schedule)[2] == (3, 29, 27, "paused")


def test_what_was_pending_when_it_was_paused_is_wanted_again_by_a_resume_in_time() -> None:
    before = visited()
    paused = do_pause(before, at(2.5))
    resumed = resume(paused, now=at(2.6), write_id="r", note="")
    decision = visit(resumed, MINUTELY, at(2.6))
    assert ordered(decision) == [3, 4, 5, 6, 7]
    assert withdrawn(before, decision.schedule) == []


def noted(note: str, **more: Any) -> Schedule:
    """Return a paused schedule with the note of its pause, and "mine" as its own."""
    return pause(unpaused("mine"), now=at(2), write_id="p", note=note, **more)


def unpaused(note: str) -> Schedule:
    """Return a schedule with this note of its own."""
    return annotate(visited(), now=at(1), write_id="n", note=note)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (noted("why"), ("why", "mine")),
        (noted("why", by="code"), ("why", "mine")),
        (noted(""), ("", "mine")),
        (pause(visited(), now=at(1), write_id="p", note=None), ("", None)),
        (annotate(noted("why"), now=at(3), write_id="a", pause_note="else"), ("else", "mine")),
        (annotate(noted("why"), now=at(3), write_id="a", note="new"), ("why", "new")),
        (resume(noted("why"), now=at(3), write_id="r", note=None), ("mine", None)),
        (resume(noted("why"), now=at(3), write_id="r", note="done"), ("done", None)),
        (resume(noted("why"), now=at(3), write_id="r", note=""), ("", None)),
        (do_replace(noted("why"), at(3)), ("why", "mine")),
        (do_replace(noted("why"), at(3), paused=True), ("why", "mine")),
        (do_replace(noted("why"), at(3), paused=False), ("mine", None)),
        (do_replace(noted("why"), at(3), note="new"), ("why", "new")),
        (do_replace(noted("why"), at(3), note="why"), ("why", "mine")),
        (do_replace(noted("why"), at(3), note="mine"), ("why", "mine")),
        (do_replace(noted("why"), at(3), note="new", paused=True), ("new", "mine")),
        (do_replace(noted("why"), at(3), note="new", paused=False), ("new", None)),
        (do_replace(noted("why"), at(3), note="why", paused=False), ("mine", None)),
        (do_replace(unpaused("mine"), at(3), note="new"), ("new", None)),
        (do_replace(unpaused("mine"), at(3), note="why", paused=True), ("why", "mine")),
        (do_replace(unpaused("mine"), at(3), note="mine", paused=True), ("mine", None)),
    ],
)
def test_the_note_of_a_pause_stands_for_the_schedules_own_until_it_ends(
    after: Schedule, expected: tuple[str, str | None]
) -> None:
    assert (after.note, after.own_note) == expected


def test_another_tenant_gets_no_note_and_has_the_schedule_from_now_on() -> None:
    after = give_to_tenant(noted("why"), now=at(3))
    assert (after.note, after.own_note, after.tenant_since) == ("", None, at(3))
    assert do_replace(after, at(4)).tenant_since == at(3)


def test_a_schedule_that_is_put_again_after_its_deletion_stays_its_tenants() -> None:
    before = visited()
    revived = put_over_deleted(new(MINUTELY, at(3)), do_delete(before, at(2)))
    assert (revived.created_at, revived.tenant_since) == (at(3), before.created_at)
    again = put_over_deleted(new(MINUTELY, at(5)), do_delete(revived, at(4)))
    assert again.tenant_since == before.created_at


def test_a_second_pause_forgets_the_resume_before_it() -> None:
    resumed = resume(do_pause(visited(), at(1)), now=at(2), write_id="r", note="")
    assert do_pause(resumed, at(3)).resumed_at is None


# --- deletion ---


def test_a_deleted_schedule_is_remembered_for_a_while_and_drops_its_backfills() -> None:
    before = add_backfill(visited(), "b", now=at(1), write_id="b")
    after = do_delete(before, at(2))
    assert (after.deleted_at, after.keep_until) == (at(2), at(2) + DELETED_KEPT)
    assert (after.next_at, after.backfills, after.is_live) == (None, (), False)


# --- recomputation ---


@pytest.mark.parametrize("change", [do_pause, do_delete])
def test_a_schedule_that_makes_nothing_only_notes_the_zone_data(change: Change) -> None:
    before = change(visited(), at(1))
    after = do_recompute(before, at(2))
    assert after == replace(before, sequence=before.sequence + 1, write_id="x", zone_data="2026b")


def test_a_calendar_that_excludes_what_is_pending_takes_its_job_back() -> None:
    before = visited()
    after = do_recompute(before, at(2.5))
    holiday = make_definition(exclude=(ExcludedTimes(at(4), at(5)),))
    now_excluded = visit(after, holiday, at(2.5)).schedule
    assert withdrawn(before, now_excluded) == [at(4)]


# --- notes, triggers, backfills ---


def test_a_note_changes_nothing_else() -> None:
    before = visited()
    after = annotate(before, now=at(1), write_id="n", note="why")
    sequence = before.sequence + 1
    assert after == replace(before, sequence=sequence, write_id="n", updated_at=at(1), note="why")


def test_a_triggered_job_lies_in_its_place_in_the_journal() -> None:
    before = visited()
    after = record(before, made(2.5, salt="trigger"), write_id="t")
    assert [e.first for e in after.journal] == [at(1), at(2), at(2.5), at(3), at(4), at(5)]
    assert (after.sequence, after.revision) == (before.sequence + 1, before.revision)
    assert after.made == before.made


@pytest.mark.parametrize("is_over", [True, False])
def test_a_job_that_began_is_put_back_unless_its_time_is_still_to_be_decided(
    is_over: bool,
) -> None:
    before = visited()
    reopened = replace(recompute(before, now=at(1), zone_data="z", write_id="r"), cursor=at(3))
    after = replace(reopened, deleted_at=at(2) if is_over else None)
    noted = put_back(after, [at(4), at(2)], definition=before.definition, write_id="p")
    assert noted is not None
    times = [at(1), at(2), at(4)] if is_over else [at(1), at(2)]
    assert [e.first for e in noted.journal] == times
    assert (noted.sequence, noted.revision) == (after.sequence + 1, after.revision)
    assert noted.made == after.made + len(times) - 1
    assert noted.last_made == noted.last_fire == times[-1]


def test_what_is_on_record_is_not_put_back() -> None:
    before = visited()
    assert put_back(before, [at(2)], definition=before.definition, write_id="p") is None


def test_a_job_that_began_takes_the_place_of_what_was_noted_for_its_time() -> None:
    definition = make_definition(exclude=(ExcludedTimes(at(2), at(4)),))
    before = visited(definition)
    assert told(before)[1] == (2, 2, 1, "excluded")
    by_hand = record(before, made(2, salt="trigger"), write_id="t")
    after = put_back(by_hand, [at(2)], definition=before.definition, write_id="p")
    assert after is not None
    assert sorted(e.salt for e in after.journal if e.first == at(2)) == ["", "trigger"]
    assert [e.reason for e in after.journal if e.first == at(2)] == [None, None]
    assert (after.last_made, after.last_fire) == (before.last_made, before.last_fire)


@pytest.mark.parametrize(("paused", "expected"), [(None, "code"), (True, ""), (False, "")])
def test_a_replacement_keeps_whose_pause_it_is_unless_it_says_otherwise(
    paused: bool | None, expected: str
) -> None:
    before = pause(visited(), now=at(1), write_id="p", note="", by="code")
    assert do_replace(before, at(2), paused=paused).paused_by == expected


def test_the_end_of_a_pause_and_a_new_one_are_of_no_origin() -> None:
    before = pause(visited(), now=at(1), write_id="p", note="", by="code")
    after = resume(before, now=at(2), write_id="r", note="")
    assert (before.paused_by, after.paused_by, do_pause(after, at(3)).paused_by) == ("code", "", "")


@pytest.mark.parametrize(("given", "expected"), [(None, "code"), ("", ""), ("files:a", "files:a")])
def test_a_replacement_keeps_the_origin_unless_it_says_otherwise(
    given: str | None, expected: str
) -> None:
    before = replace(visited(), managed_by="code")
    assert do_replace(before, at(2), managed_by=given).managed_by == expected


def test_a_job_of_a_definition_that_was_replaced_counts_for_no_bound_of_the_new_one() -> None:
    before = visited()
    after = put_back(
        replace(before, definition="another", journal=()),
        [at(2)],
        definition=before.definition,
        write_id="p",
    )
    assert after is not None
    assert after.made == before.made


def test_a_backfill_makes_its_schedule_due() -> None:
    after = add_backfill(visited(), "b", now=at(1), write_id="b")
    assert (after.backfills, after.next_at) == (("b",), at(1))
    assert add_backfill(after, "c", now=at(2), write_id="c").backfills == ("b", "c")


def test_backfills_go_on_while_their_schedule_is_paused() -> None:
    before = add_backfill(visited(), "b", now=at(1), write_id="b")
    paused = do_pause(before, at(2))
    assert paused.next_at == at(2)
    assert do_replace(paused, at(3)).next_at == at(3)


def test_what_is_kept_of_a_journal_is_what_was_due_and_what_was_made_by_hand() -> None:
    journal = (made(1), skipped(2, 4, SkipReason.PAUSED, 3), made(5), made(6, salt="trigger"))
    assert until(journal, at(3)) == (journal[0], journal[3])
    assert until(journal, at(4)) == (journal[0], journal[1], journal[3])


def test_the_newest_job_and_time_are_those_that_were_due_and_not_those_made_ahead() -> None:
    schedule = record(visited(), made(2.2, salt="trigger"), write_id="t")
    assert minutes(*newest_until(schedule, at(2.5))) == [2, 2]
    assert newest_until(schedule, at(0.5)) == (None, None)
    assert minutes(*newest_until(schedule, at(60))) == [5, 5]
    skips = make_definition(misfire=misfire("skip"))
    later = visit(visited(skips), skips, at(20)).schedule
    assert minutes(*newest_until(later, at(19.5))) == [5, 19]


# --- withdrawal ---


def test_only_jobs_of_the_schedule_itself_are_withdrawn() -> None:
    before = replace(
        visited(),
        journal=(
            made(3),
            made(3.5, salt="trigger"),
            skipped(4, 4, SkipReason.EXCLUDED),
            made(5),
        ),
    )
    after = do_pause(before, at(2))
    assert withdrawn(before, after) == [at(3), at(5)]


def test_a_job_is_not_withdrawn_from_whoever_adopted_it() -> None:
    before = visited()
    after = do_recompute(before, at(2.5))
    decided = decide(after, rules_of(MINUTELY), now=at(2.5), horizon=at(2.5) + LOOK_AHEAD)
    assert withdrawn(before, decided.schedule) == []
