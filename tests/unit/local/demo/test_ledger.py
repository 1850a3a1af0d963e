"""What the handlers noted, and whether two runs of a job were under way at once."""

from __future__ import annotations

import json

import pytest

from hourhand.local.demo.ledger import Run, overlapping_jobs, read_runs


def line(what: str, job: str, at: float, *, attempt: int = 1, pid: int = 1) -> str:
    return json.dumps({"what": what, "job": job, "attempt": attempt, "pid": pid, "at": at})


def run(job: str, began: float, ended: float | None) -> Run:
    return Run(job_id=job, attempt=1, pid=1, began_at=began, ended_at=ended)


def test_runs_are_read_as_they_began_whatever_order_they_ended_in() -> None:
    lines = [
        line("begin", "a", 1.0),
        line("begin", "b", 2.0, pid=2),
        line("end", "b", 3.0, pid=2),
        line("end", "a", 4.0),
        line("begin", "a", 5.0, attempt=2),
        line("end", "a", 6.0, attempt=2),
    ]
    runs = read_runs(lines, {})
    assert [(r.job_id, r.attempt, r.began_at, r.ended_at) for r in runs] == [
        ("a", 1, 1.0, 4.0),
        ("b", 1, 2.0, 3.0),
        ("a", 2, 5.0, 6.0),
    ]


def test_a_run_without_an_end_ended_with_its_process() -> None:
    [only] = read_runs([line("begin", "a", 1.0, pid=7)], {7: 2.5})
    assert only.ended_at == 2.5


def test_a_run_of_which_no_end_is_known_has_none() -> None:
    [only] = read_runs([line("begin", "a", 1.0, pid=7)], {})
    assert only.ended_at is None


@pytest.mark.parametrize(
    "second",
    [(2.0, 3.0), (1.5, 9.0), (1.0, 1.2)],
    ids=["beginning before the first ended", "outliving it", "within it"],
)
def test_two_runs_of_a_job_at_once_are_found(second: tuple[float, float]) -> None:
    runs = [run("a", 1.0, 2.5), run("a", *second), run("b", 1.0, 9.0)]
    assert overlapping_jobs(runs) == ["a"]


def test_runs_one_after_the_other_do_not_overlap() -> None:
    runs = [run("a", 3.0, 4.0), run("a", 1.0, 3.0), run("b", 1.0, 9.0)]
    assert overlapping_jobs(runs) == []


def test_a_run_that_may_still_be_under_way_overlaps_the_next() -> None:
    assert overlapping_jobs([run("a", 1.0, None), run("a", 5.0, 6.0)]) == ["a"]
    assert overlapping_jobs([run("a", 1.0, 2.0), run("a", 5.0, None)]) == []
