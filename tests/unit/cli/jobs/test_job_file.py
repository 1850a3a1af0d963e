"""A file of jobs is read line by line, each line has its own ID, and failures are kept."""

from __future__ import annotations

import io
import json
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hourhand.cli.exits import FAILED, CommandError
from hourhand.cli.jobs.job_file import (
    MAX_LINE_BYTES,
    FailuresFile,
    FileLine,
    LineProblem,
    job_of,
    read_lines,
)


def line(text: str, number: int = 1) -> FileLine:
    return FileLine(number, text.encode(), len(text))


def job(text: str, number: int = 1, run: str = "run", **defaults: Any) -> dict[str, Any]:
    return job_of(line(text, number), run, defaults)


def test_lines_are_numbered_as_an_editor_does_and_blank_ones_left_out() -> None:
    source = io.BytesIO(b'\xef\xbb\xbf{"handler": "a"}\r\n\n   \n{"handler": "b"}')
    lines = list(read_lines(source))
    assert [(each.number, json.loads(each.text)["handler"]) for each in lines] == [
        (1, "a"),
        (4, "b"),
    ]
    assert lines[-1].end == source.tell()


def test_the_same_line_in_the_same_run_is_the_same_job_and_in_another_run_another() -> None:
    text = '{"handler": "a", "payload": [1]}'
    assert job(text)["id"] == job(text)["id"]
    assert len({job(text)["id"], job(text, number=2)["id"], job(text, run="other")["id"]}) == 3


def test_a_corrected_line_is_another_job_but_not_one_whose_fields_changed_places() -> None:
    first = job('{"handler": "a", "payload": 1}')["id"]
    assert job('{"handler": "a", "payload": 2}')["id"] != first
    assert job('{"payload": 1,  "handler": "a"}')["id"] == first


def test_a_name_of_its_own_is_kept() -> None:
    assert job('{"handler": "a", "id": "mine"}')["id"] == "mine"
    assert "id" not in job('{"handler": "a", "idempotency_key": "k"}')


def test_what_a_line_lacks_is_taken_from_the_flags_but_not_a_second_time_to_run() -> None:
    text = '{"handler": "a", "run_at": "2027-01-01T00:00:00Z"}'
    found = job(text, handler="b", delay=5.0, priority="low")
    assert (found["handler"], found["priority"]) == ("a", "low")
    assert "delay" not in found


def test_a_line_of_a_file_of_failures_is_the_job_in_it() -> None:
    found = job('{"line": 7, "reason": "...", "job": {"handler": "a", "id": "run-7-x"}}')
    assert (found["handler"], found["id"]) == ("a", "run-7-x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"handler": ', "is not valid JSON"),
        ("handler,payload", "is not valid JSON"),
        ('"send-welcome"', "must be an object"),
        ("[" * 100_000, "is not valid JSON"),
        ("\x1b[2J", "is not valid JSON"),
    ],
)
def test_a_line_that_is_no_job_says_why(text: str, said: str) -> None:
    with pytest.raises(LineProblem, match=said):
        job(text)


def test_a_line_without_an_end_is_cut_and_takes_no_more_memory_than_that() -> None:
    class Endless(io.RawIOBase):
        left = 40 * MAX_LINE_BYTES

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            size = min(len(buffer), self.left)
            buffer[:size] = b"x" * size
            self.left -= size
            return size

    tracemalloc.start()
    lines = list(read_lines(io.BufferedReader(Endless())))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [len(each.text) for each in lines] == [MAX_LINE_BYTES]
    assert peak_bytes < 5 * MAX_LINE_BYTES
    with pytest.raises(LineProblem, match="is longer than 8,000,000 bytes"):
        job_of(lines[0], "run", {})


# --- the file of rejected lines ---


def kept(failures: FailuresFile) -> list[Any]:
    return [json.loads(text) for text in failures.path.read_text().splitlines()]


def test_without_a_failure_there_is_no_file(tmp_path: Path) -> None:
    failures = FailuresFile(tmp_path / "failed", is_continued=False)
    failures.close()
    assert not failures.path.exists()


def test_each_failure_is_in_the_file_at_once(tmp_path: Path) -> None:
    failures = FailuresFile(tmp_path / "failed", is_continued=False)
    failures.add(line("", 7), "why", {"handler": "x", "run_at": datetime(2026, 1, 1, tzinfo=UTC)})
    job = {"handler": "x", "run_at": "2026-01-01T00:00:00+00:00"}
    assert kept(failures) == [{"line": 7, "reason": "why", "job": job}]
    failures.close()


def test_a_line_that_is_not_text_is_kept_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    failures = FailuresFile(tmp_path / "failed", is_continued=False)
    failures.add(FileLine(1, b'\xff\xfe{"handler"\n', 12), "why", None)
    assert kept(failures) == [{"line": 1, "reason": "why", "text": '\ufffd\ufffd{"handler"'}]
    failures.close()


def test_a_new_submission_starts_a_new_file_and_a_continued_one_adds(tmp_path: Path) -> None:
    for is_continued, lines in ((False, 1), (True, 2), (False, 1)):
        failures = FailuresFile(tmp_path / "failed", is_continued=is_continued)
        failures.add(line(""), "why", None)
        failures.close()
        assert len(kept(failures)) == lines


def test_a_file_that_cannot_be_written_stops_it_with_a_sentence(tmp_path: Path) -> None:
    failures = FailuresFile(tmp_path / "no" / "such" / "folder", is_continued=False)
    with pytest.raises(CommandError, match="cannot be written: ") as raised:
        failures.add(line(""), "why", None)
    assert raised.value.exit_code == FAILED
