"""The crash tests as killers: a test of `tests/crash` with each of its cases, in this process.

A killer's name is that of a test without its first word: ``crash: keys, a zombie under a key
records no result`` is `tests.crash.test_keys.test_a_zombie_under_a_key_records_no_result`.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import pytest

_CRASH = Path(__file__).parents[2] / "tests" / "crash"
_OPTIONS = ("--noconftest", "-xq", "-pno:cacheprovider", "-pno:schemathesis", "-o")
_ADDOPTS = "addopts=--import-mode=importlib"


def crash_killer(what: str) -> Callable[[], None]:
    """Return the killer of that name, without ``crash:``. It raises `KeyError` if there is none."""
    module, _, told = what.partition(", ")
    return partial(_run, f"test_{module}.py", f"test_{told.replace(' ', '_')}")


class _FirstError:
    """A plugin of pytest that keeps the first error of a test."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def pytest_exception_interact(self, call: pytest.CallInfo[Any]) -> None:
        if self.error is None and call.excinfo is not None:
            self.error = call.excinfo.value


def _run(module: str, test: str) -> None:
    first = _FirstError()
    with redirect_stdout(io.StringIO()) as told:
        options = [*_OPTIONS, _ADDOPTS, "-k", test, str(_CRASH / module)]
        code = pytest.main(options, plugins=[first])
    if first.error is not None:
        try:
            raise first.error
        except pytest.fail.Exception as failed:
            raise AssertionError(str(failed)) from failed
    if code is pytest.ExitCode.NO_TESTS_COLLECTED:
        raise KeyError(test)
    if code is not pytest.ExitCode.OK:
        raise RuntimeError(told.getvalue())
