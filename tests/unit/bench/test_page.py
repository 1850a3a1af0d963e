"""The page of the benchmarks: what it says of given results, and that nobody edits it by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bench import kept
from bench.catalogue import BENCHMARKS, NAMES
from bench.page import MINUTES_IN_ALL, page, plot_file, plot_files, whole_run

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "performance.md"
PLOT = {"name": "rate", "kind": "line", "title": "Jobs a second", "series": {}}


def result(name: str = "dispatch", **fields: Any) -> dict[str, Any]:
    return {
        "benchmark": name,
        "at": "2026-11-21T10:00:00+00:00",
        "python": "3.11.7",
        "cores": 2,
        "system": "Linux x86_64",
        "seconds": 12.4,
        "asks": "How fast is it?",
        "columns": ["way", "jobs a second", "remark"],
        "rows": [["the plain loop", 1234.5, "a|b"], ["ours", 12345, ""]],
        "must": [target()],
        "notes": ["On loopback."],
        "plots": [PLOT],
        "ok": True,
        **fields,
    }


def target(*, ok: bool = True, what: str = "times the plain loop") -> dict[str, Any]:
    return {"what": what, "needed": "≥ 8", "reached": "10.1" if ok else "7.9", "ok": ok}


def test_the_page_in_the_repository_is_what_its_results_render() -> None:
    assert PAGE.read_text() == page(kept.read()), "run `python -m bench page`"


def test_the_plots_in_the_repository_are_those_of_its_results() -> None:
    there = {file.name for file in (ROOT / "docs" / "performance").glob("*")}
    assert there == plot_files(kept.read()).keys()


def test_each_link_to_a_section_leads_to_one() -> None:
    text = page([result(one.name) for one in BENCHMARKS])
    headings = [
        re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-")
        for heading in re.findall(r"^## (.+)$", text, re.M)
    ]
    links = re.findall(r"\]\(#([^)]+)\)", text)
    assert len(links) == len(BENCHMARKS)
    assert set(links) <= set(headings)
    assert len(headings) == len(set(headings))


def test_all_targets_stand_above_what_is_simulated_and_this_above_the_sections() -> None:
    text = page([result()])
    row = "| times the plain loop | ≥ 8 | 10.1 | yes | [dispatch](#dispatch-engine) |"
    places = [text.index(part) for part in (row, "## What is simulated", "## Dispatch engine")]
    assert places == sorted(places)


def test_a_section_has_its_question_command_table_plot_and_notes() -> None:
    section = page([result()]).split("## Dispatch engine")[1]
    assert section == (
        "\n\nHow fast is it?\n\n`make bench ONLY=dispatch` (2026-11-21, 12 s)\n\n"
        "| way | jobs a second | remark |\n| --- | ---: | --- |\n"
        "| the plain loop | 1,234 | a\\|b |\n| ours | 12,345 |  |\n\n"
        "![Jobs a second](performance/dispatch-rate.png)\n\n- On loopback.\n"
    )


def test_a_missed_target_is_told_on_top_and_in_its_row() -> None:
    text = page([result(must=[target(), target(ok=False, what="two processes")])])
    assert "**1 of 2 targets are reached. Missed: two processes.**" in text
    assert "| two processes | ≥ 8 | 7.9 | **no** |" in text
    assert "**All 1 targets are reached.**" in page([result()])


def test_an_old_result_is_shown_as_far_as_it_goes() -> None:
    old = {
        "benchmark": "item-size",
        "at": "2026-11-20T10:00:00+00:00",
        "python": "3.11.7",
        "columns": ["after", "bytes"],
        "rows": [["submitted", 431]],
        "ok": False,
    }
    text = page([old])
    assert "Missed: Bytes of a small job." in text
    assert "`make bench ONLY=item-size` (2026-11-20)\n\n| after | bytes |" in text
    assert "Run on 2026-11-20, on Python 3.11.7." in text


def test_the_page_names_the_commit_of_each_benchmark() -> None:
    text = page([result(commit="abc1234, nothing changed"), result("cost", commit="def5678")])
    assert ", commit abc1234, nothing changed)\n" in text
    assert "(commit abc1234, nothing changed; def5678)." in text


def test_it_is_told_on_what_and_when_they_ran_and_what_did_not() -> None:
    text = page([result(), result("cost", at="2026-11-22T10:00:00+00:00", python="3.12.1")])
    ran = "Run from 2026-11-21 to 2026-11-22, on 2 cores (Linux x86_64), Python 3.11.7, Python 3.12"
    assert ran in text
    assert "There is no result for hot-path, write-units" in text


@pytest.mark.parametrize(("seconds_below", "ok"), [(1, True), (0, False)])
def test_all_of_them_together_have_a_limit(seconds_below: float, ok: bool) -> None:
    [*others, last] = NAMES
    everything = [result(name, seconds=30) for name in others]
    rest = MINUTES_IN_ALL * 60 - 30 * len(others)
    everything.append(result(last, seconds=rest - seconds_below))
    [judged] = whole_run(everything)
    assert judged["ok"] == ok
    assert judged["reached"] in page(everything)
    assert whole_run(everything[1:]) == []


@pytest.mark.parametrize(
    ("plot", "file"),
    [("rate", "cost-rate.png"), ("cost-rate", "cost-rate.png"), ("p99 / s", "cost-p99-s.png")],
)
def test_a_plot_has_a_file_that_names_its_benchmark(plot: str, file: str) -> None:
    assert plot_file("cost", plot) == file


def test_what_is_kept_is_read_again_in_the_order_of_the_page(tmp_path: Path) -> None:
    given = {"columns": ["a"], "rows": [["x"], [1.5]], "ok": True, "more": {"a": {"b": {}}}}
    for name in ("zz-gone", "peers", "dispatch"):
        kept.keep(name, given, seconds=1.23, folder=tmp_path)
    results = kept.read(tmp_path)
    assert [one["benchmark"] for one in results] == ["dispatch", "peers", "zz-gone"]
    assert results[0].items() >= {**given, "seconds": 1.2}.items()
    assert {"at", "commit", "python", "cores", "system", "command"} <= results[0].keys()


def test_a_kept_row_has_one_line_and_so_has_a_series(tmp_path: Path) -> None:
    points = [[number, number / 7] for number in range(100)]
    plot = {**PLOT, "series": {"ours": points}}
    rows = [["a row of the table", number] for number in range(10)]
    kept.keep("peers", {"rows": rows, "plots": [plot]}, seconds=1, folder=tmp_path)
    lines = (tmp_path / "peers.json").read_text().splitlines()
    assert '    ["a row of the table", 1],' in lines
    assert sum('"ours": [[0, 0.0]' in line for line in lines) == 1
    assert max(map(len, lines)) > 1000
