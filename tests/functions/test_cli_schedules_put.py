"""``hourhand schedules put``: flags, files and the environment become a schedule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hourhand.cli.schedules.definition import NOT_PUT
from tests.functions.cli_rig import HOURLY, Shell, asked, put


def test_a_schedule_is_put_with_every_field_as_a_flag(shell: Shell) -> None:
    flags = {
        "--timezone": "Europe/Berlin",
        "--start-at": "2026-02-01T00:00Z",
        "--end-at": "2027-02-01T00:00+01:00",
        "--anchor": "2026-01-01T00:00Z",
        "--max-occurrences": "9",
        "--expires-after": "10m",
        "--jitter": "30s",
        "--dst-gap": "skip",
        "--dst-fold": "both",
        "--handler": "report",
        "--payload": '{"n": 1}',
        "--priority": "low",
        "--tenant": "acme",
        "--misfire": "all",
        "--misfire-window": "2h",
        "--overlap": "buffer_all",
        "--max-running": "2",
        "--buffer-limit": "7",
        "--timeout": "2m",
        "--retention": "1d",
        "--on-lost": "dead",
        "--max-attempts": "3",
        "--backoff": "fixed",
        "--retry-base": "10s",
        "--retry-max-delay": "1h",
        "--retry-jitter": "none",
        "--note": "by hand",
        "--keep-succeeded": "5",
        "--keep-failed": "6",
    }
    typed = [text for pair in flags.items() for text in pair]
    several = ["-x", "0 6 * * *", "-x", "@weekly", "--tag", "a:1", "--tag", "b:2"]
    excluded = ["--exclude", "2026-12-25", "--exclude", "2026-12-28..2026-12-31"]
    schedule = put(shell, "all", *typed, *several, *excluded, "--pause-on-failure", "--paused")

    assert asked(shell) == {
        "expression": ["0 6 * * *", "@weekly"],
        "timezone": "Europe/Berlin",
        "start_at": "2026-02-01T00:00:00.000Z",
        "end_at": "2027-01-31T23:00:00.000Z",
        "anchor": "2026-01-01T00:00:00.000Z",
        "max_occurrences": 9,
        "expires_after_seconds": 600,
        "jitter_seconds": 30,
        "dst_gap": "skip",
        "dst_fold": "both",
        "handler": "report",
        "payload": {"n": 1},
        "priority": "low",
        "tenant": "acme",
        "tags": {"a": "1", "b": "2"},
        "exclude": ["2026-12-25", {"from": "2026-12-28", "to": "2026-12-31"}],
        "misfire": {"policy": "all", "window_seconds": 7200},
        "overlap": "buffer_all",
        "max_running": 2,
        "buffer_limit": 7,
        "pause_on_failure": True,
        "paused": True,
        "timeout_seconds": 120,
        "retention_seconds": 86_400,
        "on_lost": "dead",
        "retry": {
            "max_attempts": 3,
            "backoff": "fixed",
            "base_seconds": 10,
            "max_delay_seconds": 3600,
            "jitter": "none",
        },
        "note": "by hand",
        "keep": {"succeeded": 5, "failed": 6},
    }
    assert schedule["status"] == "paused"


def test_what_is_not_given_is_not_sent(shell: Shell) -> None:
    put(shell)

    assert asked(shell) == {"expression": "0 * * * *", "handler": "greet"}


@pytest.mark.parametrize("typed", ["2026-01-05", "2026-01-05 00:00", "2026-01-05T00:00:00"])
def test_an_anchor_without_an_offset_is_in_the_zone_of_the_schedule(
    shell: Shell, typed: str
) -> None:
    schedule = put(shell, "x", *HOURLY, "--timezone", "Europe/Berlin", "--anchor", typed)

    assert asked(shell)["anchor"] == "2026-01-05T00:00:00"
    assert schedule["anchor"] == "2026-01-04T23:00:00.000Z"


def test_a_put_says_how_it_stands_and_when_it_fires_next(shell: Shell) -> None:
    ran = shell.type("schedules", "put", "nightly", *HOURLY, "--utc")

    assert ran.out == "nightly  active, next 2026-01-05 10:00:00Z (in 1 h)\n"


def test_what_show_prints_as_json_can_be_put_again(shell: Shell) -> None:
    first = put(shell, "one", *HOURLY, "--exclude", "2026-12-25", "--max-attempts", "3")
    shown = shell.type("schedules", "show", "one", "--json").out
    ran = shell.type("schedules", "put", "two", "--file", "-", "--json", stdin=shown)

    assert ran.code == 0, ran.err
    assert {k: v for k, v in ran.objects[0].items() if k not in NOT_PUT} == {
        k: v for k, v in first.items() if k not in NOT_PUT
    }


def test_flags_go_before_the_fields_of_a_file_part_by_part(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "schedule.json"
    retry = {"max_attempts": 3, "jitter": "none"}
    file.write_text(json.dumps({"expression": "@daily", "handler": "greet", "retry": retry}))
    put(shell, "nightly", "--file", str(file), "--handler", "report", "--max-attempts", "9")

    assert asked(shell) == {
        "expression": "@daily",
        "handler": "report",
        "retry": {"max_attempts": 9, "jitter": "none"},
    }


def test_a_range_of_times_is_excluded_as_it_is_typed(shell: Shell) -> None:
    put(shell, "x", *HOURLY, "--exclude", "2026-12-28T12:00Z .. 2026-12-29T00:00+01:00")

    assert asked(shell)["exclude"] == [
        {"from": "2026-12-28T12:00:00.000Z", "to": "2026-12-28T23:00:00.000Z"}
    ]


def test_several_in_the_environment_have_a_sign_between_and_an_expression_keeps_its_blanks(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOURHAND_SCHEDULES_PUT_EXPRESSION", "0 6 * * *; @weekly")
    monkeypatch.setenv("HOURHAND_SCHEDULES_PUT_EXCLUDE", "* * 24-26 12 *")
    put(shell, "nightly", "--handler", "greet")

    assert asked(shell)["expression"] == ["0 6 * * *", "@weekly"]
    assert asked(shell)["exclude"] == ["* * 24-26 12 *"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-x", "61 * * * *", "--handler", "greet"], "expression"),
        (["-x", "@daily"], "handler is required"),
        ([*HOURLY, "--timezone", "Mars/X"], "timezone"),
        ([*HOURLY, "--payload", "{"], "--payload"),
        ([*HOURLY, "--overlap", "maybe"], "--overlap"),
        ([*HOURLY, "--misfire-window", "1.5s"], "--misfire-window"),
        ([*HOURLY, "--exclude", "soon..later"], "--exclude"),
        ([*HOURLY, "--start-at", "soon"], "--start-at"),
        (["--file", "/nowhere/x.json"], "--file"),
    ],
)
def test_what_cannot_be_put_is_wrong_usage_that_names_the_field(
    shell: Shell, flags: list[str], said: str
) -> None:
    ran = shell.type("schedules", "put", "nightly", *flags)

    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("text", ["[]", '"x"', "3"])
def test_a_file_must_hold_an_object(shell: Shell, text: str) -> None:
    ran = shell.type("schedules", "put", "nightly", "--file", "-", stdin=text)

    assert (ran.code, "one JSON object" in ran.err) == (2, True)
