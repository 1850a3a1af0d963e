"""``--output``, ``--fields`` and ``--web``: one implementation, which every command has."""

from __future__ import annotations

import webbrowser
from types import SimpleNamespace
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours

from tests.functions.cli_rig import ENDPOINT, Shell, put


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have a browser, and note what it opens."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    monkeypatch.setenv("DISPLAY", ":0")
    return addresses


def test_a_listing_as_yaml_has_a_document_for_each(shell: Shell) -> None:
    first, second = shell.submit(), shell.submit()
    ran = shell.type("jobs", "list", "--output", "yaml")
    assert [job["id"] for job in yaml.safe_load_all(ran.out)] == [second, first]


def test_one_object_as_yaml_is_what_json_has(shell: Shell) -> None:
    put(shell)
    [raw] = shell.type("schedules", "show", "nightly", "--output", "json").objects
    assert yaml.safe_load(shell.type("schedules", "show", "nightly", "-o", "yaml").out) == raw


def test_json_is_the_short_form_and_takes_precedence(shell: Shell) -> None:
    shell.monkeypatch.setenv("HOURHAND_OUTPUT", "yaml")
    assert shell.type("stats", "--json").objects[0]["epoch"] == 0


def test_fields_are_the_columns_of_a_table(shell: Shell) -> None:
    job_id = shell.submit(priority="high")
    ran = shell.type("jobs", "list", "--fields", "id,priority,retry.max_attempts")
    header, row = ran.out.splitlines()
    assert header.split() == ["ID", "PRIORITY", "RETRY.MAX_ATTEMPTS"]
    assert row.split() == [job_id, "high", "6"]


def test_fields_shorten_json_and_keep_their_places(shell: Shell) -> None:
    job_id = shell.submit(payload={"user": {"name": "Ada", "age": 36}})
    fields = "id,payload.user.name,retry.jitter"
    [found] = shell.type("jobs", "show", job_id, "--json", "--fields", fields).objects
    assert found == {
        "id": job_id,
        "payload": {"user": {"name": "Ada"}},
        "retry": {"jitter": "additive"},
    }


@pytest.mark.parametrize(
    "command",
    [
        ("jobs", "list"),
        ("jobs", "submit", "greet"),
        ("schedules", "list"),
        ("schedules", "put", "s", "-x", "0 * * * *", "--handler", "greet"),
        ("stats",),
    ],
)
def test_a_wrong_field_is_refused_before_anything_happens(
    shell: Shell, command: tuple[str, ...]
) -> None:
    ran = shell.type(*command, "--fields", "id,nonsense")
    assert (ran.code, ran.out) == (2, "")
    assert "is not a field. The fields are " in ran.err
    assert shell.requests == []


def test_changes_of_several_jobs_fill_one_table(shell: Shell) -> None:
    ids = [shell.submit(delay_seconds=60) for _ in range(3)]
    ran = shell.type("jobs", "cancel", *ids, "--fields", "id,status")
    assert [line.split() for line in ran.out.splitlines()] == [
        ["ID", "STATUS"],
        *([each, "CANCELLED"] for each in ids),
    ]


def test_groups_of_dead_jobs_have_fields(shell: Shell) -> None:
    shell.die(times=2)
    ran = shell.type("dead-letters", "list", "--fields", "handler,jobs,error_type")
    assert ran.out.splitlines()[1].split() == ["greet", "2", "ValueError"]
    assert shell.type("dead-letters", "list", "--fields", "job").code == 2


@pytest.mark.parametrize(
    ("noun", "made"), [("jobs", Shell.submit), ("dead-letters", lambda shell: shell.die()[0])]
)
def test_web_opens_a_job_in_the_console_of_the_local_cloud(
    shell: Shell, opened: list[str], noun: str, made: Any
) -> None:
    job_id = made(shell)
    local(shell)
    ran = shell.type(noun, "show", job_id, "--web")
    assert ran.code == 0
    assert ran.out == f"http://127.0.0.1:8787/console/jobs/{job_id}\n"
    assert opened == [ran.out.strip()]


def test_web_opens_a_schedule_a_calendar_and_a_handler(shell: Shell, opened: list[str]) -> None:
    put(shell)
    shell.type("calendars", "put", "holidays", "--exclude", "2026-12-25")
    local(shell)
    shell.type("schedules", "show", "nightly", "--web")
    shell.type("calendars", "show", "holidays", "--web")
    shell.type("handlers", "show", "greet", "--web")
    assert opened == [
        "http://127.0.0.1:8787/console/schedules/nightly",
        "http://127.0.0.1:8787/console/calendars/holidays",
        "http://127.0.0.1:8787/console/handlers/greet",
    ]


def test_without_a_browser_the_address_is_printed(shell: Shell, opened: list[str]) -> None:
    job_id = shell.submit()
    local(shell)
    shell.monkeypatch.setattr("sys.platform", "linux")
    shell.monkeypatch.delenv("DISPLAY")
    shell.monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    [found] = shell.type("jobs", "show", job_id, "--web", "--json").objects
    assert found == {"address": f"http://127.0.0.1:8787/console/jobs/{job_id}"}
    assert opened == []


def test_web_does_not_open_what_is_not_there(shell: Shell, opened: list[str]) -> None:
    assert shell.type("jobs", "show", "nobody", "--web").code == 3
    assert opened == []


def test_web_serves_the_console_of_another_api_at_the_object(
    shell: Shell, opened: list[str]
) -> None:
    job_id = shell.submit()
    asked: list[tuple[str | None, int]] = []
    closed: list[bool] = []

    def serve(endpoint: str | None, *, port: int, **_: Any) -> Any:
        asked.append((endpoint, port))
        address = "http://127.0.0.1:9/console/#token=t"
        return SimpleNamespace(
            address=address, endpoint=ENDPOINT, close=lambda: closed.append(True)
        )

    def interrupt(self: Any, timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    shell.monkeypatch.setattr("hourhand.console.proxy.serve_console", serve)
    shell.monkeypatch.setattr("threading.Event.wait", interrupt)
    ran = shell.type("jobs", "show", job_id, "--web", "--endpoint", ENDPOINT)
    assert ran.code == 0
    assert asked == [(ENDPOINT, 0)]
    assert opened == [f"http://127.0.0.1:9/console/jobs/{job_id}#token=t"]
    assert closed == [True]


def local(shell: Shell) -> None:
    """Let the client say that its API is that of `hourhand dev`."""
    shell.monkeypatch.setattr("hourhand.Client.endpoint", "http://127.0.0.1:8787")
