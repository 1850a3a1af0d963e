"""``hourhand schedules apply``: files, what they change, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hourhand.cli.schedules import files
from tests.functions.cli_rig import HOSTILE, HOURLY, Ran, Shell, put

NIGHTLY = """\
id: nightly
expression: 30 2 * * *
timezone: Europe/Berlin
handler: greet
tags: {team: billing}
"""
TWO = """\
- id: hourly
  expression: "@hourly"
  handler: greet
- id: weekly
  expression: "@weekly"
  handler: greet
"""


HOURLY_BODY = {"expression": "@hourly", "handler": "greet"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "schedules"
    folder.mkdir()
    (folder / "nightly.yaml").write_text(NIGHTLY)
    return folder


def apply(shell: Shell, path: Path | str, *flags: str, **how: Any) -> Ran:
    return shell.type("schedules", "apply", "-f", str(path), *flags, **how)


def schedules(shell: Shell) -> dict[str, Any]:
    return {one["id"]: one for one in shell.api.get("/v1/schedules").json["schedules"]}


def writes(shell: Shell) -> list[str]:
    return [
        f"{request.method} {request.url.path.rpartition('/')[2]}"
        for request in shell.requests
        if request.method in {"PUT", "DELETE"} and "dry_run" not in str(request.url)
    ]


# --- what is applied ---


def test_a_folder_is_applied_and_shown(shell: Shell, folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "two.yml").write_text(TWO)
    (folder / "one.json").write_text('{"id": "one", "expression": "@daily", "handler": "greet"}')
    (folder / "notes.txt").write_text("no schedule")
    (folder / ".hidden.yaml").write_text("id: hidden")
    ran = apply(shell, folder)

    assert (ran.code, ran.err) == (0, "4 created.\n")
    assert "+ nightly\n" in ran.out
    assert '    expression: "30 2 * * *"\n' in ran.out
    found = schedules(shell)
    assert set(found) == {"nightly", "hourly", "weekly", "one"}
    assert {one["managed_by"] for one in found.values()} == {"files:default"}
    assert found["nightly"]["tags"] == {"team": "billing"}


def test_several_documents_of_a_file_are_schedules_each(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(f"{NIGHTLY}---\n{TWO}---\n")

    assert apply(shell, file, "--name", "billing").code == 0
    found = schedules(shell)
    assert {name: one["managed_by"] for name, one in found.items()} == dict.fromkeys(
        ("nightly", "hourly", "weekly"), "files:billing"
    )


def test_several_paths_are_one_set(shell: Shell, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "two.yaml"
    other.write_text(TWO)

    assert apply(shell, folder, "-f", str(other)).code == 0
    assert len(schedules(shell)) == 3


def test_stdin_is_read_as_yaml(shell: Shell) -> None:
    assert apply(shell, "-", stdin=NIGHTLY).code == 0
    assert set(schedules(shell)) == {"nightly"}


def test_the_same_files_again_change_nothing(shell: Shell, folder: Path) -> None:
    (folder / "rate.yaml").write_text("{id: often, expression: rate(7 minutes), handler: greet}")
    apply(shell, folder)
    before = schedules(shell)
    shell.world.advance(100)
    shell.requests.clear()
    ran = apply(shell, folder)

    assert (ran.code, ran.out, ran.err) == (0, "", "2 unchanged.\n")
    assert writes(shell) == []
    assert schedules(shell) == before


def test_a_change_is_shown_field_by_field(shell: Shell, folder: Path) -> None:
    apply(shell, folder)
    changed = NIGHTLY.replace("Europe/Berlin", "Asia/Tokyo").replace("{team: billing}", "{}")
    (folder / "nightly.yaml").write_text(changed)
    ran = apply(shell, folder)

    assert ran.out.splitlines() == [
        "~ nightly",
        '    timezone: "Europe/Berlin" -> "Asia/Tokyo"',
        '    tags: {"team": "billing"} -> {}',
    ]
    assert ran.err == "1 changed.\n"


def test_a_pause_by_hand_survives_and_a_file_can_pause(shell: Shell, folder: Path) -> None:
    apply(shell, folder)
    shell.type("schedules", "pause", "nightly", "--note", "a migration")

    assert apply(shell, folder).err == "1 unchanged.\n"
    assert schedules(shell)["nightly"]["paused"] is True
    (folder / "nightly.yaml").write_text(f"{NIGHTLY}paused: false\n")
    assert "    paused: true -> false\n" in apply(shell, folder).out
    assert schedules(shell)["nightly"]["status"] == "active"


def test_a_schedule_as_it_is_shown_can_be_a_file(shell: Shell, tmp_path: Path) -> None:
    shown = put(shell, "nightly", *HOURLY, "--note", "mine")
    file = tmp_path / "nightly.json"
    file.write_text(json.dumps([shown]))
    ran = apply(shell, file)

    assert ran.out == '~ nightly\n    managed_by: null -> "files:default"\n'


def test_json_is_a_line_for_each_schedule(shell: Shell, folder: Path) -> None:
    created = apply(shell, folder, "--json").objects
    (folder / "nightly.yaml").write_text(NIGHTLY.replace("30 2", "45 2"))
    changed = apply(shell, folder, "--json", "--dry-run").objects

    assert [(one["id"], one["action"], one["dry_run"]) for one in created] == [
        ("nightly", "create", False)
    ]
    assert changed == [
        {
            "id": "nightly",
            "action": "change",
            "changes": {"expression": {"from": "30 2 * * *", "to": "45 2 * * *"}},
            "dry_run": True,
        }
    ]


def test_a_dry_run_changes_nothing_and_its_code_tells_of_differences(
    shell: Shell, folder: Path
) -> None:
    ran = apply(shell, folder, "--dry-run")

    assert (ran.code, ran.err) == (1, "1 to create.\n")
    assert "+ nightly" in ran.out
    assert schedules(shell) == {}
    apply(shell, folder)
    again = apply(shell, folder, "--dry-run")
    assert (again.code, again.out, again.err) == (0, "", "1 unchanged.\n")


def test_a_note_of_others_can_command_no_terminal(shell: Shell, folder: Path) -> None:
    apply(shell, folder)
    shell.type("schedules", "pause", "nightly", "--note", HOSTILE)
    (folder / "nightly.yaml").write_text(f"{NIGHTLY}note: mine\n")

    assert "\x1b" not in apply(shell, folder).out


# --- what is deleted ---


def test_prune_deletes_what_the_files_no_longer_have(shell: Shell, folder: Path) -> None:
    (folder / "two.yaml").write_text(TWO)
    apply(shell, folder)
    (folder / "two.yaml").unlink()
    assert apply(shell, folder).err == "1 unchanged.\n"
    ran = apply(shell, folder, "--prune", "--yes")

    assert ran.code == 0
    assert ran.out == "- hourly\n- weekly\n"
    assert ran.err == "2 deleted, 1 unchanged.\n"
    assert set(schedules(shell)) == {"nightly"}


def test_prune_deletes_no_schedule_of_another_origin(shell: Shell, folder: Path) -> None:
    put(shell, "by-hand")
    (folder / "two.yaml").write_text(TWO)
    apply(shell, folder / "two.yaml", "--name", "other")
    shell.api.send("PUT", "/v1/schedules/in-code", {**HOURLY_BODY, "managed_by": "code"})
    apply(shell, folder / "nightly.yaml", "--prune", "--yes")

    assert set(schedules(shell)) == {"by-hand", "hourly", "weekly", "in-code", "nightly"}


@pytest.mark.parametrize(
    ("stdin", "is_terminal", "code", "said"),
    [
        ("", False, 2, "Confirm with --yes"),
        ("n\n", True, 1, "Nothing was changed."),
    ],
)
def test_prune_asks_before_anything_is_written(
    shell: Shell, folder: Path, stdin: str, is_terminal: bool, code: int, said: str
) -> None:
    two = folder / "two.yaml"
    two.write_text(TWO)
    apply(shell, folder)
    two.unlink()
    (folder / "nightly.yaml").write_text(NIGHTLY.replace("30 2", "45 2"))
    shell.requests.clear()
    ran = apply(shell, folder, "--prune", stdin=stdin, is_terminal=is_terminal)

    assert ran.code == code
    assert said in ran.err
    assert "Delete 2 schedules of files:default that no file has: hourly, weekly?" in ran.err
    assert writes(shell) == []


def test_a_yes_on_a_terminal_deletes(shell: Shell, folder: Path) -> None:
    (folder / "two.yaml").write_text(TWO)
    apply(shell, folder)
    (folder / "two.yaml").write_text("[]")
    ran = apply(shell, folder, "--prune", stdin="y\n", is_terminal=True)

    assert ran.code == 0
    assert set(schedules(shell)) == {"nightly"}


def test_a_dry_run_shows_what_prune_would_delete(shell: Shell, folder: Path) -> None:
    (folder / "two.yaml").write_text(TWO)
    apply(shell, folder)
    (folder / "two.yaml").unlink()
    ran = apply(shell, folder, "--prune", "--dry-run")

    assert (ran.code, ran.out) == (1, "- hourly\n- weekly\n")
    assert ran.err == "2 to delete, 1 unchanged.\n"
    assert len(schedules(shell)) == 3


def test_what_another_origin_took_meanwhile_is_not_deleted(shell: Shell, folder: Path) -> None:
    (folder / "two.yaml").write_text(TWO)
    apply(shell, folder)
    (folder / "two.yaml").unlink()

    def take_weekly(request: Any) -> Any:
        answer = shell.answer_as_api(request)
        if request.method == "GET" and request.url.path == "/v1/schedules":
            body = {"expression": "@weekly", "handler": "greet", "managed_by": "code"}
            shell.api.send("PUT", "/v1/schedules/weekly", body)
            shell.api.send("DELETE", "/v1/schedules/hourly")
        return answer

    shell.answer = take_weekly
    assert apply(shell, folder, "--prune", "--yes").code == 0
    assert set(schedules(shell)) == {"nightly", "weekly"}


# --- other origins ---


def test_a_schedule_of_another_origin_is_refused_before_anything_is_written(
    shell: Shell, folder: Path
) -> None:
    (folder / "two.yaml").write_text(TWO)
    shell.api.send("PUT", "/v1/schedules/weekly", {**HOURLY_BODY, "managed_by": "code"})
    ran = apply(shell, folder)

    assert ran.code == 4
    assert f"{folder}/two.yaml:4: weekly is of code" in ran.err
    assert set(schedules(shell)) == {"weekly"}
    taken = apply(shell, folder, "--take-over")
    assert taken.code == 0
    assert '    managed_by: "code" -> "files:default"\n' in taken.out


def test_a_put_by_hand_warns_that_something_manages_the_schedule(
    shell: Shell, folder: Path
) -> None:
    apply(shell, folder, "--name", "ops")
    ran = shell.type("schedules", "put", "nightly", *HOURLY)

    assert ran.code == 0
    assert "nightly is managed by files:ops: the next `hourhand schedules apply`" in ran.err
    assert schedules(shell)["nightly"]["managed_by"] == "files:ops"
    assert "managed by  files:ops" in shell.type("schedules", "show", "nightly").out
    assert "files:ops" in shell.type("schedules", "list").out


def test_a_copy_that_a_person_puts_has_no_origin(shell: Shell, folder: Path) -> None:
    apply(shell, folder)
    shown = shell.type("schedules", "show", "nightly", "--json").out
    ran = shell.type("schedules", "put", "copy", "--file", "-", stdin=shown)

    assert (ran.code, ran.err) == (0, "")
    assert {name: one["managed_by"] for name, one in schedules(shell).items()} == {
        "nightly": "files:default",
        "copy": None,
    }


def test_null_in_a_file_of_put_clears_the_origin(
    shell: Shell, folder: Path, tmp_path: Path
) -> None:
    apply(shell, folder)
    file = tmp_path / "put.json"
    file.write_text(json.dumps({**HOURLY_BODY, "managed_by": None}))
    ran = shell.type("schedules", "put", "nightly", "-f", str(file))

    assert (ran.code, ran.err) == (0, "")
    assert schedules(shell)["nightly"]["managed_by"] is None


# --- what is wrong ---


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        ("id: a b\n", ":1", "id is 'a b': it must be 1 to 100 of"),
        ("expression: '@daily'\n", ":1", "id is missing"),
        ("just text\n", ":1", "a schedule must be an object"),
        ("- 5\n", ":1", "a schedule must be an object"),
        (f"{NIGHTLY}paused: yes\n", ":6", "paused is yes, which YAML reads as a boolean"),
        (f"{NIGHTLY}id: other\n", ":6", "id is given twice"),
        (f"{NIGHTLY}---\n{NIGHTLY}", ":7", "the ID nightly is already at"),
        ("a: [1", "", "line 1: it is not valid YAML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_line(
    shell: Shell, tmp_path: Path, text: str, where: str, problem: str
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    ran = apply(shell, file)

    assert ran.code == 2
    assert f"{file}{where}: " in ran.err
    assert problem in ran.err
    assert "nothing was changed" in ran.err
    assert schedules(shell) == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "it is not valid JSON"),
        ('{"id": "a", "id": "b"}', "the field id is given twice"),
        ('{"id": "a", "payload": NaN}', "NaN is not a JSON number"),
    ],
)
def test_a_json_file_that_is_wrong_is_refused(
    shell: Shell, tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(text)
    ran = apply(shell, file)

    assert (ran.code, f"{file}: " in ran.err, problem in ran.err) == (2, True, True)


@pytest.mark.parametrize(
    ("changes", "where", "problem"),
    [
        ({"expression": "61 * * * *"}, "expression", "expression"),
        ({"handler": "nobody"}, "handler", "handler"),
        ({"colour": "red"}, "colour", "colour"),
        ({"retry": {"max_attempts": 0}}, "retry.max_attempts", "retry.max_attempts"),
        ({"exclude": ["no-calendar"]}, "exclude", "calendars that do not exist"),
        ({"start_at": "2027-01-01"}, "start_at", "start_at"),
    ],
)
def test_what_the_api_refuses_is_told_with_file_line_and_field(
    shell: Shell, folder: Path, changes: dict[str, Any], where: str, problem: str
) -> None:
    body = {"id": "zzz", "expression": "@daily", "handler": "greet", **changes}
    lines = [f"{name}: {json.dumps(value)}" for name, value in body.items()]
    (folder / "zzz.yaml").write_text("\n".join(lines))
    ran = apply(shell, folder)

    line = list(body).index(where.partition(".")[0]) + 1
    assert ran.code == 2
    assert f"{folder}/zzz.yaml:{line}: zzz: " in ran.err
    assert problem in ran.err
    assert schedules(shell) == {}, "what is right is not put either"


def test_a_problem_in_json_is_told_by_the_number_of_the_schedule(
    shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "two.json"
    entries = [{"id": "a", **HOURLY_BODY}, {"id": "b", **HOURLY_BODY, "handler": "nobody"}]
    file.write_text(json.dumps(entries))

    assert f"{file}, schedule 2: b: handler " in apply(shell, file).err


def test_an_id_may_be_in_one_file_only(shell: Shell, folder: Path) -> None:
    (folder / "other.yaml").write_text(f"# first\n{NIGHTLY}")
    ran = apply(shell, folder)

    assert ran.code == 2
    message = f"{folder}/other.yaml:2: the ID nightly is already at {folder}/nightly.yaml:1"
    assert message in ran.err


@pytest.mark.parametrize(
    ("name", "problem"),
    [("nope", "cannot be read"), ("empty", "the folder has no file that ends in")],
)
def test_a_path_without_schedules_is_refused(
    shell: Shell, tmp_path: Path, name: str, problem: str
) -> None:
    (tmp_path / "empty").mkdir()
    ran = apply(shell, tmp_path / name, "--prune", "--yes")

    assert (ran.code, problem in ran.err) == (2, True)


def test_a_file_that_is_not_text_or_too_large_is_refused(
    shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 100)
    (folder / "nightly.yaml").write_bytes(b"\xff\xfe")
    (folder / "large.yaml").write_text("#" * 101)
    ran = apply(shell, folder)

    assert ran.code == 2
    assert "2 problems" in ran.err
    assert "it is not UTF-8 text" in ran.err
    assert "it is larger than 100 bytes" in ran.err


def test_very_many_problems_are_counted(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "many.json"
    file.write_text(json.dumps([{}] * 60))
    ran = apply(shell, file)

    assert "The files have 60 problems" in ran.err
    assert "and 10 more" in ran.err


def test_a_folder_with_very_many_files_is_refused(
    shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_FILES", 1)
    (folder / "two.yaml").write_text(TWO)

    assert "more than 1 files" in apply(shell, folder).err


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "a/b"])
def test_a_name_that_is_no_origin_is_refused(shell: Shell, folder: Path, name: str) -> None:
    ran = apply(shell, folder, "--name", name)

    assert (ran.code, "must be 1 to 64" in ran.err) == (2, True)
    assert schedules(shell) == {}


def test_a_put_that_fails_stops_no_other_but_every_deletion(shell: Shell, folder: Path) -> None:
    (folder / "two.yaml").write_text(TWO)
    apply(shell, folder)
    (folder / "two.yaml").write_text(TWO.replace("weekly", "monthly"))
    (folder / "nightly.yaml").write_text(NIGHTLY.replace("30 2", "45 2"))

    def refuse_monthly(request: Any) -> Any:
        if request.method == "PUT" and str(request.url).endswith("/monthly"):
            request.url = request.url.copy_with(path="/v1/nowhere")
        return shell.answer_as_api(request)

    shell.answer = refuse_monthly
    ran = apply(shell, folder, "--prune", "--yes")

    assert ran.code == 3
    assert "monthly: " in ran.err
    assert "Nothing was deleted" in ran.err
    assert "1 changed, 1 unchanged." in ran.err
    assert set(schedules(shell)) == {"nightly", "hourly", "weekly"}
