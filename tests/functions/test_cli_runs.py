"""``hourhand runs``: what is shown of durable runs, and how they are signalled and redriven."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand import NotRetryable, RunContext
from tests.functions.cli_rig import Shell
from tests.world.durable import durable, durable_world
from tests.world.world import World


@pytest.fixture
def world() -> World:
    world = durable_world()
    world.submit(id="run")
    return world


@pytest.fixture
def shell(world: World, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(world, monkeypatch)


def words(text: str) -> str:
    return " ".join(text.split())


def fulfil(ctx: RunContext) -> Any:
    ctx.step("charge", lambda: {"cents": 5})
    ctx.step("card", lambda: "4111", private=True)
    approved = ctx.wait_for("approved", timeout=600)
    if approved == "no":
        raise NotRetryable("refused")
    return approved


def test_steps_shows_each_call_with_its_state_and_result(shell: Shell, world: World) -> None:
    assert "The run has no steps yet." in shell.type("runs", "steps", "run").err
    world.deliver(durable(fulfil, world.clock))
    listed = [words(line) for line in shell.type("runs", "steps", "run").out.splitlines()]
    assert listed[0] == "PATH KIND STATUS TRIES STARTED RESULT"
    assert listed[1].startswith("charge step succeeded 1 ")
    assert listed[1].endswith('{"cents": 5}')
    assert listed[2].endswith("private")
    assert listed[3].startswith("approved wait waiting 0")
    steps = shell.type("runs", "steps", "run", "--json").objects
    assert [step["result"] for step in steps] == [{"cents": 5}, None, None]
    newest = shell.type("runs", "steps", "run", "--order", "newest", "--limit", "1")
    assert words(newest.out.splitlines()[1]).startswith("approved wait waiting 0")
    assert "Only the newest 1 are shown." in newest.err


def test_steps_says_that_a_large_result_is_not_shown(shell: Shell, world: World) -> None:
    world.deliver(durable(lambda ctx: len(ctx.step("read", str, "x" * 5000)), world.clock))
    listed = [words(line) for line in shell.type("runs", "steps", "run").out.splitlines()]
    assert listed[1].endswith("larger than 4 KB")


def test_a_signal_wakes_the_run(shell: Shell, world: World) -> None:
    behave = durable(fulfil, world.clock)
    world.deliver(behave)
    ran = shell.type("runs", "signal", "run", "approved", "--payload", '"yes"', "--id", "1")
    assert (ran.code, ran.err) == (0, "The run run got the signal approved.\n")
    world.deliver(behave)
    assert world.api.queries.job("run").result_text == '"yes"'
    ran = shell.type("runs", "signal", "run", "approved")
    assert ran.code != 0
    assert "it takes no signals any more" in words(ran.err)


def test_a_payload_that_is_not_json_is_refused(shell: Shell) -> None:
    ran = shell.type("runs", "signal", "run", "approved", "--payload", "{")
    assert ran.code == 2
    assert "is not JSON" in words(ran.err)


def test_a_journal_is_one_object(shell: Shell, world: World) -> None:
    world.deliver(durable(fulfil, world.clock))
    (journal,) = shell.type("runs", "journal", "run").objects
    assert [record["path"] for record in journal["records"]] == ["charge", "card", "approved"]
    assert [record["omitted"] for record in journal["records"]] == [False, True, False]
    assert "4111" not in str(journal)


def test_a_redrive_may_be_planned_first(shell: Shell, world: World) -> None:
    behave = durable(fulfil, world.clock)
    world.api.signals.send("run", "approved", "1", '"no"')
    world.settle(behave)
    ran = shell.type("runs", "redrive", "run", "--from", "approved", "--dry-run")
    assert ran.out.splitlines() == [
        "runs again  approved",
        "not reset   card",
        "not reset   charge",
        "A call that is not reset keeps its result. Without one, it is tried again.",
        "Steps that run again keep their keys.",
    ]
    ran = shell.type("runs", "redrive", "run", "--from", "charge", "--new-keys", "--dry-run")
    assert ran.out.splitlines()[-1] == (
        "Steps that run again get new keys: their effects happen again."
    )
    assert world.job("run").round == 1
    assert shell.type("runs", "redrive", "run", "--from", "approved").code == 0
    assert world.job("run").round == 2
    ran = shell.type("runs", "redrive", "run", "--fresh")
    assert "only a run that ended is redriven" in words(ran.err)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--dry-run"], "needs --from"),
        (["--new-keys"], "needs --from"),
        (["--fresh", "--from", "a"], "cannot be given together"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(
    shell: Shell, flags: list[str], message: str
) -> None:
    ran = shell.type("runs", "redrive", "run", *flags)
    assert ran.code == 2
    assert message in words(ran.err)
