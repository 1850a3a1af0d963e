"""Running a schedule's job now: whenever, however often, and on record."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.errors import NotFound, Unavailable
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules.changes import annotate
from hourhand.domain.schedules.journal import RING_ENTRIES
from hourhand.domain.schedules.occurrences import overlap_of
from hourhand.memory import START
from hourhand.services.schedules import history
from hourhand.services.schedules import triggers as module
from hourhand.services.schedules.triggers import TRIGGER
from tests.unit.services.schedule_views import (
    MINUTELY,
    at,
    job_at,
    recorded,
    statuses,
    stored,
    told,
)
from tests.world.faults import Faults, When
from tests.world.world import World


@pytest.fixture
def minutely(world: World) -> World:
    """A world with a minutely schedule whose next five minutes are materialised."""
    world.put_schedule("s", expression=MINUTELY)
    return world


def touch(world: World) -> None:
    before = stored(world)
    after = annotate(before, now=world.clock.now(), write_id="else", note=f"{before.sequence}")
    world.schedules.write(after, previous=before.sequence)


def test_a_triggered_job_is_due_now_and_on_record(minutely: World) -> None:
    minutely.advance(90)
    job = minutely.trigger("s")
    assert (job.occurrence, job.run_at, job.status) == (at(1.5), at(1.5), JobStatus.ENQUEUED)
    assert (job.schedule_id, job.schedule_revision) == ("s", None)
    definition = minutely.api.schedule_views.get("s").definition
    assert job.overlap == overlap_of("s", definition)
    assert (1.5, 1, TRIGGER) in told(minutely)
    minutely.deliver()
    assert minutely.job(job).status is JobStatus.SUCCEEDED
    (line,) = [
        one for one in minutely.telemetry.logs if one.sentence == "A schedule was triggered."
    ]
    assert line.fields["job_id"] == job.id


def test_its_data_interval_ends_now_and_not_with_what_is_pending(minutely: World) -> None:
    first = minutely.trigger("s")
    assert (first.previous_occurrence, first.interval_start) == (None, None)
    minutely.advance(150)
    later = minutely.trigger("s")
    assert (later.previous_occurrence, later.interval_start) == (at(2), at(2))


def test_a_trigger_at_a_nominal_time_is_another_job(minutely: World) -> None:
    minutely.advance(60)
    triggered = minutely.trigger("s")
    assert triggered.occurrence == at(1)
    assert triggered.id != job_at(minutely, 1).id


def test_a_paused_schedule_may_be_triggered_and_nothing_withdraws_it(minutely: World) -> None:
    minutely.pause("s")
    job = minutely.trigger("s")
    minutely.resume("s")
    minutely.pause("s")
    minutely.put_schedule("s", expression="30 * * * *")
    minutely.deliver()
    assert minutely.job(job).status is JobStatus.SUCCEEDED
    assert told(minutely) == [(0, 1, TRIGGER)]


def test_who_triggers_twice_in_a_millisecond_gets_two_jobs(minutely: World) -> None:
    first, second = minutely.trigger("s"), minutely.trigger("s")
    assert first.id != second.id
    assert first.run_at == second.run_at == START


@pytest.mark.parametrize("when", When)
def test_two_processes_that_trigger_in_one_millisecond_get_two_jobs(
    minutely: World, when: When
) -> None:
    faults = Faults()
    others: list[Job] = []
    faults.interrupt("jobs.get", lambda: others.append(minutely.trigger("s")), when=when)
    mine = minutely.trigger("s", by=minutely.process(faults).api)
    assert {mine.occurrence, others[0].occurrence} == {START, START + timedelta(milliseconds=1)}
    minutely.deliver()
    assert {minutely.job(job).status for job in (mine, others[0])} == {JobStatus.SUCCEEDED}
    assert [why for _, _, why in told(minutely)].count(TRIGGER) == 2


def test_triggers_without_end_in_a_millisecond_are_refused(
    minutely: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_TRIGGERS_A_MILLISECOND", 2)
    minutely.trigger("s")
    minutely.trigger("s")
    with pytest.raises(Unavailable, match="too often"):
        minutely.trigger("s")


def test_what_is_not_there_cannot_be_triggered(world: World) -> None:
    with pytest.raises(NotFound):
        world.trigger("s")


def test_a_trigger_counts_for_no_bound_of_the_schedule(world: World) -> None:
    world.put_schedule("s", expression=MINUTELY, max_occurrences=2)
    for _ in range(3):
        world.trigger("s")
    assert stored(world).made == 2
    world.minute()
    world.minute()
    world.minute()
    assert [why for _, _, why in told(world)].count("job") == 2


# --- its line in the history ---


def test_a_schedule_that_changes_meanwhile_still_gets_the_line(minutely: World) -> None:
    faults = Faults().interrupt("schedules.write", lambda: touch(minutely))
    minutely.trigger("s", by=minutely.process(faults).api)
    assert (0, 1, TRIGGER) in told(minutely)
    assert stored(minutely).note != ""


@pytest.mark.parametrize("trouble", ["throttled", "changing", "gone"])
def test_a_job_that_is_made_is_answered_though_its_line_is_lost(
    minutely: World, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MAX_RECORDINGS", 2)
    faults = Faults()

    def forget() -> None:
        gone = replace(stored(minutely), sequence=99, keep_until=START)
        minutely.schedules.write(gone, previous=stored(minutely).sequence)
        minutely.schedules.delete_expired(at(1))

    if trouble == "throttled":
        faults.throttle("schedules.write")
    elif trouble == "changing":
        for nth in (1, 2):
            faults.interrupt("schedules.write", lambda: touch(minutely), nth=nth)
    else:
        faults.interrupt("schedules.write", forget)
    job = minutely.trigger("s", by=minutely.process(faults).api)
    assert minutely.job(job).status is JobStatus.ENQUEUED
    warned = [line.sentence for line in minutely.telemetry.warnings]
    lost = (
        "Could not record a job in its schedule's history. The job runs, but the history lacks it."
    )
    assert (lost in warned) == (trouble != "gone")


def test_a_paused_schedule_that_is_triggered_for_ever_stays_small(minutely: World) -> None:
    minutely.pause("s")
    for _ in range(10 * RING_ENTRIES):
        minutely.advance(61)
        minutely.trigger("s")
    assert len(stored(minutely).journal) <= RING_ENTRIES + 2
    assert len(recorded(minutely)) == 10 * RING_ENTRIES


def test_a_history_tells_of_every_trigger_in_a_pause_and_of_what_the_pause_skipped(
    minutely: World,
) -> None:
    minutely.pause("s")
    for _ in range(3 * RING_ENTRIES):
        minutely.advance(61)
        minutely.trigger("s")
    minutely.resume("s")
    history = minutely.api.occurrences.history("s", limit=200, cursor=None)
    entries = [record.entry for record in history.entries]
    assert sum(entry.salt == TRIGGER for entry in entries) == 3 * RING_ENTRIES
    assert sum(entry.count for entry in entries if entry.reason) == 72


def test_what_is_triggered_in_a_pause_lies_among_what_the_pause_skipped(minutely: World) -> None:
    minutely.pause("s")
    minutely.advance(330)
    minutely.trigger("s")
    minutely.advance(300)
    minutely.resume("s")
    assert told(minutely)[:3] == [(1, 9, "paused"), (5.5, 1, TRIGGER), (10, 1, "job")]
    assert statuses(minutely)[5.5] == "ENQUEUED"
