"""``hourhand batches``: submitted, filled, closed and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hourhand.testing import FakeHourhand
from tests.functions.cli_rig import Shell
from tests.functions.graph_rig import CALLS, FAILING, new_hourhand, shell_of


@pytest.fixture
def hourhand() -> FakeHourhand:
    return new_hourhand()


@pytest.fixture
def shell(hourhand: FakeHourhand, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return shell_of(hourhand, monkeypatch)


def words(text: str) -> str:
    return " ".join(text.split())


def member(payload: Any) -> dict[str, Any]:
    return {"handler": "note", "payload": payload}


def test_a_batch_is_submitted_from_an_object_or_an_array(
    shell: Shell, hourhand: FakeHourhand, tmp_path: Path
) -> None:
    whole = {"jobs": [member(0)], "on_success": member("success"), "id": "b", "tenant": "acme"}
    file = tmp_path / "batch.json"
    file.write_text(json.dumps(whole))
    ran = shell.type("batches", "submit", str(file))
    assert (ran.code, words(ran.out)) == (0, "b submitted: running, 1 job, 0 succeeded, 0 failed")
    ran = shell.type("batches", "submit", "-", "--id", "c", stdin=json.dumps([member(1)] * 2))
    assert words(ran.out) == "c submitted: running, 2 jobs, 0 succeeded, 0 failed"
    ran = shell.type("batches", "submit", "-", "--json", stdin="[]")
    assert ran.objects[0]["total"] == 0
    hourhand.run_due()
    assert hourhand.get("b").tenant == "acme"
    assert "success" in CALLS


def test_show_prints_counts_and_callbacks(shell: Shell, hourhand: FakeHourhand) -> None:
    FAILING.append(1)
    jobs = [member(n) for n in range(3)]
    hourhand.client.batches.submit(jobs, on_failure=member("failure"), id="b")
    hourhand.run_due()
    failure = hourhand.client.batches.get("b").callbacks["on_failure"]
    shown = [words(line) for line in shell.type("batches", "show", "b").out.splitlines()]
    assert shown[:6] == [
        "batch b",
        "status failed",
        "jobs 3 jobs, 2 succeeded, 1 failed",
        "on_success -",
        "on_complete -",
        f"on_failure {failure}",
    ]
    assert [line.split()[0] for line in shown[6:]] == ["created", "ended"]
    wanted = ("--json", "--fields", "status,callbacks.on_failure")
    (batch,) = shell.type("batches", "show", "b", *wanted).objects
    assert batch == {"status": "failed", "callbacks": {"on_failure": failure}}
    assert shell.type("batches", "show", "b", "--json").objects == [
        hourhand.client.batches.get("b").raw
    ]


def test_an_open_batch_is_filled_and_closed(shell: Shell, hourhand: FakeHourhand) -> None:
    ran = shell.type("batches", "submit", "-", "--open", "--id", "b", stdin=json.dumps([member(0)]))
    assert words(ran.out).startswith("b submitted: open, 1 job,")
    more = json.dumps([member(1), member(2)])
    for _ in range(2):
        ran = shell.type("batches", "add", "b", "-", "--first-index", "1", stdin=more)
        assert (ran.code, words(ran.out)) == (0, "b added: open, 3 jobs, 0 succeeded, 0 failed")
    ran = shell.type("batches", "close", "b", "--total", "4")
    assert (ran.code, "The member 3 of the batch is missing" in words(ran.err)) == (4, True)
    ran = shell.type("batches", "close", "b", "--total", "3")
    assert words(ran.out).startswith("b closed: running, 3 jobs")
    ran = shell.type("batches", "add", "b", "-", "--first-index", "3", stdin=more)
    assert (ran.code, "it takes no more jobs" in words(ran.err)) == (4, True)
    (batch,) = shell.type("batches", "close", "b", "--json").objects
    hourhand.run_due()
    assert (batch["total"], sorted(CALLS)) == (3, [0, 1, 2])


def test_a_file_may_open_its_batch(shell: Shell) -> None:
    ran = shell.type("batches", "submit", "-", stdin=json.dumps({"jobs": [], "open": True}))
    assert "submitted: open, 0 jobs" in words(ran.out)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not valid JSON"),
        ("7", "must contain an array of jobs, or an object"),
        ('{"job": []}', "must contain an array of jobs, or an object"),
        ('{"jobs": [], "on_sucess": {}}', "Did you mean 'on_success'?"),
        ('[{"handler": "nobody"}]', "jobs[0].handler is not registered"),
        ('[{"payload": 1}]', "jobs[0].handler is required"),
    ],
)
def test_a_file_that_holds_no_batch_is_refused(shell: Shell, content: str, message: str) -> None:
    ran = shell.type("batches", "submit", "-", stdin=content)
    assert ran.code == 2
    assert message in words(ran.err).replace("│ ", "")


def test_an_addition_needs_an_array_and_a_place(shell: Shell) -> None:
    ran = shell.type("batches", "add", "b", "-", "--first-index", "0", stdin="{}")
    assert (ran.code, "must contain an array of jobs" in words(ran.err)) == (2, True)
    assert shell.type("batches", "add", "b", "-", stdin="[]").code == 2
    ran = shell.type("batches", "add", "b", "-", "--first-index", "-1", stdin="[]")
    assert ran.code == 2


def test_what_is_no_batch_is_not_found(shell: Shell, hourhand: FakeHourhand) -> None:
    hourhand.client.submit("note", 1, id="plain")
    assert shell.type("batches", "show", "plain").code == 3
    assert shell.type("batches", "close", "plain").code == 3
