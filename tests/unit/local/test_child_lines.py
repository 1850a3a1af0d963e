"""The conversation with a worker process, and how long a dead one is waited for."""

from __future__ import annotations

import io
import json
import subprocess
import sys

from hourhand.local.child_lines import read_lines, write_line
from hourhand.local.process_slot import RestartDelay

CHILD = """
import os, subprocess, sys
from hourhand.local.child_lines import take_over_streams, write_line, read_lines
requests, replies = take_over_streams()
print("printed by user code")
os.write(1, b"written by a C library\\n")
subprocess.run([sys.executable, "-c", "print('by a subprocess')"], check=True)
print("stdin says", repr(sys.stdin.read()))
for request in read_lines(requests):
    write_line(replies, {"echo": request["say"]})
"""


def test_what_user_code_prints_does_not_run_into_the_replies() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CHILD],
        input='{"say": "one"}\n{"say": "zwölf \\u2028"}\n',
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert [json.loads(line) for line in ran.stdout.split("\n") if line] == [
        {"echo": "one"},
        {"echo": "zwölf \u2028"},
    ]
    assert "printed by user code\n" in ran.stderr
    assert "written by a C library\n" in ran.stderr
    assert "by a subprocess\n" in ran.stderr


def test_user_code_finds_standard_input_at_its_end() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CHILD],
        input='{"say": "not for you"}\n',
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert "stdin says ''\n" in ran.stderr


def test_a_line_cut_off_by_death_ends_the_conversation() -> None:
    stream = io.StringIO('{"whole": 1}\n{"cut o')
    assert list(read_lines(stream)) == [{"whole": 1}]


def test_a_message_is_one_line_whatever_it_holds() -> None:
    stream = io.StringIO()
    write_line(stream, {"text": "two\nlines"})
    assert stream.getvalue().count("\n") == 1
    stream.seek(0)
    assert list(read_lines(stream)) == [{"text": "two\nlines"}]


def test_each_death_in_a_row_is_followed_by_a_longer_wait_up_to_a_bound() -> None:
    delay = RestartDelay(first_seconds=0.1, most_seconds=1.0)
    waits = [delay.after_death(was_useful=False) for _ in range(6)]
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_a_child_that_did_some_work_is_replaced_as_quickly_as_the_first() -> None:
    delay = RestartDelay(first_seconds=0.1, most_seconds=1.0)
    for _ in range(5):
        delay.after_death(was_useful=False)
    assert delay.after_death(was_useful=True) == 0.1
    assert delay.after_death(was_useful=False) == 0.2
