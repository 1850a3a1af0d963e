"""The schedules that the code declares: applied once for each deployment, whatever happens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.schedules import ScheduleInput
from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.domain.schedules.changes import annotate
from hourhand.domain.ticks.leases import LEADER
from hourhand.memory import MemoryDeployment, MemoryHandlerDirectory
from hourhand.ports.handler_directory import DeclaredSchedule, HandlerInfo
from hourhand.services.schedules.declarations import UNDECLARED_NOTE
from hourhand.testing import Crash
from tests.unit.services.schedule_views import MINUTELY, job_minutes, stored
from tests.world.faults import Faults, When
from tests.world.world import Process, World

HANDLERS = ("greet", "report")
MOST_CALLS = 400
SETTLING_TICKS = 3


@dataclass(frozen=True, slots=True)
class Release:
    """A scheduler of a deployment."""

    process: Process
    deployment: MemoryDeployment


def deploy(
    world: World,
    version: str,
    *,
    lives: bool = True,
    faults: Faults | None = None,
    **expressions: str,
) -> Release:
    """Start a scheduler of a deployment that declares these schedules, by handler."""
    infos = [
        HandlerInfo(
            name=name,
            policies=HandlerPolicies(timeout_seconds=77),
            schedule=DeclaredSchedule(expression=expressions[name], timezone="Europe/Berlin")
            if name in expressions
            else None,
        )
        for name in HANDLERS
    ]
    world.handlers = MemoryHandlerDirectory(*infos)
    world.deployment = MemoryDeployment(version, lives=lives)
    return Release(world.process(faults), world.deployment)


def tick(world: World, release: Release, times: int = 1) -> None:
    for _ in range(times):
        world.tick(by=release.process.scheduler)
        world.advance(60)


def put(world: World, schedule_id: str, **body: Any) -> None:
    request = ScheduleInput.parse({"handler": schedule_id, "expression": MINUTELY, **body})
    world.api.schedules.put(schedule_id, request, actor="caller")


def warnings(world: World) -> list[str]:
    return [line.sentence for line in world.telemetry.warnings]


def summary(world: World) -> dict[str, tuple[str, bool, str, str]]:
    """Return of each schedule its rule, whether it is paused, its origin and its note."""
    found = {}
    for name in world.schedules.list_schedules(after=None, limit=100).names:
        schedule = stored(world, name)
        definition = world.schedules.get_definition(name, schedule.definition)
        assert definition is not None
        found[name] = (
            definition.expressions[0],
            schedule.paused_at is not None,
            schedule.managed_by,
            schedule.note,
        )
    return found


# --- what is declared ---


def test_the_first_tick_of_a_deployment_puts_what_it_declares(world: World) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY))
    assert summary(world) == {"greet": (MINUTELY, False, "code", "")}
    view = world.api.schedule_views.get("greet")
    assert (view.definition.handler, view.definition.timezone) == ("greet", "Europe/Berlin")
    assert view.definition.payload_text == "null"
    assert view.definition.timeout_seconds is None, "the handler's policies apply"
    assert job_minutes(world) != []


def test_a_list_of_expressions_is_a_union(world: World) -> None:
    declared = DeclaredSchedule(expression=("0 3 * * *", "@hourly"))
    world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", schedule=declared))
    tick(world, Release(world.process(), world.deployment))
    definition = world.api.schedule_views.get("greet").definition
    assert (definition.expressions, definition.is_union) == (("0 3 * * *", "@hourly"), True)


def test_without_declarations_nothing_is_written_and_no_alias_is_read(world: World) -> None:
    faults = Faults()
    release = deploy(world, "1", faults=faults)
    tick(world, release, SETTLING_TICKS)
    before = world.schedules.get_walk()
    assert (before.declaring, before.declared) == ("", "")
    release.deployment.lives = False
    tick(world, release)
    assert world.schedules.get_walk() == before


def test_once_a_pass_found_nothing_to_do_no_other_follows(world: World) -> None:
    release = deploy(world, "1", greet=MINUTELY)
    tick(world, release, SETTLING_TICKS)
    settled = world.schedules.get_walk()
    assert settled.declared == settled.declaring != ""
    assert settled.declared_ids == ("greet",)
    release.deployment.lives = False
    tick(world, release, 5)
    assert world.schedules.get_walk() == settled


def test_the_next_pass_waits_until_schedulers_of_before_have_ended(world: World) -> None:
    release = deploy(world, "1", greet=MINUTELY)
    world.tick(by=release.process.scheduler)
    first = world.schedules.get_walk()
    world.advance((world.timings.tick / timedelta(seconds=1)) - 1)
    world.tick(by=release.process.scheduler)
    assert world.schedules.get_walk() == first
    world.advance(1)
    world.tick(by=release.process.scheduler)
    assert world.schedules.get_walk().declared == first.declaring


def test_another_rule_replaces_the_one_before(world: World) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    tick(world, deploy(world, "2", greet="0 3 * * *"))
    assert summary(world) == {"greet": ("0 3 * * *", False, "code", "")}


def test_in_the_local_cloud_a_change_of_the_code_is_applied_too(world: World) -> None:
    tick(world, deploy(world, "", greet=MINUTELY), SETTLING_TICKS)
    tick(world, deploy(world, "", greet="0 3 * * *"))
    assert summary(world) == {"greet": ("0 3 * * *", False, "code", "")}


def test_a_change_by_hand_lasts_until_the_next_deployment(world: World) -> None:
    release = deploy(world, "1", greet=MINUTELY)
    tick(world, release, SETTLING_TICKS)
    put(world, "greet", expression="0 5 * * *")
    tick(world, release, SETTLING_TICKS)
    assert summary(world) == {"greet": ("0 5 * * *", False, "code", "")}
    tick(world, deploy(world, "2", greet=MINUTELY))
    assert summary(world) == {"greet": (MINUTELY, False, "code", "")}


def test_a_schedule_that_was_deleted_by_hand_returns_with_the_next_deployment(
    world: World,
) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    world.api.schedules.delete("greet", actor="caller")
    tick(world, deploy(world, "2", greet=MINUTELY))
    assert summary(world) == {"greet": (MINUTELY, False, "code", "")}


# --- what is declared no more ---


def test_a_schedule_that_is_declared_no_more_is_paused_with_a_note(world: World) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY, report=MINUTELY), SETTLING_TICKS)
    tick(world, deploy(world, "2", report=MINUTELY), SETTLING_TICKS)
    assert summary(world) == {
        "greet": (MINUTELY, True, "code", UNDECLARED_NOTE),
        "report": (MINUTELY, False, "code", ""),
    }
    assert stored(world, "greet").paused_by == "code"
    assert world.schedules.get_walk().declared_ids == ("report",)


def test_a_declaration_that_returns_resumes_the_schedule(world: World) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    tick(world, deploy(world, "2"), SETTLING_TICKS)
    assert summary(world)["greet"][1] is True
    tick(world, deploy(world, "3", greet=MINUTELY))
    assert summary(world) == {"greet": (MINUTELY, False, "code", "")}
    assert stored(world, "greet").paused_by == ""


def test_a_declaration_that_returns_with_another_rule_resumes_it_too(world: World) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    tick(world, deploy(world, "2"), SETTLING_TICKS)
    tick(world, deploy(world, "3", greet="0 3 * * *"))
    assert summary(world) == {"greet": ("0 3 * * *", False, "code", "")}


def test_one_that_a_person_resumed_is_not_paused_again(world: World) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    tick(world, deploy(world, "2"), SETTLING_TICKS)
    world.api.schedules.resume("greet", None, actor="caller")
    tick(world, deploy(world, "3"), SETTLING_TICKS)
    assert stored(world, "greet").paused_at is None


def test_one_that_was_deleted_is_not_paused(world: World) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    world.api.schedules.delete("greet", actor="caller")
    tick(world, deploy(world, "2"), SETTLING_TICKS)
    assert stored(world, "greet").paused_at is None


# --- what people do ---


@pytest.mark.parametrize("later", [MINUTELY, "0 3 * * *"], ids=["the same rule", "another rule"])
def test_a_pause_of_a_person_survives_deployments(world: World, later: str) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    world.api.schedules.pause("greet", "a migration", actor="caller")
    tick(world, deploy(world, "2", greet=later), SETTLING_TICKS)
    assert summary(world) == {"greet": (later, True, "code", "a migration")}


def test_a_pause_of_a_person_is_not_taken_for_that_of_the_code(world: World) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    world.api.schedules.pause("greet", "a migration", actor="caller")
    tick(world, deploy(world, "2"), SETTLING_TICKS)
    assert summary(world)["greet"] == (MINUTELY, True, "code", "a migration")
    tick(world, deploy(world, "3", greet=MINUTELY), SETTLING_TICKS)
    assert summary(world)["greet"] == (MINUTELY, True, "code", "a migration")


@pytest.mark.parametrize("how", ["pause", "put"])
def test_a_person_can_take_over_a_pause_of_the_code(world: World, how: str) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    tick(world, deploy(world, "2"), SETTLING_TICKS)
    if how == "pause":
        world.api.schedules.pause("greet", None, actor="caller")
    else:
        put(world, "greet", timezone="Europe/Berlin", paused=True)
    tick(world, deploy(world, "3", greet=MINUTELY), SETTLING_TICKS)
    assert summary(world)["greet"][1] is True


def test_a_schedule_without_origin_is_taken_over(world: World) -> None:
    put(world, "greet", expression="0 5 * * *", note="by hand", paused=True)
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    assert summary(world) == {"greet": (MINUTELY, True, "code", "by hand")}


def test_a_schedule_of_another_origin_is_left_alone(world: World) -> None:
    put(world, "greet", expression="0 5 * * *", managed_by="files:ops")
    before = stored(world, "greet")
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    assert stored(world, "greet").definition == before.definition
    assert "managed by another origin" in warnings(world)[0]
    tick(world, deploy(world, "2"), SETTLING_TICKS)
    assert stored(world, "greet").paused_at is None
    assert world.schedules.get_walk().declared_ids == ()


# --- several versions ---


def test_a_scheduler_of_a_version_that_is_not_live_applies_nothing(world: World) -> None:
    coming = deploy(world, "2", lives=False, greet=MINUTELY)
    tick(world, coming, SETTLING_TICKS)
    assert summary(world) == {}
    coming.deployment.lives = True
    tick(world, coming)
    assert summary(world) == {"greet": (MINUTELY, False, "code", "")}


def test_two_versions_side_by_side_do_not_undo_each_other(world: World) -> None:
    old = deploy(world, "1", greet=MINUTELY, report=MINUTELY)
    tick(world, old, SETTLING_TICKS)
    new = deploy(world, "2", lives=False, greet="0 3 * * *")
    for _ in range(5):
        tick(world, new)
        tick(world, old)
    assert summary(world)["greet"][0] == MINUTELY
    old.deployment.lives = False
    new.deployment.lives = True
    tick(world, new, SETTLING_TICKS)
    changed = world.schedules.get_walk(), stored(world, "greet").revision
    for _ in range(5):
        tick(world, old)
        tick(world, new)
    assert (world.schedules.get_walk(), stored(world, "greet").revision) == changed
    assert summary(world)["greet"][0] == "0 3 * * *"
    assert summary(world)["report"][1] is True


def test_a_rollback_applies_the_declarations_of_the_older_version_again(world: World) -> None:
    old = deploy(world, "1", greet=MINUTELY)
    tick(world, old, SETTLING_TICKS)
    new = deploy(world, "2", report=MINUTELY)
    old.deployment.lives = False
    tick(world, new, SETTLING_TICKS)
    new.deployment.lives = False
    old.deployment.lives = True
    tick(world, old, SETTLING_TICKS)
    assert summary(world) == {
        "greet": (MINUTELY, False, "code", ""),
        "report": (MINUTELY, True, "code", UNDECLARED_NOTE),
    }


@pytest.mark.parametrize("passes", [0, 1], ids=["not begun", "one pass"])
def test_a_rollback_in_the_middle_of_a_deployment_is_applied(world: World, passes: int) -> None:
    old = deploy(world, "1", greet=MINUTELY)
    tick(world, old, SETTLING_TICKS)
    new = deploy(world, "2", faults=crash_after_write(passes + 1), report=MINUTELY)
    with pytest.raises(Crash):
        tick(world, new)
    world.advance(60)
    # The record has the name of the older deployment from before: that is no reason to stop.
    dying = deploy(world, "1", faults=crash_after_write(1), greet=MINUTELY)
    with pytest.raises(Crash):
        tick(world, dying)
    world.advance(60)
    tick(world, old, SETTLING_TICKS)
    assert summary(world)["greet"] == (MINUTELY, False, "code", "")
    assert world.schedules.get_walk().declared_ids == ("greet",)


def crash_after_write(nth: int) -> Faults:
    """Let a process die after it wrote the record of the walks so often."""
    faults = Faults()

    def die() -> None:
        faults.is_crashed = True
        raise Crash("after the record was written")

    return faults.interrupt("write_walk", die, nth=nth, when=When.AFTER)


def take_lead(world: World, release: Release) -> None:
    """Let another scheduler tick while the leader stands still, whose lease is over."""
    lease = world.control.read_lease(LEADER)
    assert lease is not None
    world.control.release_lease(lease)
    tick(world, release)


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize(
    "method", ["schedules.get", "put_definition", "schedules.write", "write_walk"]
)
def test_two_schedulers_of_one_version_at_once_do_no_harm(
    world: World, method: str, nth: int
) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY, report=MINUTELY), SETTLING_TICKS)
    other = deploy(world, "2", greet="0 3 * * *")
    faults = Faults().interrupt(method, lambda: take_lead(world, other), nth=nth)
    release = deploy(world, "2", faults=faults, greet="0 3 * * *")
    tick(world, release, SETTLING_TICKS + 1)
    assert summary(world) == {
        "greet": ("0 3 * * *", False, "code", ""),
        "report": (MINUTELY, True, "code", UNDECLARED_NOTE),
    }
    walk = world.schedules.get_walk()
    assert (walk.declared, walk.declared_ids) == (walk.declaring, ("greet",))


def test_what_a_late_scheduler_of_the_version_before_wrote_is_put_right(world: World) -> None:
    def old_continues() -> None:
        # The new version is live and made its first pass while the old one stood still.
        old.deployment.lives = False
        take_lead(world, new)
        assert summary(world) == {"report": (MINUTELY, False, "code", "")}

    faults = Faults().interrupt("put_definition", old_continues)
    old = deploy(world, "1", faults=faults, greet=MINUTELY)
    new = deploy(world, "2", report=MINUTELY)
    world.tick(by=old.process.scheduler)
    assert summary(world)["greet"] == (MINUTELY, False, "code", "")
    tick(world, new, SETTLING_TICKS + 1)
    assert summary(world) == {
        "greet": (MINUTELY, True, "code", UNDECLARED_NOTE),
        "report": (MINUTELY, False, "code", ""),
    }
    walk = world.schedules.get_walk()
    assert (walk.declared, walk.declared_ids) == (walk.declaring, ("report",))


# --- what goes wrong ---


@pytest.mark.exhaustive
@pytest.mark.parametrize("when", When)
def test_a_crash_at_any_call_is_made_up_for_by_later_ticks(when: When) -> None:
    crashes = 0
    for number in range(1, MOST_CALLS):
        world = World()
        tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
        dying = deploy(
            world, "2", faults=Faults().crash(number, when), greet="0 3 * * *", report=MINUTELY
        )
        try:
            tick(world, dying, SETTLING_TICKS)
        except Crash:
            crashes += 1
        else:
            break
        world.advance(60)
        tick(world, deploy(world, "2", greet="0 3 * * *", report=MINUTELY), SETTLING_TICKS + 1)
        assert summary(world) == {
            "greet": ("0 3 * * *", False, "code", ""),
            "report": (MINUTELY, False, "code", ""),
        }, number
        walk = world.schedules.get_walk()
        assert walk.declared == walk.declaring, number
    assert 20 < crashes < MOST_CALLS - 1


def test_a_record_that_another_scheduler_wrote_is_left_to_it(world: World) -> None:
    def other_writes() -> None:
        walk = world.schedules.get_walk()
        changed = replace(walk, sequence=walk.sequence + 1, write_id="other", wanted=1)
        world.schedules.write_walk(changed, previous=walk.sequence)

    tick(world, deploy(world, "1"), SETTLING_TICKS)
    faults = Faults().interrupt("write_walk", other_writes)
    release = deploy(world, "2", faults=faults, greet=MINUTELY)
    tick(world, release)
    assert summary(world) == {}
    tick(world, release)
    assert set(summary(world)) == {"greet"}


def test_a_pass_that_has_no_time_left_goes_on_at_the_next_tick(world: World) -> None:
    release = deploy(world, "1", greet=MINUTELY, report=MINUTELY)
    walk = world.schedules.get_walk()
    step = release.process.scheduler.scheduling.schedule_sweep.walk.declared.step
    answers = iter([True, False])
    left = step(walk, lambda: next(answers), world.clock.now())
    assert left is not None
    assert (set(summary(world)), left.declared_at) == ({"greet"}, None)
    tick(world, release)
    assert set(summary(world)) == {"greet", "report"}


def test_a_store_that_does_not_answer_leaves_the_pass_to_the_next_tick(world: World) -> None:
    faults = Faults().throttle("put_definition", times=1)
    release = deploy(world, "1", faults=faults, greet=MINUTELY)
    tick(world, release)
    assert summary(world) == {}
    tick(world, release)
    assert set(summary(world)) == {"greet"}


def test_a_declaration_that_is_refused_holds_up_no_other(world: World) -> None:
    release = deploy(world, "1", greet="at(2001-01-01T00:00)", report=MINUTELY)
    tick(world, release, SETTLING_TICKS)
    assert set(summary(world)) == {"report"}
    assert "could not be put" in warnings(world)[0]
    walk = world.schedules.get_walk()
    assert walk.declared == walk.declaring


def test_a_schedule_that_a_newer_version_wrote_is_tried_again(world: World) -> None:
    def meet() -> None:
        raise WrittenByNewer("It has version 2.", ids=["greet"])

    faults = Faults().interrupt("schedules.get", meet)
    release = deploy(world, "1", faults=faults, greet=MINUTELY, report=MINUTELY)
    tick(world, release)
    assert set(summary(world)) == {"report"}
    assert world.schedules.get_walk().declared_at is None
    tick(world, release, SETTLING_TICKS)
    assert set(summary(world)) == {"greet", "report"}


def test_a_note_of_a_person_stays(world: World) -> None:
    tick(world, deploy(world, "1", greet=MINUTELY), SETTLING_TICKS)
    before = stored(world, "greet")
    noted = annotate(before, now=world.clock.now(), write_id="n", note="ask Ann first")
    world.schedules.write(noted, previous=before.sequence)
    tick(world, deploy(world, "2", greet="0 3 * * *"), SETTLING_TICKS)
    assert summary(world)["greet"] == ("0 3 * * *", False, "code", "ask Ann first")
