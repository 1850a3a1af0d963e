"""Signals of a run: each is returned by one wait, and none is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.run_times import MAX_RUN
from hourhand.domain.side_items import SideItemKind, SideItemUpdate
from hourhand.handlers._runs.context import RunContext
from hourhand.services.runs import waits
from hourhand.testing import Crash
from tests.world.durable import durable, durable_world
from tests.world.faults import Faults, When
from tests.world.world import World

HOUR = 3600


def send(world: World, name: str, number: int) -> None:
    world.api.signals.send("run", name, f"s{number:02}", str(number))
    world.advance(1)


def test_a_wait_that_was_reset_gives_its_signal_to_no_other_wait() -> None:
    world = durable_world()
    got: list[Any] = []

    def handler(ctx: RunContext) -> None:
        got.append([ctx.wait_for("x", timeout=HOUR), ctx.wait_for("x", timeout=HOUR)])

    world.submit(id="run")
    send(world, "x", 1)
    send(world, "x", 2)
    behave = durable(handler, world.clock)
    world.settle(behave)
    world.api.run_redrives.redrive_from("run", ["x", "x.2"], actor="caller")
    send(world, "x", 3)
    world.minute(behave)
    send(world, "x", 4)
    world.minute(behave)
    assert got == [[1, 2], [3, 4]]


def test_a_wait_that_was_reset_does_not_return_its_signal_again() -> None:
    world = durable_world()
    got: list[Any] = []

    def handler(ctx: RunContext) -> None:
        got.append(ctx.wait_for("x", timeout=HOUR, default="nothing"))

    world.submit(id="run")
    send(world, "x", 1)
    behave = durable(handler, world.clock)
    world.settle(behave)
    world.api.run_redrives.redrive_from("run", ["x"], actor="caller")
    world.minute(behave)
    world.api.operations.run_now("run", actor="caller")
    world.settle(behave, minutes=90)
    assert got == [1, "nothing"]


def test_a_wait_that_was_reset_and_became_a_sleep_gives_its_signal_to_no_other_wait() -> None:
    world = durable_world()
    got: list[Any] = []
    world.submit(id="run")
    send(world, "x", 1)
    world.settle(durable(lambda ctx: ctx.wait_for("x"), world.clock))
    world.api.run_redrives.redrive_from("run", ["x"], actor="caller")

    def changed(ctx: RunContext) -> None:
        ctx.sleep("x", 30)
        got.append(ctx.wait_for("x", timeout=60, default="nothing"))

    world.settle(durable(changed, world.clock))
    assert got == ["nothing"]


def test_a_wait_finds_its_signal_behind_any_number_that_were_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waits, "SIGNAL_PAGE", 2)
    world = durable_world()
    got: list[Any] = []

    def handler(ctx: RunContext) -> None:
        got[:] = []
        for _ in range(7):
            got.append(ctx.wait_for("x"))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    for number in range(7):
        send(world, "x", number)
        world.deliver(behave)
    assert got == list(range(7))
    assert world.job("run").status is JobStatus.SUCCEEDED


SENT = 12


def _new(_world: World, _send: Callable[[], None]) -> None:
    """The run has not begun."""


def _waiting(world: World, _send: Callable[[], None]) -> None:
    world.deliver(durable(_read, world.clock))


def _elsewhere(world: World, _send: Callable[[], None]) -> None:
    world.deliver(durable(lambda ctx: ctx.sleep("rest", 60), world.clock))


def _running(world: World, send: Callable[[], None]) -> None:
    world.deliver(durable(lambda ctx: [ctx.step("send", send), ctx.sleep("rest", 60)], world.clock))


def _replaced(world: World, _send: Callable[[], None]) -> None:
    """Some were sent to an earlier job of this id, which was deleted."""
    for number in range(SENT):
        send(world, "x", number)
    world.settle(durable(lambda _ctx: None, world.clock))
    world.advance(30 * 86_400)
    world.store.delete_expired(world.clock.now())
    world.submit(id="run")


def _read(ctx: RunContext) -> list[Any]:
    return [ctx.wait_for("x") for _ in range(SENT)]


@pytest.mark.parametrize("arrange", [_new, _waiting, _elsewhere, _running, _replaced])
@pytest.mark.parametrize("has_ids", [False, True])
@pytest.mark.parametrize("first", [0, 1], ids=["ahead_first", "behind_first"])
def test_signals_of_one_sender_are_returned_in_the_order_in_which_they_were_accepted(
    arrange: Callable[[World, Callable[[], None]], None], has_ids: bool, first: int
) -> None:
    """It sends each when the one before was acknowledged, by API instances with other clocks."""
    world = durable_world()
    ahead = world.process(clock=world.clock.view(skew=timedelta(milliseconds=200)))
    instances = [ahead.api, world.api]
    sent: list[int] = []

    def send_all() -> None:
        while len(sent) < SENT:
            instance = instances[(first + len(sent)) % 2]
            sent.append(len(sent))
            signal_id = f"{SENT - len(sent):02}" if has_ids else None
            instance.signals.send("run", "x", signal_id, str(sent[-1]))

    world.submit(id="run")
    arrange(world, send_all)
    send_all()
    world.settle(durable(_read, world.clock), minutes=3)
    assert world.api.queries.job("run").result_text == str(sent).replace(" ", "")


def test_a_signal_whose_sender_died_is_not_before_one_that_was_acknowledged_earlier() -> None:
    world = durable_world()
    world.submit(id="run")
    for number in range(SENT):
        faults = Faults()
        faults.crash(number % 5 + 1, When.AFTER)
        with suppress(Crash):
            world.process(faults).api.signals.send("run", "x", f"{SENT - number:02}", str(number))
        world.api.signals.send("run", "x", f"{SENT - number:02}", str(number))
    world.settle(durable(_read, world.clock))
    assert world.api.queries.job("run").result_text == str([*range(SENT)]).replace(" ", "")


def test_a_signal_without_a_number_was_sent_to_an_older_version_and_comes_first() -> None:
    world = durable_world()
    world.submit(id="run")
    for number in range(SENT):
        send(world, "x", number)
    for key in list(world.side_items.items()):
        if key.kind is SideItemKind.SIGNAL and int(key.sort[-2:]) < SENT / 2:
            world.side_items.write_item(SideItemUpdate(key=key, removes=("number",)))
    world.settle(durable(_read, world.clock))
    assert world.api.queries.job("run").result_text == str([*range(SENT)]).replace(" ", "")


def test_a_signal_is_kept_as_long_as_any_run_may_take_though_the_run_has_no_deadline_yet() -> None:
    world = durable_world()
    world.submit(id="run")
    send(world, "x", 1)
    [key] = [key for key in world.side_items.items() if key.kind is SideItemKind.SIGNAL]
    kept_until = world.side_items.kept_until(key)
    assert kept_until is not None
    assert kept_until > world.clock.now() + MAX_RUN


def test_a_run_with_more_signals_than_a_wait_reads_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "SIGNAL_PAGE", 1)
    monkeypatch.setattr(waits, "MAX_SIGNAL_PAGES", 2)
    world = durable_world()
    world.submit(id="run")
    send(world, "x", 1)
    send(world, "x", 2)
    world.settle(durable(lambda ctx: ctx.wait_for("x"), world.clock))
    assert (world.job("run").last_failure or "").startswith("JournalFull")


def test_a_wait_that_is_over_shows_when_it_began() -> None:
    world = durable_world()
    world.submit(id="run")
    behave = durable(
        lambda ctx: [
            ctx.wait_for("x", timeout=HOUR),
            ctx.wait_for("x"),
            ctx.wait_for("y", timeout=60, default=None),
        ],
        world.clock,
    )
    world.deliver(behave)
    began = world.clock.now()
    world.advance(60)
    send(world, "x", 1)
    send(world, "x", 2)
    world.settle(behave)
    steps = world.api.run_views.steps("run", limit=9, cursor=None).steps
    assert steps[0].started_at == began
    for step in steps[1:]:
        assert step.started_at is not None
        assert step.finished_at is not None
        assert began < step.started_at <= step.finished_at
