"""``hourhand graphs``, ``jobs children``, ``schedules grid``, and children in ``runs steps``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hourhand.testing import FakeHourhand
from tests.functions.cli_rig import COMMANDS, HOSTILE, Shell
from tests.functions.graph_rig import CALLS, DIAMOND, FAILING, new_hourhand, node, shell_of


@pytest.fixture
def hourhand() -> FakeHourhand:
    return new_hourhand()


@pytest.fixture
def shell(hourhand: FakeHourhand, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return shell_of(hourhand, monkeypatch)


def words(text: str) -> str:
    return " ".join(re.sub(r"\x1b\[[\d;]*m", "", text).split())


def lines(text: str) -> list[str]:
    return [words(line) for line in text.splitlines()]


def submitted(hourhand: FakeHourhand, nodes: dict[str, Any], id: str = "g") -> None:  # noqa: A002 (the field's name)
    hourhand.client.graphs.submit({"nodes": nodes}, id=id)
    hourhand.run_due()


# --- submit -----------------------------------------------------------------------------------


def test_a_graph_is_submitted_from_a_file_or_stdin(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "etl.json"
    file.write_text(json.dumps({"nodes": DIAMOND, "id": "in-file"}))
    ran = shell.type("graphs", "submit", str(file))
    assert (ran.code, words(ran.out)) == (0, "in-file submitted: ENQUEUED, 4 nodes")
    ran = shell.type("graphs", "submit", str(file), "--id", "mine", "--json")
    (graph,) = ran.objects
    assert (graph["id"], set(graph["nodes"])) == ("mine", set(DIAMOND))
    one = json.dumps({"nodes": {"a": node("a")}})
    ran = shell.type("graphs", "submit", "-", "--json", "--fields", "status,handler", stdin=one)
    assert ran.objects == [{"status": "ENQUEUED", "handler": "hourhand.graph"}]
    assert shell.type("graphs", "submit", "-", stdin=one).out.endswith("1 node\n")


def test_a_graph_that_is_refused_says_which_field_is_wrong(shell: Shell, tmp_path: Path) -> None:
    bad = json.dumps({"nodes": {"a": {"handler": "nobody"}, "b": node("b", "b")}})
    ran = shell.type("graphs", "submit", "-", stdin=bad)
    assert ran.code == 2
    assert "nodes.b.after names the node itself" in words(ran.err)
    assert shell.type("graphs", "submit", str(tmp_path / "none.json")).code == 2
    ran = shell.type("graphs", "submit", "-", stdin="[]")
    assert (ran.code, "must contain one JSON object" in words(ran.err)) == (2, True)
    shell.type("graphs", "submit", "-", "--id", "g", stdin=json.dumps({"nodes": DIAMOND}))
    other = json.dumps({"nodes": {"a": node("a")}})
    ran = shell.type("graphs", "submit", "-", "--id", "g", stdin=other)
    assert (ran.code, "already used" in words(ran.err)) == (4, True)


# --- show -------------------------------------------------------------------------------------


def test_show_lists_the_nodes_in_an_order_in_which_they_can_run(
    shell: Shell, hourhand: FakeHourhand
) -> None:
    FAILING.append("b")
    nodes = {"z": node("z"), **{n: {**one} for n, one in DIAMOND.items()}}
    nodes["a"]["after"] = ["z"]
    nodes["m"] = {"map": {"over": [1, "b"], "handler": "note"}, "after": ["a"]}
    submitted(hourhand, nodes)
    shell.monkeypatch.setenv("COLUMNS", "200")
    shown = lines(shell.type("graphs", "show", "g").out)
    assert shown[0] == "graph g"
    assert shown[1] == "status DEAD"
    assert "3 SUCCEEDED, 2 DEAD, 1 SKIPPED" in shown[2]
    assert shown[-9].startswith("error GraphFailed: ")
    table = shown[-7:]
    assert table[0].split()[:3] == ["NODE", "STATUS", "OF"]
    assert [line.split()[0] for line in table[1:]] == ["z", "a", "b", "c", "m", "d"]
    found = {line.split()[0]: line for line in table[1:]}
    assert found["b"].startswith("b DEAD 0 ms note c.")
    assert found["b"].endswith("NotRetryable: b is broken")
    assert found["m"] == "m DEAD 2/2, 1 failed - note - MapFailed: 1 of 2 jobs failed."
    assert found["d"] == "d SKIPPED - note - upstream_failed"


def test_show_prints_how_long_a_node_has_run(shell: Shell, hourhand: FakeHourhand) -> None:
    item = {"handler": "note", "over": [1, 2, 3], "tolerate": 0}
    submitted(hourhand, {"m": {"map": item, "delay_seconds": 3600}, "n": node("n", "m")})
    hourhand.clock.advance(120)
    shown = lines(shell.type("graphs", "show", "g").out)
    assert shown[-2].startswith("m RUNNING 0/3 2 min note")
    assert shown[-1].startswith("n WAITING - note")


def test_show_prints_json_and_named_fields(shell: Shell, hourhand: FakeHourhand) -> None:
    submitted(hourhand, DIAMOND)
    (graph,) = shell.type("graphs", "show", "g", "--json").objects
    assert graph == hourhand.client.graphs.get("g").raw
    (graph,) = shell.type("graphs", "show", "g", "--json", "--fields", "id,status").objects
    assert graph == {"id": "g", "status": "SUCCEEDED"}
    assert shell.type("graphs", "show", "g", "--fields", "state").code == 2
    assert shell.type("graphs", "show", "nothing").code == 3


def test_show_opens_the_page_of_the_graphs_job(
    shell: Shell, hourhand: FakeHourhand, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, ...]] = []
    submitted(hourhand, DIAMOND)
    monkeypatch.setattr("hourhand.cli.console.open_page", lambda _, *page: opened.append(page))
    assert shell.type("graphs", "show", "g", "--web").code == 0
    assert opened == [("jobs", "g")]
    hourhand.client.batches.submit([], id="b")
    assert shell.type("batches", "show", "b", "--web").code == 0
    assert opened[1:] == [("jobs", "b")]


def test_texts_of_others_do_no_harm(shell: Shell, hourhand: FakeHourhand) -> None:
    FAILING.append(HOSTILE)
    submitted(hourhand, {"a": node("a", payload=HOSTILE)})
    out = shell.type("graphs", "show", "g").out + shell.type("jobs", "children", "g").out
    assert not [command for command in COMMANDS if command in out]
    assert "is broken" in words(out)


# --- rerun ------------------------------------------------------------------------------------


def test_a_rerun_is_planned_then_done(shell: Shell, hourhand: FakeHourhand) -> None:
    submitted(hourhand, DIAMOND)
    CALLS.clear()
    ran = shell.type("graphs", "rerun", "g", "--from", "b", "--from", "c", "--dry-run")
    assert lines(ran.out) == [
        "would run again b",
        "would run again c",
        "would run again d",
        "not reset a",
        "A node that is not reset keeps its result. Without one, it is tried again.",
    ]
    assert hourhand.client.graphs.get("g").status == "SUCCEEDED"
    ran = shell.type("graphs", "rerun", "g", "--from", "b")
    assert lines(ran.out) == [
        "runs again b",
        "runs again d",
        "not reset a",
        "not reset c",
        "A node that is not reset keeps its result. Without one, it is tried again.",
        "g rerun: ENQUEUED",
    ]
    ran = shell.type("graphs", "rerun", "g", "--from", "b")
    assert (ran.code, "only a run that ended is redriven" in words(ran.err)) == (4, True)
    hourhand.run_due()
    assert [call["name"] for call in CALLS] == ["b", "d"]
    (rerun,) = shell.type("graphs", "rerun", "g", "--from", "d", "--dry-run", "--json").objects
    assert rerun == {"reset": ["d"], "kept": ["a", "b", "c"]}


def test_the_nodes_of_a_rerun_may_come_from_the_environment(
    shell: Shell, hourhand: FakeHourhand
) -> None:
    submitted(hourhand, DIAMOND)
    shell.monkeypatch.setenv("HOURHAND_GRAPHS_RERUN_FROM", "b; c")
    (rerun,) = shell.type("graphs", "rerun", "g", "--dry-run", "--json").objects
    assert rerun["reset"] == ["b", "c", "d"]


def test_a_rerun_needs_a_node_that_exists(shell: Shell, hourhand: FakeHourhand) -> None:
    submitted(hourhand, DIAMOND)
    assert shell.type("graphs", "rerun", "g").code == 2
    ran = shell.type("graphs", "rerun", "g", "--from", "x")
    assert (ran.code, "names 'x', which is not a node" in words(ran.err)) == (2, True)
    assert shell.type("graphs", "rerun", "nothing", "--from", "a").code == 3


# --- children and steps -----------------------------------------------------------------------


def test_children_are_listed_with_their_calls(shell: Shell, hourhand: FakeHourhand) -> None:
    FAILING.append(1)
    run = hourhand.client.submit("split", [0, 1, 2], id="run").id
    hourhand.run_due()
    shell.monkeypatch.setenv("COLUMNS", "200")
    head, *rows = lines(shell.type("jobs", "children", run).out)
    assert head == "PATH INDEX ID HANDLER STATUS WHEN REMARK"
    assert [row.split()[:2] for row in rows] == [
        ["head", "0"],
        ["parts", "0"],
        ["parts", "1"],
        ["parts", "2"],
    ]
    assert rows[2].endswith("NotRetryable: 1 is broken")
    dead = shell.type("jobs", "children", run, "--status", "dead", "--json").objects
    assert [(one["index"], one["parent_id"]) for one in dead] == [(1, "run")]
    (first,) = shell.type("jobs", "children", run, "--path", "head", "--json").objects
    assert first["path"] == "head"
    ran = shell.type("jobs", "children", run, "--limit", "2")
    assert "Only the first 2 are shown" in ran.err


def test_a_run_without_such_children_says_so(shell: Shell, hourhand: FakeHourhand) -> None:
    hourhand.client.batches.submit([], id="b")
    assert "The run has no child jobs." in shell.type("jobs", "children", "b").err
    ran = shell.type("jobs", "children", "b", "--status", "DEAD")
    assert "No child job is DEAD." in ran.err
    hourhand.client.submit("note", 1, id="plain")
    assert shell.type("jobs", "children", "plain").code == 4
    assert shell.type("jobs", "children", "nothing").code == 3


def test_steps_show_children_with_their_jobs_and_maps_with_their_counts(
    shell: Shell, hourhand: FakeHourhand
) -> None:
    FAILING.append(1)
    hourhand.client.submit("split", [0, 1, 2], id="run")
    hourhand.run_due()
    shell.monkeypatch.setenv("COLUMNS", "200")
    head, child, parts = lines(shell.type("runs", "steps", "run").out)
    assert head == "PATH KIND STATUS OF STARTED JOB RESULT"
    assert child.startswith("head child succeeded 1/1 ")
    assert " c." in child
    assert parts.startswith("parts map succeeded 3/3, 1 failed ")


# --- grid -------------------------------------------------------------------------------------


def test_a_grid_has_a_row_for_each_node_and_a_column_for_each_run(
    shell: Shell, hourhand: FakeHourhand
) -> None:
    hourhand.client.schedules.put("s", expression="@hourly", handler="etl", overlap="allow")
    hourhand.advance(hours=1, minutes=30)
    FAILING.append(1)
    hourhand.advance(hours=1)
    FAILING.clear()
    FAILING.append(2)
    hourhand.advance(hours=1)
    out = shell.type("schedules", "grid", "s", "--utc").out
    assert out.splitlines()[:3] == [
        "(whole run)  S D D ",
        "extract      S D S ",
        "load         S K D ",
    ]
    assert "S SUCCEEDED D DEAD K SKIPPED . not in that run" in words(out)
    assert "left: 2026-01-05 10:00:00Z; right: 2026-01-05 12:00:00Z" in words(out)
    runs = shell.type("schedules", "grid", "s", "--runs", "2", "--json").objects
    assert [run["nodes"]["extract"]["status"] for run in runs] == ["SUCCEEDED", "DEAD"]


def test_a_grid_of_plain_jobs_has_one_row_and_fits_the_terminal(
    shell: Shell, hourhand: FakeHourhand
) -> None:
    assert shell.type("schedules", "grid", "nothing").code == 3
    hourhand.client.schedules.put("s", expression="@hourly", handler="note", overlap="allow")
    assert "The schedule has no runs yet." in shell.type("schedules", "grid", "s").err
    hourhand.advance(hours=1)
    out = shell.type("schedules", "grid", "s", "--utc").out
    assert out.splitlines()[0] == "(whole run)  S "
    assert words(out.splitlines()[-1]) == "2026-01-05 10:00:00Z"
    hourhand.advance(hours=3)
    shell.monkeypatch.setenv("COLUMNS", "20")
    shell.monkeypatch.setenv("NO_COLOR", "1")
    ran = shell.type("schedules", "grid", "s", is_terminal=True)
    assert ran.out.splitlines()[0].rstrip().endswith("  S S S")
    assert "too narrow for more than 3 runs" in words(ran.err)
