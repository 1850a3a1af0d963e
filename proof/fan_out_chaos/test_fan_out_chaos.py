"""A few fan-outs under kills and purges, and the rules that judge them.

The whole: ``python -m proof.fan_out_chaos``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proof.fan_out_chaos.__main__ import QUICK, play
from proof.fan_out_chaos.fan_outs import FanOut, Kind, fan_outs
from proof.fan_out_chaos.rules import Line, Seen, read_ledger, repeated, violations

BATCH, FAILING = (FanOut(run="fan-0", kind=kind, children=3) for kind in (Kind.BATCH, Kind.FAILING))


@pytest.mark.timeout(400)  # about 20 s on two free cores, and many times that on busy ones
def test_each_callback_succeeds_once_where_processes_are_killed(tmp_path: Path) -> None:
    findings = play(QUICK, tmp_path)
    assert findings.violations == []
    counted = {figure.name: figure.value for figure in findings.figures}
    assert counted["ends that the runs counted"] == str(QUICK.fan_outs * QUICK.children)


def ran(what: str, name: str, job_id: str | None = None) -> Line:
    return Line(what, "fan-0", name, job_id or f"c.{what}-{name}")


def callback(status: str = "SUCCEEDED", *outcomes: str) -> dict[str, Any]:
    attempts = [{"outcome": outcome} for outcome in outcomes or ("SUCCEEDED",)]
    return {"status": status, "attempts": attempts}


def held(fan_out: FanOut) -> Seen:
    """Return a fan-out of which everything holds."""
    children = [ran("child", str(n)) for n in range(fan_out.children)]
    return Seen(
        fan_out,
        job={"status": fan_out.status, "result": fan_out.result},
        ends={str(n): int(n in fan_out.failing) for n in range(fan_out.children)},
        callbacks={name: callback() for name in fan_out.callbacks},
        lines=[*children, *(ran("callback", name) for name in sorted(fan_out.callbacks))],
    )


@pytest.mark.parametrize("fan_out", fan_outs(len(Kind), 3))
def test_nothing_is_said_of_a_fan_out_that_holds(fan_out: FanOut) -> None:
    assert violations(held(replace(fan_out, run="fan-0"))) == []


LINES = list(held(BATCH).lines)
COMPLETE, SUCCESS = LINES[3:]
TWICE = {"on_complete": callback(), "on_success": callback("SUCCEEDED", "SUCCEEDED", "SUCCEEDED")}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"job": {"status": "RUNNING"}}, "the run is RUNNING, not SUCCEEDED"),
        ({"job": {"status": "SUCCEEDED", "result": {"total": 2}}}, "the run returned"),
        ({"ends": {"0": 0, "2": 0}}, "counts 2 ends of 3 children; wrong: ['1']"),
        ({"ends": {"0": 0, "1": 0, "2": 0, "3": 0}}, "unknown: ['3']"),
        ({"ends": {"0": 0, "1": 1, "2": 0}}, "wrong: ['1']"),
        ({"lines": [*LINES[1:3], *LINES[3:]]}, "1 children never ran: ['0']"),
        ({"lines": [ran("child", "0", "other"), *LINES]}, "1 children exist more than once"),
        ({"lines": LINES[:4]}, "the callback on_success is lost"),
        ({"lines": [*LINES, ran("callback", "on_failure")]}, "on_failure ran, and must not"),
        ({"lines": [*LINES, ran("callback", "on_success", "other")]}, "on_success exists 2 times"),
        ({"callbacks": {"on_success": callback("DEAD", "FAILED")}}, "succeeded 0 times"),
        ({"callbacks": TWICE}, "on_success is SUCCEEDED, and succeeded 2 times"),
        ({"lines": [*LINES[:2], COMPLETE, LINES[2], SUCCESS]}, "on_complete ran before 1 children"),
    ],
)
def test_each_rule_is_seen_when_it_is_broken(change: dict[str, Any], told: str) -> None:
    found = violations(replace(held(BATCH), **change))
    assert any(told in one for one in found), found
    assert all(one.startswith("fan-0 (batch): ") for one in found)


def test_the_callback_of_a_failure_may_come_early() -> None:
    seen = held(FAILING)
    early = [ran("callback", "on_failure"), *(x for x in seen.lines if x.name != "on_failure")]
    assert violations(replace(seen, lines=early)) == []


def test_the_ledger_is_read_by_run_and_repeats_are_counted() -> None:
    found = read_ledger("child fan-0 7 c.a\nchild fan-1 7 c.b\nchild fan-0 7 c.a\n")
    assert found["fan-0"] == [Line("child", "fan-0", "7", "c.a")] * 2
    assert (repeated(found["fan-0"], "child"), repeated(found["fan-1"], "child")) == (1, 0)
    assert repeated(found["fan-0"], "callback") == 0
