"""``hourhand limits``: what is shown of limits, and how their numbers are changed."""

from __future__ import annotations

import pytest

from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.ports.handler_directory import HandlerInfo
from tests.functions.cli_rig import Shell
from tests.world.world import World


@pytest.fixture
def world() -> World:
    shared = Concurrency(5, key="tenant", name="stripe")
    return World(handlers=(HandlerInfo(name="greet", limits=(Concurrency(2), shared)),))


@pytest.fixture
def shell(world: World, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(world, monkeypatch)


def words(text: str) -> str:
    return " ".join(text.split())


def test_list_shows_the_number_of_each_limit_and_what_is_known_of_its_jobs(shell: Shell) -> None:
    listed = shell.type("limits", "list").out.splitlines()
    assert words(listed[0]) == "NAME KIND KEY MAX RUNNING WAITING"
    assert words(listed[1]) == "greet.1 concurrency handler 2 0 0"
    assert words(listed[2]).startswith("stripe concurrency tenant 5 ")


def test_list_says_that_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No handler has a limit." in Shell(World(), monkeypatch).type("limits", "list").err


def test_show_lists_the_jobs_that_wait(shell: Shell, world: World) -> None:
    ran = shell.type("limits", "pause", "greet.1")
    assert (ran.code, ran.out) == (0, "greet.1  at most 0 (in the code: 2)\n")
    job = world.submit(tenant="acme")
    world.deliver()
    shown = words(shell.type("limits", "show", "greet.1").out)
    assert "numbers at most 0 (in the code: 2)" in shown
    assert "waiting 1, the oldest since" in shown
    assert f"{job.id} waits" in shown
    ran = shell.type("limits", "resume", "greet.1")
    assert ran.out == "greet.1  at most 2; 1 waiting job may start\n"


def test_a_limit_with_keys_shows_the_jobs_of_one(shell: Shell, world: World) -> None:
    assert shell.type("limits", "pause", "stripe", "--key", "acme").code == 0
    job = world.submit(tenant="acme")
    world.deliver()
    ran = shell.type("limits", "show", "stripe")
    assert "--key KEY" in words(ran.err)
    assert job.id not in ran.out
    (shown,) = shell.type("limits", "show", "stripe", "--key", "acme", "--json").objects
    assert [waiter["job_id"] for waiter in shown["waiters"]] == [job.id]
    ran = shell.type("limits", "resume", "stripe", "--key", "acme")
    assert ran.out == "stripe  at most 5; 1 waiting job may start\n"


def test_a_number_is_set_and_restored(shell: Shell) -> None:
    assert shell.type("limits", "set", "stripe", "3").out == "stripe  at most 3 (in the code: 5)\n"
    ran = shell.type("limits", "set", "stripe", "10", "--key", "acme")
    assert ran.out == "stripe  at most 3 (in the code: 5), acme: 10\n"
    ran = shell.type("limits", "set", "stripe", "--restore", "--key", "acme")
    assert ran.out == "stripe  at most 3 (in the code: 5)\n"
    ran = shell.type("limits", "set", "stripe", "--restore", "--json")
    assert (ran.objects[0]["max"], ran.objects[0]["overrides"]) == (5, {})


def test_a_rate_is_shown_with_its_period(monkeypatch: pytest.MonkeyPatch) -> None:
    rate = Rate(100, per=60)
    world = World(handlers=(HandlerInfo(name="greet", limits=(rate,)),))
    shell = Shell(world, monkeypatch)
    ran = shell.type("limits", "set", "greet.1", "50")
    assert ran.out == "greet.1  at most 50 in 60 s (in the code: 100)\n"
    ran = shell.type("limits", "show", "greet.1")
    assert "at most 50 in 60 s" in words(ran.out)
    assert "have start times" in ran.err
    assert "--key" not in ran.err


@pytest.mark.parametrize("given", [[], ["3", "--restore"]])
def test_either_a_number_or_restore_is_given(shell: Shell, given: list[str]) -> None:
    ran = shell.type("limits", "set", "stripe", *given)
    assert ran.code == 2
    assert "Give a number, or --restore." in ran.err


def test_of_several_limits_the_unknown_one_is_named(shell: Shell) -> None:
    ran = shell.type("limits", "pause", "strip", "greet.1")
    assert ran.code == 3
    assert "strip: " in ran.err
    assert "Did you mean 'stripe'" in ran.err
    assert ran.out.startswith("greet.1  at most 0")


def test_retime_moves_the_jobs_that_wait_for_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = (Rate(1, per=3600, name="bank"), Concurrency(2))
    world = World(handlers=(HandlerInfo(name="greet", limits=limits),))
    shell = Shell(world, monkeypatch)
    for _ in range(3):
        world.submit()
        world.deliver()
    shell.type("limits", "set", "bank", "60")
    world.advance(1)
    ran = shell.type("limits", "retime", "bank")
    assert (ran.code, ran.out) == (0, "2 jobs of 2 that wait moved.\n")
    world.advance(5)
    (done,) = shell.type("limits", "retime", "bank", "--json").objects
    assert (done["matched"], done["changed"], done["failed"]) == (2, 2, [])
    ran = shell.type("limits", "retime", "greet.2")
    assert ran.code != 0
    assert "concurrency limit" in words(ran.err)


def test_a_rate_is_not_paused_and_its_handlers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(handlers=(HandlerInfo(name="greet", limits=(Rate(5, per=60, name="bank"),)),))
    ran = Shell(world, monkeypatch).type("limits", "pause", "bank")
    assert ran.code != 0
    assert "a rate cannot be paused. Pause its handlers instead: greet" in words(ran.err)


def test_a_pause_names_the_keys_that_go_on(shell: Shell) -> None:
    shell.type("limits", "set", "stripe", "10", "--key", "acme")
    shell.type("limits", "set", "stripe", "0", "--key", "globex")
    ran = shell.type("limits", "pause", "stripe")
    assert ran.code == 0
    assert "These keys of stripe have numbers of their own and go on: acme. " in words(ran.err)
    assert "go on" not in words(shell.type("limits", "pause", "stripe", "--key", "acme").err)
    assert "go on" not in words(shell.type("limits", "pause", "stripe").err)
    for number in range(25):
        shell.type("limits", "set", "stripe", "1", "--key", f"tenant-{number}")
    assert "tenant-19 and 5 more." in words(shell.type("limits", "pause", "stripe").err)
