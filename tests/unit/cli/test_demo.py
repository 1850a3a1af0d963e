"""What the demo shows: progress with and without a terminal, and an honest report."""

from __future__ import annotations

import io
import json
import signal
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from hourhand.cli.demo import PLAIN_SECONDS, Screen, counts, report, run_demo
from hourhand.cli.main import app
from hourhand.domain.errors import InvalidInput
from hourhand.local.demo.plan import FULL, QUICK, Course
from hourhand.local.demo.run import Demo
from hourhand.local.demo.verdict import Check, Verdict

GOOD = Verdict(
    is_good=True,
    checks=[Check(promise="No job was lost", detail="60 submitted, 60 found")],
    submitted=60,
    from_schedules=7,
    started=67,
    statuses={"SUCCEEDED": 65, "DEAD": 2},
    outcomes={"SUCCEEDED": 65, "FAILED": 7, "LOST": 2},
    lateness_ms={"median": 14, "p99": 160, "max": 454},
)
LOST = Check(promise="No job was lost", detail="60 submitted, 58 found", problems=["a", "b"])
BAD = replace(GOOD, is_good=False, checks=[*GOOD.checks, LOST])


def printed(show: Any, *, is_terminal: bool = False) -> str:
    stream = io.StringIO()
    show(Console(file=stream, width=100, force_terminal=is_terminal, color_system=None))
    return stream.getvalue()


def test_the_report_starts_with_the_verdict_and_has_a_line_for_each_promise() -> None:
    lines = printed(lambda console: report(console, GOOD, 31.4)).strip().splitlines()
    assert lines[0] == "✓ Every promise was kept. The demo took 31 s."
    assert [part.strip() for part in lines[1].split("  ") if part] == [
        "✓",
        "No job was lost",
        "60 submitted, 60 found",
    ]
    assert lines[2].startswith("✓  Jobs started on time")
    assert "lateness: median 14 ms, p99 160 ms, max 454 ms" in lines[2]


def test_a_broken_promise_is_marked_with_its_problems_and_nothing_is_called_good() -> None:
    lines = printed(lambda console: report(console, BAD, 31.4)).strip().splitlines()
    assert lines[0] == "✗ 1 of 2 promises were broken. The demo took 31 s."
    assert [line.strip() for line in lines[3:5]] == ["a", "b"]
    assert lines[2].startswith("✗  No job was lost")


def test_jobs_that_start_late_are_marked_but_break_no_promise() -> None:
    late = replace(GOOD, lateness_ms={"median": 14, "p99": 1001, "max": 1001})
    text = printed(lambda console: report(console, late, 31.4))
    assert "Every promise was kept" in text
    assert "!  Jobs started on time" in text


def test_the_counts_add_up() -> None:
    assert list(counts(GOOD)) == [
        "67 jobs = 60 submitted + 7 from schedules",
        "67 jobs = 65 succeeded + 2 dead",
        "74 attempts = 67 first attempts + 7 retries",
        "74 attempts = 65 succeeded + 7 failed + 2 lost with their worker",
    ]
    for line in counts(GOOD):
        whole, parts = line.split(" = ")
        assert int(whole.split()[0]) == sum(int(part.split()[0]) for part in parts.split(" + "))


# --- how it ends ---


@pytest.mark.parametrize(("verdict", "code"), [(GOOD, 0), (BAD, 1)], ids=["good", "bad"])
def test_the_exit_code_is_0_only_if_every_promise_was_kept(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict, code: int
) -> None:
    monkeypatch.setattr(Demo, "run", lambda _: verdict)
    assert run_demo(QUICK, 0) == code


def test_json_is_the_only_thing_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(demo: Demo) -> Verdict:
        demo.say("Watch it live: x")
        return BAD

    monkeypatch.setattr(Demo, "run", run)
    assert run_demo(QUICK, 0, is_json=True) == 1
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["is_good"] is False
    assert told["checks"][1]["problems"] == ["a", "b"]
    assert "Watch it live: x" in err


def test_an_interrupted_demo_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(demo: Demo) -> Verdict:
        signal.raise_signal(signal.SIGINT)
        demo.show(1.0, 1, 1)
        return GOOD

    monkeypatch.setattr(Demo, "run", interrupt)
    assert run_demo(QUICK, 0) == 130
    assert "Interrupted" in capsys.readouterr().out


def test_a_port_that_is_taken_is_named_before_anything_runs() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"Port {port} cannot be used"):
            run_demo(QUICK, port)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["demo"], (FULL, 0, False)),
        (["demo", "--quick", "--json", "--port", "9000"], (QUICK, 9000, True)),
    ],
)
def test_flags_choose_the_size_the_port_and_the_form(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: tuple[Course, int, bool]
) -> None:
    asked: list[tuple[Course, int, bool]] = []

    def run(course: Course, port: int, *, is_json: bool) -> int:
        asked.append((course, port, is_json))
        return 1

    monkeypatch.setattr("hourhand.cli.demo.run_demo", run)
    assert CliRunner().invoke(app, arguments).exit_code == 1
    assert asked == [expected]


# --- while it runs ---


def test_without_a_terminal_progress_is_a_line_every_now_and_then() -> None:
    def show(console: Console) -> None:
        with Screen(console, QUICK, threading.Event()) as screen:
            for second in range(3 * int(PLAIN_SECONDS)):
                screen.show(float(second), 20, 15)

    lines = printed(show).splitlines()
    assert lines == [f"{at} s: 20 of 60 jobs submitted, 15 succeeded" for at in (10, 20)]


def test_on_a_terminal_progress_is_redrawn_below_the_events() -> None:
    def show(console: Console) -> None:
        with Screen(console, QUICK, threading.Event()) as screen:
            screen.show(1.0, 20, 15)
            screen.say("Another scheduler took over.")

    text = printed(show, is_terminal=True)
    assert "20 of 60 jobs submitted, 15 succeeded" in text
    assert "Another scheduler took over." in text
