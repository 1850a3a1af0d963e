"""A deployment's handlers are imported by the name of their module, or the reason is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hourhand.handlers import HandlersNotLoaded, Registry, default_registry, load_handlers

Write = Callable[[str, str], None]


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def write_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry
) -> Iterator[Write]:
    """Write a module that finds ``registry`` and ``job`` without importing anything."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    (tmp_path / "given.py").write_text(
        "import functools\nimport hourhand\n\nregistry = None\n\n\n"
        "def job(name):\n    return hourhand.job(name, registry=registry)\n"
    )
    import given  # type: ignore[import-not-found]  # noqa: PLC0415 - it exists only now

    given.registry = registry

    def write(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(f"from given import job\n\n{text}\n")

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


GOOD = "@job('good')\ndef good(ctx):\n    return 1"


def test_a_module_registers_its_handlers(write_module: Write, registry: Registry) -> None:
    write_module("mine", GOOD)

    assert load_handlers("mine", registry) is registry
    assert "good" in registry


def test_loading_again_changes_nothing(write_module: Write, registry: Registry) -> None:
    write_module("mine", GOOD)

    load_handlers("mine", registry)
    load_handlers("mine", registry)

    assert len(registry) == 1


def test_a_module_that_does_not_exist_is_told_by_name(registry: Registry) -> None:
    with pytest.raises(HandlersNotLoaded, match="There is no module nowhere_to_be on the import"):
        load_handlers("nowhere_to_be.found", registry)


def test_a_missing_dependency_is_told_apart_from_a_missing_module(
    write_module: Write, registry: Registry
) -> None:
    write_module("mine", "import not_installed_here")

    with pytest.raises(HandlersNotLoaded, match="Importing mine failed: ModuleNotFoundError"):
        load_handlers("mine", registry)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit('no')", "SystemExit: no"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "Odd: x"),
        ("def broken(:", "SyntaxError"),
        ("job('two words')(print)", "InvalidHandler: A handler's name"),
    ],
)
def test_whatever_a_module_raises_is_told_with_its_cause(
    write_module: Write, registry: Registry, text: str, reason: str
) -> None:
    write_module("mine", text)

    with pytest.raises(HandlersNotLoaded, match=f"Importing mine failed: {reason}") as caught:
        load_handlers("mine", registry)
    assert caught.value.__cause__ is not None


def test_ctrl_c_during_an_import_is_not_taken_for_the_modules_fault(
    write_module: Write, registry: Registry
) -> None:
    write_module("mine", "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        load_handlers("mine", registry)


def test_a_failed_import_is_told_alike_the_second_time(
    write_module: Write, registry: Registry
) -> None:
    """And not as handlers whose names are taken, by the half that had been registered."""
    write_module("other", "@job('other')\ndef other(ctx):\n    return 1")
    write_module("mine", f"import other\n{GOOD}\n1 / 0")

    for _ in range(2):
        with pytest.raises(HandlersNotLoaded, match="ZeroDivisionError"):
            load_handlers("mine", registry)

    # What was imported whole stays registered: it will not be executed again.
    assert [handler.name for handler in registry] == ["other"]


def test_a_module_without_handlers_is_told(write_module: Write, registry: Registry) -> None:
    write_module("mine", "x = 1")

    with pytest.raises(HandlersNotLoaded, match="mine registers no handlers"):
        load_handlers("mine", registry)


@pytest.mark.parametrize("name", ["", "examples/quickstart.py", ".relative", "a b", "a..b", "7"])
def test_a_name_that_is_no_module_says_what_to_write(registry: Registry, name: str) -> None:
    with pytest.raises(HandlersNotLoaded, match=r"such as examples\.quickstart"):
        load_handlers(name, registry)


def test_the_quick_start_is_loaded_into_the_default_registry() -> None:
    loaded = load_handlers("examples.quickstart")

    assert loaded is default_registry
    assert "send-welcome" in loaded


def modules_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_domain_loads_neither_handlers_nor_pydantic() -> None:
    loaded = modules_after("import hourhand.domain.jobs.job")

    assert not {"hourhand.handlers", "pydantic", "asyncio", "boto3"} & loaded


def test_registering_a_handler_loads_no_pydantic_before_a_payload_needs_it() -> None:
    loaded = modules_after(
        "from hourhand import job, JobContext, Occurrence, Retry, NotRetryable\n"
        "from hourhand import RetryLater, Snooze\n"
        "job('plain')(lambda ctx, payload: None)"
    )

    assert "hourhand.handlers" in loaded
    assert not {"pydantic", "asyncio", "boto3", "aws_lambda_powertools"} & loaded


def test_the_package_has_nothing_that_it_does_not_name() -> None:
    import hourhand  # noqa: PLC0415 - what is tested is what it offers

    assert set(hourhand.__all__) <= set(dir(hourhand))
    with pytest.raises(AttributeError, match="no attribute 'Jobs'"):
        hourhand.Jobs  # noqa: B018 - looking it up is the test
