"""What the demo shows: progress with and without a terminal, and an honest report."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from hourhand.cli.demo import PLAIN_SECONDS, DemoScreen, report, run_demo
from hourhand.domain.model import Priority
from hourhand.local.cloud import LocalCloud
from hourhand.local.demo.clock_change import ClockChange, Day, Occurrence
from hourhand.local.demo.library import standard_library_modules
from hourhand.local.demo.plan import demo_timings, make_plan
from hourhand.local.demo.recurring import ScheduleTally
from hourhand.local.demo.run import Demo, DemoOptions, Outcome, Progress
from hourhand.local.demo.tracker import Tracker
from hourhand.local.demo.verdict import Group, Lateness, Verdict
from hourhand.local.news import (
    BatchBegun,
    BatchEnded,
    ChildDied,
    ChildStarted,
    Logged,
    Measured,
    News,
    Printed,
    QueueFailed,
    Ticked,
)

NOW = datetime(2026, 1, 5, tzinfo=UTC)
NONE = Lateness(jobs=0, p50_ms=None, p99_ms=None, max_ms=None)
GOOD = Verdict(
    problems=(),
    by_status={"SUCCEEDED": 337, "CANCELLED": 1, "DEAD": 2},
    by_outcome={"SUCCEEDED": 337, "FAILED": 7, "LOST": 2},
    lateness={
        Group.OTHERS: Lateness(jobs=333, p50_ms=20, p99_ms=160, max_ms=454),
        Group.PURGED: Lateness(jobs=6, p50_ms=18_771, p99_ms=18_849, max_ms=18_849),
        Group.BESIDE_POISON: NONE,
    },
    leaderless=Lateness(jobs=45, p50_ms=19, p99_ms=401, max_ms=401),
    dispatched_again=6,
    runs=346,
    dead_letters=2,
    schedules=(ScheduleTally(expression="rate(10 seconds)", expected=9, ran=9),),
)
NIGHT = datetime(2026, 3, 29, 1, tzinfo=UTC)
CHANGED = ClockChange(
    days=(
        Day(
            date=NIGHT.date(),
            expression="30 2 * * *",
            occurrences=(
                Occurrence(
                    at=NIGHT,
                    local=NIGHT.astimezone(timezone(timedelta(hours=2))),
                    note="02:30 does not exist.",
                    lateness_ms=7,
                ),
            ),
        ),
    ),
    problems=(),
    seconds=1.2,
)


def outcome(
    verdict: Verdict = GOOD, *, pauses: int = 0, clock_change: ClockChange = CHANGED
) -> Outcome:
    tracker = Tracker()
    tracker.tell(Measured(name="s", values={"elections_won": (1.0,) * 12}))
    return Outcome(
        verdict=verdict,
        tracker=tracker,
        seconds=106.2,
        pauses=pauses,
        hand_off_seconds=10.04,
        clock_change=clock_change,
    )


def printed(show: Any, *, is_terminal: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=100, force_terminal=is_terminal, color_system=None, soft_wrap=True
    )
    show(console)
    return stream.getvalue()


def rows(text: str) -> dict[str, list[str]]:
    """Return the cells of each row by its first one."""
    cells = [[c for c in line.split("  ") if c.strip()] for line in text.splitlines()]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in cells if row}


def test_the_report_has_a_row_for_whatever_befell_jobs() -> None:
    table = rows(printed(lambda console: report(console, outcome())))
    assert table["SUCCEEDED"] == ["337"]
    assert table["all jobs but those below"] == ["333", "0.020 s", "0.160 s", "0.454 s"]
    assert table["of them, due while no leader lived"] == ["45", "0.019 s", "0.401 s", "0.401 s"]
    assert table["message purged from its queue"] == ["6", "18.771 s", "18.849 s", "18.849 s"]
    assert table["beside the poison job in its process"] == ["0", "-", "-", "-"]
    assert table["retries"] == ["7"]
    assert table["dead letters"] == ["2"]
    assert table["messages missed and sent again"] == ["6"]
    assert table["next leader after the kill"] == ["10.0 s later"]
    assert table["elections"] == ["12 won, 0 stepped back"]


def test_a_good_end_is_said_in_one_sentence() -> None:
    text = printed(lambda console: report(console, outcome()))
    assert text.rstrip().endswith(
        "All 340 jobs ended as they should: nothing lost, nothing run twice at once, "
        "each nominal time exactly once. 106 s."
    )


def test_every_problem_is_named_and_nothing_is_called_good() -> None:
    bad = replace(GOOD, problems=("job-7: two runs of it overlapped", "job-9: lost"))
    text = printed(lambda console: report(console, outcome(bad)))
    assert "2 things are not as they should be:" in text
    assert "job-9: lost" in text
    assert "some of them overlapped" in text
    assert "as they should: nothing" not in text


def test_pauses_of_the_submission_are_told() -> None:
    assert rows(printed(lambda c: report(c, outcome())))["submission, for 100 waiting"] == [
        "never paused"
    ]
    paused = rows(printed(lambda c: report(c, outcome(pauses=3))))
    assert paused["submission, for 100 waiting"] == ["paused 3 times"]


def test_schedules_have_a_row_each_and_a_table_of_the_change_of_the_clocks() -> None:
    text = printed(lambda console: report(console, outcome()))
    assert rows(text)["schedule rate(10 seconds)"] == ["9 of 9 nominal times came"]
    title = "Schedules over a change of the clocks (virtual time): 1 nominal times, 1 days in 1.2 s"
    assert title in text
    assert rows(text)["29 Mar"] == ["30 2 * * *", "1", "03:00", "01:00", "7 ms"]
    assert "02:30 does not exist." in text


@pytest.mark.parametrize(
    ("of_jobs", "of_schedules", "code"), [((), (), 0), (("x",), (), 1), ((), ("x",), 1)]
)
def test_the_exit_code_is_0_only_if_every_job_and_nominal_time_came_as_it_should(
    monkeypatch: pytest.MonkeyPatch,
    of_jobs: tuple[str, ...],
    of_schedules: tuple[str, ...],
    code: int,
) -> None:
    ended = outcome(
        replace(GOOD, problems=of_jobs), clock_change=replace(CHANGED, problems=of_schedules)
    )
    monkeypatch.setattr(Demo, "run", lambda _: ended)
    assert run_demo(DemoOptions()) == code


def test_an_interrupted_demo_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: Demo) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(Demo, "run", interrupt)
    assert run_demo(DemoOptions()) == 130


# --- while it runs ---


def progress(seconds: float) -> Progress:
    return Progress(
        seconds=seconds, submitted=20, planned=60, succeeded=15, not_succeeded_attempts=2
    )


def test_without_a_terminal_progress_is_a_line_every_now_and_then() -> None:
    def show(console: Console) -> None:
        with DemoScreen(console) as screen:
            for second in range(3 * int(PLAIN_SECONDS)):
                screen.show(progress(float(second)))

    lines = printed(show).splitlines()
    assert len(lines) == 2
    assert "20 of 60 submitted, 15 succeeded, 2 attempts ended otherwise" in lines[0]


def test_in_a_terminal_progress_is_drawn_anew_each_time() -> None:
    def show(console: Console) -> None:
        with DemoScreen(console) as screen:
            screen.show(progress(1.0))

    text = printed(show, is_terminal=True)
    assert "20 of 60" in text
    assert "submitted" in text


def test_what_runs_and_with_which_timings_is_said_at_the_start() -> None:
    cloud = SimpleNamespace(
        options=SimpleNamespace(backend="moto", timings=demo_timings()),
        url="http://127.0.0.1:9",
        workers=[1, 2, 3],
        schedulers=[1, 2],
    )
    plan = make_plan(standard_library_modules(), 60)
    text = printed(lambda c: DemoScreen(c).started(cast("LocalCloud", cloud), plan))
    assert "2 schedulers and 3 workers" in text
    assert "60: one a module" in text
    assert "with a pause while 100 messages wait" in " ".join(text.split())
    assert "shortened to 1/6: tick 10 s" in text


@pytest.mark.parametrize(
    ("news", "text"),
    [
        (
            ChildDied(name="worker-1", pid=7, exit_code=-9, restart_seconds=1, at_monotonic=1),
            "worker-1 died (pid 7, killed by signal 9 (Killed))",
        ),
        (ChildStarted(name="worker-1", pid=8, is_restart=True), "worker-1 is back (pid 8)"),
        (
            BatchEnded(
                worker="worker-1", pid=7, queue=Priority.LOW, bodies=('{"job": "j"}',), crash="x"
            ),
            "worker-1 held j, to be received again",
        ),
        (QueueFailed(operation="delete", reason="gone"), "SQS: delete failed: gone"),
        (Ticked(name="s", at=NOW, request_id="r", took_seconds=1, error="no"), "a tick failed"),
        (
            Logged(name="w", sentence="Lost.", is_warning=True, fields={"job_id": "j"}),
            "w: Lost. j",
        ),
        (Printed(name="worker-1", line="[bold]Hello"), "worker-1: [bold]Hello"),
    ],
)
def test_what_happens_on_the_way_is_said(news: News, text: str) -> None:
    assert text in printed(lambda console: DemoScreen(console).heard(news))


@pytest.mark.parametrize(
    "news",
    [
        ChildStarted(name="worker-1", pid=8),
        BatchBegun(worker="w", pid=7, queue=Priority.LOW, bodies=()),
        Measured(name="w", values={}),
    ],
)
def test_the_rest_is_kept_for_the_report(news: News) -> None:
    assert printed(lambda console: DemoScreen(console).heard(news)) == ""
