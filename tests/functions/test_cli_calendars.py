"""``hourhand calendars``: put, look at and delete what schedules exclude together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.functions.cli_rig import Shell

DAYS = ("--exclude", "2026-12-25", "--exclude", "2026-12-28..2026-12-31")


def test_a_calendar_is_put_with_dates_ranges_and_expressions(shell: Shell) -> None:
    ran = shell.type(
        "calendars", "put", "holidays", *DAYS, "--exclude", "* * 1 1 *", "--note", "x", "--json"
    )

    assert ran.code == 0, ran.err
    assert ran.objects[0]["exclude"] == [
        "2026-12-25",
        {"from": "2026-12-28", "to": "2026-12-31"},
        "* * 1 1 *",
    ]
    assert ran.objects[0]["note"] == "x"


def test_a_put_says_what_it_came_to(shell: Shell) -> None:
    ran = shell.type("calendars", "put", "holidays", *DAYS)

    assert ran.out == "holidays  put: 2 exclusions, revision 1\n"


def test_what_show_prints_as_json_can_be_put_again_with_more(shell: Shell, tmp_path: Path) -> None:
    shell.type("calendars", "put", "one", *DAYS, "--note", "kept")
    file = tmp_path / "calendar.json"
    file.write_text(shell.type("calendars", "show", "one", "--json").out)
    ran = shell.type(
        "calendars", "put", "two", "--file", str(file), "--exclude", "2027-01-01", "--json"
    )

    assert ran.objects[0]["exclude"][2:] == ["2027-01-01"]
    assert ran.objects[0]["note"] == "kept"


@pytest.mark.parametrize(
    ("flags", "stdin", "said"),
    [
        ([], "", "--exclude or --file"),
        (["--exclude", "2026-02-30"], "", "date that exists"),
        (["--file", "-"], '{"expression": "@daily"}', "expression"),
        (["--file", "-"], '{"exclude": "2026-12-25"}', "list"),
        (["--file", "-"], "[]", "one JSON object"),
    ],
)
def test_what_is_no_calendar_is_wrong_usage(
    shell: Shell, flags: list[str], stdin: str, said: str
) -> None:
    ran = shell.type("calendars", "put", "bad", *flags, stdin=stdin)

    assert ran.code == 2
    assert said in " ".join(ran.err.replace("│", " ").split())


def test_a_list_tells_what_each_excludes(shell: Shell) -> None:
    shell.type("calendars", "put", "b", *DAYS)
    shell.type("calendars", "put", "a", "--exclude", "@daily", "--note", "\x1b[2Jx")

    first, second = shell.type("calendars", "list").out.splitlines()[1:]
    assert first.split()[:2] == ["a", "@daily"]
    assert "\\x1b[2Jx" in first
    assert "2026-12-25, 2026-12-28..2026-12-31" in second
    assert [one["name"] for one in shell.type("calendars", "list", "--json").objects] == ["a", "b"]
    assert "first 1" in shell.type("calendars", "list", "-n", "1").err


def test_an_empty_list_is_said(shell: Shell) -> None:
    assert shell.type("calendars", "list").err == "There is no calendar.\n"


def test_show_tells_each_exclusion_on_a_line(shell: Shell) -> None:
    shell.type("calendars", "put", "holidays", *DAYS, "--note", "x")
    told = shell.type("calendars", "show", "holidays", "--utc").out

    assert "excludes  2026-12-25" in told
    assert "\n          2026-12-28..2026-12-31" in told
    assert "revision 1" in told


def test_a_calendar_in_use_is_refused_with_code_4_and_others_go(shell: Shell) -> None:
    shell.type("calendars", "put", "used", *DAYS)
    shell.type("calendars", "put", "free", *DAYS)
    shell.type(
        *("schedules", "put", "s", "-x", "@daily", "--handler", "greet", "--exclude", "used")
    )
    ran = shell.type("calendars", "delete", "used", "free", "--yes")

    assert ran.code == 4
    assert "used" in ran.err
    assert "free  deleted" in ran.err
    assert json.loads(shell.type("calendars", "list", "--json").out)["name"] == "used"


def test_a_delete_asks_first(shell: Shell) -> None:
    shell.type("calendars", "put", "holidays", *DAYS)
    ran = shell.type("calendars", "delete", "holidays", stdin="n\n", is_terminal=True)

    assert ran.code == 1
    assert "Delete calendar holidays?" in ran.err
    assert shell.type("calendars", "delete", "holidays", "--yes", "--json").objects == [
        {"name": "holidays", "deleted": True}
    ]
    assert shell.type("calendars", "show", "holidays").code == 3
