"""What completion shows after ``ctx.``: only what a handler may use, and what it means."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from hourhand import JobContext, RunContext
from hourhand import handlers as package

OF_A_JOB = {
    *("attempt", "cancelled", "cursor", "deadline", "idempotency_key", "job_id", "last_error"),
    *("last_progress", "limit", "logger", "lost", "max_attempts", "occurrence", "progress"),
    *("remaining_seconds", "run_at", "tags", "tenant", "trace_id"),
}
OF_A_RUN = {
    *("branch", "callback", "gather", "iterate", "map", "now", "restart", "sleep", "sleep_until"),
    *("step", "step_key", "submit", "submit_and_wait", "suspending", "uuid", "version", "wait_for"),
}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_a_context_shows_what_a_handler_may_use() -> None:
    assert public(JobContext) == OF_A_JOB
    assert public(RunContext) == OF_A_JOB | OF_A_RUN


@pytest.mark.parametrize("kind", [JobContext, RunContext])
def test_each_name_of_a_context_says_what_it_means(kind: type) -> None:
    fields = {name for name, hint in inspect.get_annotations(JobContext).items()}
    unsaid = {
        name for name in public(kind) if not (name in fields or inspect.getdoc(getattr(kind, name)))
    }
    in_text = {name for name in fields if f"``{name}``" in (JobContext.__doc__ or "")}

    assert unsaid == set()
    assert {name for name in fields if not name.startswith("_")} == in_text


def test_the_context_of_a_run_is_one_class() -> None:
    assert RunContext.__mro__[1:] == (JobContext, object)


def test_the_modules_of_handlers_import_each_other_in_no_circle() -> None:
    folder = Path(package.__file__).parent
    left = {path.stem: _imported(path) for path in folder.glob("*.py") if path.stem != "__init__"}
    while free := {name for name, needs in left.items() if not needs & left.keys()}:
        left = {name: needs for name, needs in left.items() if name not in free}

    assert left == {}


def _imported(path: Path) -> set[str]:
    """Return the modules of the package that a module imports, those for types included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package.__name__):
            inner = (node.module or "").removeprefix(package.__name__).strip(".")
            found |= {inner} if inner else {each.name for each in node.names}
    return found
