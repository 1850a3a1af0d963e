"""``hourhand context``, and how every command acts in the context in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hourhand.cli.connection import Connection
from hourhand.cli.main import app
from hourhand.cli.reference import Verb, verbs_of
from tests.functions.cli_rig import Shell, put

API = "https://api.example"
READS = {
    *("jobs list", "jobs show", "jobs events", "jobs logs", "jobs watch"),
    *("handlers list", "handlers show", "limits list", "limits show", "audit"),
    *("runs steps", "runs journal", "jobs children", "check"),
    *("graphs show", "batches show", "schedules grid"),
    *("schedules list", "schedules show", "schedules occurrences", "schedules preview"),
    *("schedules backfills", "quotas list", "shards show"),
    *("calendars list", "calendars show", "dead-letters list", "dead-letters show"),
    *("stats", "console", "doctor", "config show", "estimate", "dev", "demo"),
    # They change only files on this machine.
    *("init", "context add", "context use", "context list", "context remove"),
}
"""Commands that change no deployment. Any other one must have --yes."""

VERBS = list(verbs_of(app))


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("HOURHAND_REGION", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def production(shell: Shell) -> Shell:
    """A shell in a production context."""
    shell.type("context", "add", "prod", "--endpoint", API, "--production", "--use")
    return shell


@pytest.fixture
def connections(shell: Shell) -> list[Connection]:
    """Note with which connection each client is opened."""
    opened: list[Connection] = []
    client = shell._open

    def note(connection: Connection) -> Any:
        opened.append(connection)
        return client()

    shell.monkeypatch.setattr(Connection, "open", note)
    return opened


def test_contexts_are_added_used_listed_and_removed(shell: Shell) -> None:
    ran = shell.type("context", "add", "prod", "--endpoint", f"{API}/", "--profile", "ops")
    assert (ran.code, ran.err) == (0, "`hourhand context use prod` uses it from now on.\n")
    shell.type("context", "add", "dev", "--endpoint", "http://127.0.0.1:8787", "--region", "r")
    assert shell.type("context", "use", "prod").out.startswith("Commands now act in the context ")
    ran = shell.type("context", "list")
    assert [line.split() for line in ran.out.splitlines()] == [
        ["NAME", "ENDPOINT", "PROFILE", "REGION"],
        ["dev", "http://127.0.0.1:8787", "r"],
        ["*", "prod", API, "ops"],
    ]
    [dev, prod] = shell.type("context", "list", "--json").objects
    assert (dev["current"], prod["current"], prod["endpoint"]) == (False, True, API)
    assert shell.type("context", "remove", "prod").code == 0
    assert [each["name"] for each in shell.type("context", "list", "--json").objects] == ["dev"]
    assert shell.type("context", "use", "prod").code == 3
    assert shell.type("context", "use", "--none").out == "No context is in use.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("add", "x"), 2, "give --endpoint, --profile, --region or --stack"),
        (("add", "x", "--production"), 2, "give --endpoint, --profile, --region or --stack"),
        (("add", "x", "--endpoint", "ftp://x"), 2, "The endpoint must be a URL"),
        (("add", "a b", "--endpoint", API), 2, "must be 1 to 64 letters"),
        (("add", "prod", "--endpoint", API), 4, "--replace replaces it"),
        (("use",), 2, "give either a name or --none"),
        (("use", "prod", "--none"), 2, "give either a name or --none"),
        (("remove", "x"), 3, "There is no context 'x'. The contexts are prod."),
    ],
)
def test_what_cannot_be_done_is_said(
    production: Shell, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ran = production.type("context", *arguments)
    assert ran.code == code
    assert said in " ".join(ran.err.replace("│", " ").split())


def test_a_variable_that_takes_precedence_is_named(shell: Shell) -> None:
    shell.monkeypatch.setenv("HOURHAND_ENDPOINT", "http://127.0.0.1:8787")
    ran = shell.type("context", "add", "prod", "--endpoint", API, "--use")
    assert "HOURHAND_ENDPOINT is set here, and takes precedence over the context." in ran.err


@pytest.mark.parametrize(
    ("flags", "environ", "expected"),
    [
        ((), {}, (API, "ops", "eu-west-1")),
        ((), {"HOURHAND_PROFILE": "env"}, (API, "env", "eu-west-1")),
        (("--profile", "flag"), {"HOURHAND_PROFILE": "env"}, (API, "flag", "eu-west-1")),
        ((), {"HOURHAND_ENDPOINT": "https://other.example"}, ("https://other.example", None, None)),
        (("--endpoint", "https://other.example"), {}, ("https://other.example", None, None)),
        (("--context", "two"), {}, ("https://two.example", "second", None)),
        ((), {"HOURHAND_ENDPOINT": f"{API}/v1/"}, (f"{API}/v1/", "ops", "eu-west-1")),
        (("--endpoint", "https://two.example/"), {}, ("https://two.example/", "second", None)),
        (("--endpoint", "two"), {}, ("two", None, None)),
        ((), {"HOURHAND_CONTEXT": "two"}, ("https://two.example", "second", None)),
        (("--context", "one"), {"HOURHAND_CONTEXT": "two"}, (API, "ops", "eu-west-1")),
    ],
)
def test_a_flag_comes_before_the_environment_and_that_before_the_context(
    shell: Shell,
    connections: list[Connection],
    flags: tuple[str, ...],
    environ: dict[str, str],
    expected: tuple[str | None, ...],
) -> None:
    one = ("--endpoint", API, "--profile", "ops", "--region", "eu-west-1")
    shell.type("context", "add", "one", *one, "--use")
    two = ("--endpoint", "https://two.example", "--profile", "second")
    shell.type("context", "add", "two", *two)
    for name, value in environ.items():
        shell.monkeypatch.setenv(name, value)
    assert shell.type("stats", *flags).code == 0
    [opened] = connections
    assert (opened.endpoint, opened.profile, opened.region) == expected


def test_a_change_says_in_which_context_it_acts(shell: Shell) -> None:
    shell.type("context", "add", "dev", "--endpoint", API, "--use")
    ran = shell.type("jobs", "submit", "greet", "--json")
    assert (ran.code, ran.err) == (0, f"In the context dev ({API}).\n")
    assert shell.type("jobs", "list").err == ""


CHANGES = (
    ("jobs", "submit", "greet"),
    ("jobs", "run-now", "JOB"),
    ("jobs", "reschedule", "JOB", "--delay", "1h"),
    ("jobs", "cancel", "JOB"),
    ("jobs", "cancel", "--handler", "greet"),
    ("schedules", "put", "other", "-x", "0 * * * *", "--handler", "greet"),
    ("schedules", "pause", "nightly"),
    ("schedules", "resume", "nightly"),
    ("schedules", "trigger", "nightly"),
    ("schedules", "delete", "nightly"),
    ("calendars", "put", "holidays", "--exclude", "2026-12-25"),
    ("resweep", "--since", "1d"),
)


@pytest.mark.parametrize("command", CHANGES, ids=" ".join)
def test_a_change_in_production_is_asked_for_unless_confirmed_in_advance(
    shell: Shell, command: tuple[str, ...]
) -> None:
    job_id = shell.submit(delay_seconds=3600)
    put(shell)
    shell.type("context", "add", "prod", "--endpoint", API, "--production", "--use")
    typed = [job_id if each == "JOB" else each for each in command]
    changes = [each for each in shell.requests if each.method != "GET"]
    ran = shell.type(*typed)
    assert ran.code == 2
    assert "In the production context prod (https://api.example)." in ran.err
    assert "Production context prod: " in ran.err
    assert "Confirm with --yes." in ran.err
    ran = shell.type(*typed, stdin="n\n", is_terminal=True)
    assert ran.code == 1
    assert "[y/N]" in ran.err
    # A count for the question changes nothing.
    made = [r for r in shell.requests if r.method != "GET" and b"dry_run" not in r.content]
    assert made == changes
    assert shell.type(*typed, "--yes").code == 0


@pytest.mark.parametrize(
    "url", [API, f"{API}/", f"{API}/v1", f"{API}:443/v1/", API.replace("api", "API")]
)
@pytest.mark.parametrize(
    "flags", [("--endpoint", "URL"), ("--context", "dev", "--endpoint", "URL"), ()], ids=len
)
@pytest.mark.parametrize("in_use", ["prod", "dev", None])
def test_the_api_of_a_production_context_is_asked_about_whichever_context_is_in_use(
    shell: Shell, url: str, flags: tuple[str, ...], in_use: str | None
) -> None:
    shell.type("context", "add", "dev", "--endpoint", "https://dev.example")
    shell.type("context", "add", "prod", "--endpoint", API, "--production")
    shell.type("context", "use", *([in_use] if in_use else ["--none"]))
    if not flags:
        shell.monkeypatch.setenv("HOURHAND_ENDPOINT", url)
    typed = [url if each == "URL" else each for each in flags]
    ran = shell.type("jobs", "submit", "greet", *typed)
    assert ran.code == 2
    assert f"In the production context prod ({API})." in ran.err
    assert shell.requests == []
    ran = shell.type("jobs", "submit", "greet", "--endpoint", "https://dev.example")
    assert (ran.code, ran.err) == (0, "In the context dev (https://dev.example).\n")


def test_of_two_contexts_of_one_api_the_one_that_is_named_or_in_use_decides(shell: Shell) -> None:
    shell.type("context", "add", "all", "--endpoint", API, "--production")
    shell.type("context", "add", "own", "--endpoint", API, "--use")
    typed = ("jobs", "submit", "greet")
    assert shell.type(*typed, "--endpoint", f"{API}/").code == 0
    assert shell.type(*typed, "--context", "all", "--endpoint", f"{API}/").code == 2
    shell.type("context", "use", "--none")
    assert shell.type(*typed, "--context", "own", "--endpoint", f"{API}/").code == 0
    assert shell.type(*typed, "--endpoint", f"{API}/").code == 2


def test_one_answer_is_enough(production: Shell) -> None:
    production.submit(delay_seconds=3600)
    ran = production.type("jobs", "cancel", "--all", stdin="y\n", is_terminal=True)
    assert ran.code == 0
    assert ran.err.count("[y/N]") == 1
    assert "Production context prod: Cancel 1 job?" in ran.err


@pytest.mark.parametrize(
    "command",
    [("jobs", "cancel", "--all", "--dry-run"), ("resweep",), ("stats",), ("jobs", "list")],
    ids=" ".join,
)
def test_what_only_reads_is_not_asked_about(production: Shell, command: tuple[str, ...]) -> None:
    production.submit(delay_seconds=3600)
    assert production.type(*command).code == 0


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_command_that_changes_a_deployment_can_be_confirmed(verb: Verb) -> None:
    """A new command belongs to the list of those that only read, or asks in production."""
    has_yes = any(flag.written.startswith("--yes") for flag in verb.flags)
    assert has_yes != (verb.name.removeprefix("hourhand ") in READS)


def test_an_error_names_the_context(production: Shell) -> None:
    ran = production.type("jobs", "show", "nobody")
    assert ran.code == 3
    assert ran.err.endswith("In the production context prod (https://api.example).\n")


def test_the_help_names_the_context(production: Shell) -> None:
    for path in ((), ("jobs",), ("jobs", "list")):
        told = " ".join(production.type(*path, "--help").out.split())
        assert f"Commands act in the production context prod ({API})." in told


def test_a_damaged_file_stops_a_command_and_not_its_help(shell: Shell, config: Path) -> None:
    (config / "hourhand").mkdir()
    (config / "hourhand" / "contexts.json").write_text("{")
    ran = shell.type("stats")
    assert ran.code == 2
    assert "contexts.json, which has your contexts, cannot be read" in ran.err
    assert "Traceback" not in ran.err
    assert shell.type("stats", "--help").code == 0


def test_production_is_red_on_a_terminal(production: Shell) -> None:
    ran = production.type("context", "list", is_terminal=True)
    assert "\x1b[1;31mprod" in ran.out


def test_the_console_takes_the_context(shell: Shell) -> None:
    shell.type("context", "add", "one", "--endpoint", API, "--profile", "ops", "--use")
    shell.type("context", "add", "two", "--endpoint", API, "--production")
    asked: list[tuple[str | None, str | None, bool]] = []

    def serve(endpoint: str | None, *, profile: str | None, is_production: bool, **_: Any) -> Any:
        asked.append((endpoint, profile, is_production))
        raise KeyboardInterrupt

    shell.monkeypatch.setattr("hourhand.console.proxy.serve_console", serve)
    assert shell.type("console").code == 130
    shell.type("context", "use", "two")
    assert shell.type("console").code == 130
    assert asked == [(API, "ops", False), (API, None, True)]
