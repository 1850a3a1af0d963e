"""Tests as killers: of `tests/crash`, or of the contract suite over moto, each in this process.

A killer's name is that of a test, with all its cases and without its first word: ``crash: keys, a
zombie under a key records no result`` is `test_a_zombie_under_a_key_records_no_result` of
`tests/crash/test_keys.py`. Where the name of one of the contract suite ends in ``, in part``, the
services do only a part of each batch, as the real ones may.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[2] / "tests"
IN_PART = ", in part"
DONE_OF_A_BATCH = 10
"""How many items of a read in part are given: the rest is for the next try."""

_OPTIONS = ("-xq", "-pno:cacheprovider", "-pno:schemathesis", "-oaddopts=--import-mode=importlib")


def crash_killer(what: str) -> Callable[[], None]:
    """Return the killer of that name, without ``crash:``. Raises `KeyError` if there is none."""
    return partial(_run, *_place("crash", what))


def contract_killer(what: str) -> Callable[[], None]:
    """Return the killer of that name, without ``contract:``. Raises `KeyError` if there is none."""
    file, test = _place("contract", what.removesuffix(IN_PART))
    plugins = [_InPart()] if what.endswith(IN_PART) else []
    return partial(_run, file, f"{test} and moto", *plugins)


def _place(folder: str, what: str) -> tuple[Path, str]:
    module, _, told = what.partition(", ")
    file, test = TESTS / folder / f"test_{module}.py", f"test_{told.replace(' ', '_')}"
    if not file.is_file() or f" {test}(" not in file.read_text():
        raise KeyError(f"{folder}: {what}")
    return file, test


class _FirstError:
    """A plugin of pytest that keeps the first error of a test."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def pytest_exception_interact(self, call: pytest.CallInfo[Any]) -> None:
        if self.error is None and call.excinfo is not None:
            self.error = call.excinfo.value


def _run(file: Path, tests: str, *plugins: object) -> None:
    first = _FirstError()
    with redirect_stdout(io.StringIO()) as told:
        code = pytest.main([*_OPTIONS, "-k", tests, str(file)], plugins=[first, *plugins])
    if first.error is not None:
        try:
            raise first.error
        except pytest.fail.Exception as failed:
            raise AssertionError(str(failed)) from failed
    if code is not pytest.ExitCode.OK:
        raise RuntimeError(told.getvalue())


# --- services that do a part of a batch ---


class _InPart:
    """A plugin of pytest that lets the contract suite's services do a part of each batch."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        (suite,) = (p for p in session.config.pluginmanager.get_plugins() if hasattr(p, "MAKERS"))
        whole = suite.MAKERS["moto"]

        @contextmanager
        def services() -> Iterator[Any]:
            with whole() as aws:
                yield _in_part(aws)

        suite.MAKERS["moto"] = services
        session.config.add_cleanup(lambda: suite.MAKERS.update(moto=whole))


class _Instead:
    """A client with one call in the place of its own."""

    def __init__(self, client: Any, **calls: Callable[..., Any]) -> None:
        self._client = client
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return self._calls.get(name) or getattr(self._client, name)


def _in_part(aws: Any) -> Any:
    return replace(
        aws,
        dynamodb=_Instead(aws.dynamodb, batch_get_item=partial(_read_some, aws.dynamodb)),
        sqs=_Instead(aws.sqs, send_message_batch=partial(_send_all_but_one, aws.sqs)),
    )


def _read_some(client: Any, **given: Any) -> Any:
    """Read half of the keys, once they are many, and hand the others back."""
    ((table, request),) = given["RequestItems"].items()
    keys = request["Keys"]
    count = max(DONE_OF_A_BATCH, len(keys) // 2)
    answer = client.batch_get_item(RequestItems={table: {**request, "Keys": keys[:count]}})
    left = {table: {**request, "Keys": keys[count:]}} if keys[count:] else {}
    return {**answer, "UnprocessedKeys": left}


def _send_all_but_one(client: Any, **given: Any) -> Any:
    """Send a batch without its first message, and say that it failed."""
    first, *others = given["Entries"]
    failed = [{"Id": first["Id"], "Code": "InternalError", "SenderFault": False}]
    if not others:
        return {"Successful": [], "Failed": failed}
    answer = client.send_message_batch(QueueUrl=given["QueueUrl"], Entries=others)
    return {**answer, "Failed": [*answer.get("Failed", []), *failed]}
