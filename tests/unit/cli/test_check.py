"""``hourhand check``: what it finds in the body of a durable handler, and what it leaves alone."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hourhand.cli.check.rules import check_source
from hourhand.cli.main import app

HEAD = """
import asyncio, os, random, time
import datetime as dt
import urllib.parse
from datetime import datetime
from uuid import uuid4 as new_id

import requests
from hourhand import RunContext, job


@job("order", durable=True)
def order(ctx, payload):
"""


def found(body: str) -> list[str]:
    """Return the messages for a handler with this body, the shortest form of each."""
    return [one.message for one in check_source(HEAD + textwrap.indent(body, "    "))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("now = time.time()", "time.time() reads a clock. Use ctx.now(), or read it in a step."),
        ("now = datetime.now()", "datetime.datetime.now() reads a clock"),
        ("now = dt.date.today()", "datetime.date.today() reads a clock"),
        ("time.sleep(5)", "time.sleep() holds the worker"),
        ("ctx.step('a', pay, compensate=undo)", "counts as without effect if it raises"),
        ("n = random.randint(1, 6)", "random.randint() differs in every replay. Use ctx.uuid"),
        ("key = new_id()", "uuid.uuid4() differs in every replay"),
        ("mode = os.environ['MODE']", "os.environ may differ after a deployment"),
        ("mode = os.getenv('MODE')", "os.getenv() may differ after a deployment"),
        ("rate = requests.get(URL).json()", "requests.get() calls something outside"),
        ("text = open('x').read()", "open() calls something outside"),
        ("done = await asyncio.wait(tasks)", "asyncio.wait() lets the call that ends first decide"),
        ("for one in asyncio.as_completed(tasks): pass", "Use ctx.gather(..., mode="),
        ("x = await asyncio.wait_for(task, 5)", "asyncio.wait_for() cancels calls by a clock"),
        ("async with asyncio.timeout(5): pass", "asyncio.timeout() cancels calls by a clock"),
        ("if hash(payload) % 2: pass", "hash() differs between processes"),
        ("for x in set(payload): pass", "iterates over a set"),
        ("names = [x for x in {1, 2}]", "iterates over a set"),
        ("try: ctx.step('a', f)\nexcept BaseException: pass", "also catches the suspension"),
        ("try: ctx.step('a', f)\nexcept: pass", "also catches the suspension"),
        ("ctx.step('a', f, time.time())", "time.time() reads a clock"),
        ("for row in ctx.iterate('r', rows):\n    if row: break", "leaves the rows of ctx.iter"),
        ("ctx.iterate('r', rows)", "ctx.iterate() does nothing until a loop goes through it"),
        (
            "for row in ctx.iterate('r', rows):\n  try: f()\n  except ValueError: return row",
            "leaves the rows of ctx.iterate early",
        ),
    ],
)
def test_what_a_replay_may_answer_otherwise_is_found(line: str, message: str) -> None:
    [only] = found(line)
    assert message in only


@pytest.mark.parametrize(
    "line",
    [
        "rate = ctx.step('rate', requests.get, URL)",
        "rate = ctx.step('rate', lambda: requests.get(URL).json())",
        "def draw(): return random.random()\nn = ctx.step('n', draw)",
        "ctx.step('a', pay, compensate=undo, effect_unknown=())",
        "ctx.step('a', pay, compensate=undo, **options)",
        "now = ctx.now()",
        "url = urllib.parse.quote(payload)",
        "for x in sorted(set(payload)): pass",
        "try: ctx.step('a', f)\nexcept Exception: pass",
        "requests = payload['requests']\nfor one in requests: one.send()",
        "now = time.time()  # hourhand: ok",
        "name = payload.name()",
        "for row in ctx.iterate('r', rows):\n    for x in row:\n        if x: break",
        "for row in ctx.iterate('r', rows):\n    def f(): return row\n    ctx.step('a', f)",
        "for row in rows:\n    if row: break",
    ],
)
def test_steps_and_what_is_the_same_in_each_replay_are_left_alone(line: str) -> None:
    assert found(line) == []


@pytest.mark.parametrize(
    ("lines", "call"),
    [
        ("ctx.step('a', f)", "ctx.step"),
        ("ctx.branch('left').sleep('rest', 5)", "ctx.branch('left').sleep"),
        ("left = ctx.branch('left')\nleft.submit('child')", "left.submit"),
        ("if ctx.version('x'): pass", "ctx.version"),
        ("if ctx.version('x') >= 1: pass", "ctx.version"),
        ("if not ctx.version('x'): pass", "ctx.version"),
        ("while payload and ctx.version('x'): pass", "ctx.version"),
        ("ctx.restart()", "ctx.restart"),
        ("ctx.limit('bank').take_async()", "ctx.limit('bank').take_async"),
        ("async def local():\n    ctx.now()\nawait local()", "ctx.now"),
        ("async def local(one: RunContext):\n    one.now()\nawait local(ctx)", "one.now"),
    ],
)
def test_a_call_that_an_async_handler_does_not_await_is_found(lines: str, call: str) -> None:
    source = HEAD.replace("def order", "async def order") + textwrap.indent(lines, "    ")
    [only] = check_source(source)
    assert only.message.startswith(f"{call}() is not awaited: it does not run")
    if "local" not in lines:
        assert found(lines) == []


@pytest.mark.parametrize(
    "lines",
    [
        "await ctx.step('a', f)",
        "later = ctx.step('a', f)\nawait later",
        "if await ctx.version('x') >= 1: pass",
        "await asyncio.gather(ctx.step('a', f), ctx.step('b', f))",
        "payload.submit()",
        "async for row in ctx.iterate('r', rows): pass",
        "await ctx.limit('bank').take_async()",
        "if payload == 1: pass",
        "ctx.progress(1, 2)",
    ],
)
def test_what_an_async_handler_awaits_is_left_alone(lines: str) -> None:
    source = HEAD.replace("def order", "async def order") + textwrap.indent(lines, "    ")
    assert check_source(source) == []


def test_functions_of_the_file_that_the_body_calls_are_checked_too() -> None:
    source = """
    import time
    import hourhand

    def age(order):
        return inner(order)

    def inner(order):
        return age(order) + time.time()

    def unused():
        return time.time()

    @hourhand.job("order", durable=True)
    async def order(ctx, payload):
        def local():
            return time.monotonic()
        return age(payload), local()

    @hourhand.job("plain")
    def plain(ctx, payload):
        return time.time()

    @hourhand.job("other", durable=False)
    def other(ctx, payload):
        return time.time()
    """
    findings = check_source(textwrap.dedent(source))
    assert [(one.line, one.handler) for one in findings] == [(9, "order"), (17, "order")]


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_the_command_prints_each_finding_and_ends_with_1(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    file = tmp_path / "jobs" / "orders.py"
    file.write_text(HEAD + "    return time.time()\n")
    ran = run(tmp_path)
    assert ran.exit_code == 1
    assert ran.stdout == (
        f"{file}:14:12: order: time.time() reads a clock. Use ctx.now(), or read it in a step.\n"
    )
    assert "1 file checked: 1 finding." in ran.stderr
    ran = run(file, "--json")
    assert (ran.exit_code, json.loads(ran.stdout)["line"]) == (1, 14)


def test_without_a_path_the_handlers_of_the_project_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run()
    assert ran.exit_code == 2
    assert "Give a path, or name the handlers in pyproject.toml" in ran.stderr
    (tmp_path / "pyproject.toml").write_text('[tool.hourhand]\nhandlers = "jobs"\n')
    (tmp_path / "jobs.py").write_text(HEAD + "    return 1\n")
    ran = run()
    assert ran.exit_code == 0
    assert "1 file checked: no findings." in ran.stderr


def test_what_is_no_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text("def (:\n")
    ran = run(tmp_path)
    assert (ran.exit_code, "cannot be read as Python" in ran.stderr) == (2, True)
    ran = run(tmp_path / "absent.py")
    assert (ran.exit_code, "There is no file or folder" in ran.stderr) == (2, True)


def test_more_files_than_a_project_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hourhand.cli.check.command.MAX_FILES", 1)
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("")
    ran = run(tmp_path)
    assert (ran.exit_code, "name the folder with the handlers" in ran.stderr) == (2, True)
