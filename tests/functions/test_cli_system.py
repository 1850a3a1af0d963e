"""``hourhand stats`` and ``resweep``, the flags of the connection, and the output streams."""

from __future__ import annotations

import re

import httpx
import pytest

from hourhand.cli.connection import Connection
from hourhand.cli.main import app
from tests.functions.cli_rig import Shell
from tests.world.world import World

PLAIN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_the_twin_of_a_flag_is_named_for_its_verb(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.submit()
    monkeypatch.setenv("HOURHAND_DEAD_LETTERS_REDRIVE_YES", "1")
    assert shell.type("jobs", "cancel", "--all").code == 2
    monkeypatch.setenv("HOURHAND_JOBS_CANCEL_YES", "1")
    assert shell.type("jobs", "cancel", "--all").code == 0


def test_the_connections_flags_and_twins_reach_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[Connection] = []

    def note(connection: Connection) -> None:
        opened.append(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(Connection, "open", note)
    monkeypatch.setenv("HOURHAND_TOKEN", "from-environment")
    monkeypatch.setenv("HOURHAND_AUTH", "jwt")
    command = ["stats", "--endpoint", "https://api.example", "--region", "eu-west-1"]
    with pytest.raises(SystemExit):
        app([*command, "--profile", "operations", "--request-timeout", "5"])
    assert opened == [
        Connection(
            endpoint="https://api.example",
            token="from-environment",
            auth="jwt",
            region="eu-west-1",
            profile="operations",
            request_timeout=5.0,
        )
    ]


def test_a_token_is_not_sent_over_a_connection_that_others_can_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOURHAND_TOKEN", "secret-token")
    with pytest.raises(SystemExit) as ended:
        app(["stats", "--endpoint", "http://api.example"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "is not encrypted" in told
    assert "secret-token" not in told


def test_stats_tell_queues_lateness_and_leader(shell: Shell) -> None:
    shell.world.tick()
    shell.submit()
    shell.world.deliver()
    shell.submit(priority="high")
    ran = shell.type("stats", "--utc")
    assert ran.code == 0
    high = next(line for line in ran.out.splitlines() if " high " in line)
    assert high.split()[2:4] == ["1", "0"]
    for told in ("p50 0 ms, p99 0 ms, of 1 jobs", "epoch 1", "2026-01-05 09:00:00Z (now)"):
        assert told in ran.out
    [raw] = shell.type("stats", "--json").objects
    assert raw == shell.api.get("/v1/stats").json


def test_stats_are_watched_in_place_until_ctrl_c(shell: Shell) -> None:
    shell.clock.interrupts_after = 2
    ran = shell.type("stats", "--watch", "--every", "5", is_terminal=True)
    assert ran.code == 130
    assert len(shell.requests) == 3
    assert "every 5 s. Ctrl-C stops." in PLAIN.sub("", ran.out)
    # One screen is drawn over the other: the cursor goes up.
    assert "\x1b[1A" in ran.out


def test_stats_watched_in_a_pipe_are_printed_one_after_the_other(shell: Shell) -> None:
    shell.clock.interrupts_after = 2
    ran = shell.type("stats", "--watch")
    assert ran.code == 130
    assert ran.out.count("POOL") == 3
    assert "\x1b" not in ran.out


def test_a_system_that_was_never_asked_has_no_lateness(shell: Shell) -> None:
    assert "no recent job" in shell.type("stats").out


# --- resweeps ---


def test_a_resweep_is_requested_watched_and_done(shell: Shell, world: World) -> None:
    assert "resweep  none" in shell.type("resweep").out
    world.tick()
    ran = shell.type("resweep", "--since", "3h", "--utc")
    assert ran.code == 0
    for told in ("requested; the next tick starts it", "2026-01-05 06:00:00Z"):
        assert told in ran.out
    world.advance(60)
    world.tick()
    ran = shell.type("resweep", "--utc")
    assert "0 %: read to 2026-01-05 06:00:00Z of 2026-01-05 08:45:00Z" in ran.out
    [raw] = shell.type("resweep", "--json").objects
    assert raw == shell.api.get("/v1/resweep").json
    for _ in range(3):
        world.advance(60)
        world.tick()
    assert "done" in shell.type("resweep").out


def test_a_resweep_beyond_the_limit_says_what_the_limit_is(shell: Shell) -> None:
    ran = shell.type("resweep", "--since", "41d")
    assert ran.code == 2
    assert "since must be at most 40 days ago" in ran.err
    assert shell.type("resweep", "--since", "yesterday").code == 2


# --- streams ---


def test_colour_is_for_terminals_and_not_for_who_wants_none(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.die()
    command = ("jobs", "list")
    assert "\x1b[1;31mDEAD" in shell.type(*command, is_terminal=True).out
    assert "\x1b" not in shell.type(*command).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in shell.type(*command, is_terminal=True).out


def test_in_a_pipe_nothing_is_shortened_however_narrow_the_terminal_was(shell: Shell) -> None:
    shell.submit(tenant="x" * 100)
    assert "x" * 100 in shell.type("jobs", "list").out
    assert "…" in shell.type("jobs", "list", is_terminal=True).out


def test_an_answer_that_is_no_answer_of_the_api_is_said_and_no_traceback(shell: Shell) -> None:
    shell.answer = lambda request: httpx.Response(200, text="<html>welcome</html>")
    ran = shell.type("stats")
    assert ran.code == 5
    assert "Traceback" not in ran.err
