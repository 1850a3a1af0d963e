"""``hourhand handlers``: what is registered, what each takes, and a submission that works."""

from __future__ import annotations

import json
import shlex
from datetime import datetime
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.unique_keys import Unique
from hourhand.handlers import (
    Concurrency,
    JobContext,
    Limit,
    Rate,
    Registry,
    Retry,
    describe,
    job,
)
from hourhand.ports.handler_directory import HandlerInfo
from tests.functions.cli_rig import HOSTILE, Shell
from tests.world.world import World

REGISTRY = Registry()


class Color(Enum):
    RED = "red"


class Line(BaseModel):
    text: str


class Charge(BaseModel):
    customer: str = Field(description="Who pays.")
    amount: int = Field(gt=0)
    currency: Literal["EUR", "USD"] = "EUR"
    color: Color = Color.RED
    due: datetime | None = None
    lines: list[Line] = []


class Evil(BaseModel):
    field: str = Field(default=HOSTILE, description=HOSTILE, title=HOSTILE)


@job(
    "charge",
    timeout=120,
    priority="high",
    retry=Retry(max_attempts=3),
    on_lost="dead",
    retention_seconds=3600,
    registry=REGISTRY,
)
def charge(ctx: JobContext, payload: Charge) -> None:
    """Charge a customer."""


@job("greet", registry=REGISTRY)
def greet(ctx: JobContext, payload: Any) -> None: ...


@job("notify", validate_on_submit=False, registry=REGISTRY)
def notify(ctx: JobContext, payload: list[str]) -> None: ...


@pytest.fixture
def world() -> World:
    return World(handlers=tuple(describe(REGISTRY)))


def test_the_list_tells_the_fields_and_the_policies(shell: Shell) -> None:
    ran = shell.type("handlers", "list")

    assert ran.code == 0, ran.err
    head, charged, greeted, notified = ran.out.splitlines()
    assert head.split()[:2] == ["NAME", "PAYLOAD"]
    assert charged.split("  ")[0] == "charge"
    assert "customer, amount, currency?" in charged
    assert "any JSON" in greeted
    assert "string[]" in notified


def test_the_list_as_json_has_the_schemas(shell: Shell) -> None:
    ran = shell.type("handlers", "list", "--json")

    assert [one["name"] for one in ran.objects] == ["charge", "greet", "notify"]
    assert ran.objects[0]["payload_schema"]["required"] == ["customer", "amount"]


def test_an_installation_without_handlers_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = Shell(World(handlers=()), monkeypatch).type("handlers", "list")

    assert (ran.code, ran.err) == (0, "No handler is registered.\n")


def test_show_tells_the_type_and_the_default_of_each_field(shell: Shell) -> None:
    ran = shell.type("handlers", "show", "charge")

    assert ran.code == 0, ran.err
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in ran.out.splitlines() if line}
    assert rows["customer"] == "string yes Who pays."
    assert rows["amount"] == "integer yes"
    assert rows["currency"] == '"EUR" | "USD" no "EUR"'
    assert rows["color"] == '"red" no "red"'
    assert rows["due"] == "string (date-time) or null no null"
    assert rows["lines"] == "Line[] no []"
    assert rows["priority"] == "high"
    assert rows["attempts"] == "at most 3, exponential backoff"
    assert "refused at submission" in ran.out
    assert "ends DEAD" in ran.out


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (Concurrency(2, key="payload.account"), "2 run at a time for each payload.account"),
        (Concurrency(5, on_full="skip"), "5 run at a time; others are cancelled"),
        (Concurrency(5, holds="job"), "5 run at a time; a slot is held until the job ends"),
        (
            Concurrency(1, holds="success"),
            "1 runs at a time; a slot is held until the job succeeds",
        ),
        (
            Concurrency(2, max_waiting=9, order="fair"),
            "2 run at a time; at most 9 wait; tenants take turns",
        ),
        (
            Concurrency(1, on_full="cancel_running"),
            "1 runs at a time; a newer one stops those that run",
        ),
        (
            Concurrency(1, on_full="replace_waiting"),
            "1 runs at a time; one waits, and a newer one replaces it",
        ),
        (Rate(100, per=60, key="tenant"), "100 start in 1 min for each tenant"),
    ],
)
def test_show_says_what_each_limit_allows(
    limit: Limit, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(handlers=(HandlerInfo(name="sync", limits=(limit,)),))
    ran = Shell(world, monkeypatch).type("handlers", "show", "sync")
    [line] = [line for line in ran.out.splitlines() if "sync.1" in line]
    assert line.split("  ")[-1].strip() == words


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (
            {"unique": Unique("payload.day", on_conflict="reject")},
            "one job of payload.day until its end; another submission is refused",
        ),
        (
            {"unique": Unique("tenant", until=90)},
            "one job of tenant until 1.5 min after its submission; another submission returns it",
        ),
        (
            {"debounce": Debounce("payload.shop", wait=10)},
            "one job of payload.shop, 10 s after the last submission",
        ),
        (
            {"debounce": Debounce("payload.shop", wait=10, max_wait=60, mode="first")},
            "one job of payload.shop, 10 s after the last submission, at most 1 min after the first"
            "; it has the first payload",
        ),
    ],
)
def test_show_says_how_jobs_are_unique_or_debounced(
    stated: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(handlers=(HandlerInfo(name="sync", **stated),))
    ran = Shell(world, monkeypatch).type("handlers", "show", "sync")
    assert words in " ".join(ran.out.split())


def test_show_tells_the_schedule_that_the_handler_declares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = Registry()

    @job("nightly", schedule=["30 2 * * *", "@daily"], timezone="Asia/Tokyo", registry=registry)
    def nightly(ctx: JobContext) -> None: ...

    shell = Shell(World(handlers=tuple(describe(registry))), monkeypatch)
    shown = shell.type("handlers", "show", "nightly").out
    assert "30 2 * * * | @daily (Asia/Tokyo), with the ID nightly" in shown


@pytest.mark.parametrize("name", ["charge", "greet", "notify"])
def test_the_submission_that_show_suggests_works(shell: Shell, name: str) -> None:
    shown = shell.type("handlers", "show", name)
    *_, suggested = shown.out.splitlines()
    command, *words = shlex.split(suggested)
    ran = shell.type(*words, "--json")

    assert command == "hourhand"
    assert (ran.code, ran.objects[0]["handler"]) == (0, name)


def test_show_says_where_a_wrong_payload_is_found(shell: Shell) -> None:
    assert "found by the worker only" in shell.type("handlers", "show", "notify").out


def test_show_as_json_is_the_handler(shell: Shell) -> None:
    [shown] = shell.type("handlers", "show", "charge", "--json").objects

    assert shown["payload_examples"][0] == {"customer": "text", "amount": 1}
    assert shown["policies"]["timeout_seconds"] == 120


def test_an_unknown_handler_is_not_found_and_the_nearest_name_is_suggested(shell: Shell) -> None:
    ran = shell.type("handlers", "show", "chrage")

    assert ran.code == 3
    assert "Did you mean 'charge'?" in ran.err


def test_a_refused_payload_names_its_fields(shell: Shell) -> None:
    ran = shell.type("jobs", "submit", "charge", json.dumps({"customer": "ada"}))

    assert ran.code == 2
    assert "payload.amount is required" in ran.err


def test_texts_of_a_handler_do_no_harm_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = Registry()

    @job("evil", registry=registry)
    def evil(ctx: JobContext, payload: Evil) -> None: ...

    shell = Shell(World(handlers=tuple(describe(registry))), monkeypatch)
    out = shell.type("handlers", "show", "evil").out + shell.type("handlers", "list").out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_a_handler_is_paused_and_resumed(shell: Shell) -> None:
    ran = shell.type("handlers", "pause", "charge", "greet", "--note", "wrong totals")
    assert ran.code == 0, ran.err
    charged, greeted = ran.out.splitlines()
    assert charged.startswith("charge  paused since ")
    assert charged.endswith(": wrong totals")
    assert greeted.startswith("greet  paused since ")
    listed = shell.type("handlers", "list").out.splitlines()
    assert "PAUSED" in listed[0]
    assert "since" in listed[1]
    assert "wrong totals" in shell.type("handlers", "show", "charge").out

    ran = shell.type("handlers", "resume", "charge")
    assert (ran.code, ran.out) == (0, "charge  not paused\n")
    (shown,) = shell.type("handlers", "show", "charge", "--json").objects
    assert shown["paused"] is None


@pytest.mark.parametrize("until", ["2h", "2026-01-05T11:00Z"])
def test_a_pause_ends_after_a_time_or_at_one(shell: Shell, until: str) -> None:
    ran = shell.type("handlers", "pause", "charge", "--until", until, "--json")
    assert ran.code == 0, ran.err
    assert ran.objects[0]["paused"]["until"] == "2026-01-05T11:00:00.000Z"


def test_a_job_of_a_paused_handler_shows_what_it_waits_for(shell: Shell, world: World) -> None:
    job = world.submit(handler="greet")
    shell.type("handlers", "pause", "greet")
    world.deliver()
    shown = " ".join(shell.type("jobs", "show", job.id).out.split())
    assert "waits for a slot of greet.pause" in shown
    assert "position 1" in shown
    assert "waits for" in shell.type("jobs", "list").out


def test_of_several_handlers_the_unknown_one_is_named(shell: Shell) -> None:
    ran = shell.type("handlers", "pause", "chrage", "greet")
    assert ran.code == 3
    assert "Did you mean 'charge'?" in ran.err
    assert ran.out.startswith("greet  paused")
