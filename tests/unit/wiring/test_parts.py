"""What the wiring fills in by name has the type that the parameter asks for."""

import ast
import inspect
import re
import sys
from dataclasses import fields
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.domain.jobs.outbox import OutboxTask
from hourhand.wiring import adapters, functions, services
from hourhand.wiring.adapters import PORTS, Adapters
from hourhand.wiring.services import Wiring
from tests.world.world import World

ATTRIBUTES = {
    "settings": "hourhand.settings.Settings",
    "timings": "hourhand.domain.ticks.timings.Timings",
    "cancelled_together": "int",
    "worker": "str",
}
"""What `Wiring` sets when it is created, with its type."""


@cache
def imported(module: Any) -> dict[str, str]:
    """Return the full name of all that ``module`` imports, for type checking too, or defines."""
    tree = ast.parse(Path(module.__file__).read_text())
    found = {}
    for statement in tree.body:
        name = statement.name if isinstance(statement, ast.ClassDef) else None
        if isinstance(statement, ast.AnnAssign):
            name = ast.unparse(statement.target)
        if name is not None:
            found[name] = f"{module.__name__}.{name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def spelled(annotation: Any, module: Any) -> str:
    """Return an annotation with full names, without a ``None`` that may stand for a value."""
    if not isinstance(annotation, str):
        annotation = inspect.formatannotation(annotation)
    names = imported(module)
    full = re.sub(r"[A-Za-z_.]+", lambda m: names.get(m[0], m[0]), annotation)
    return full.removesuffix(" | None")


def fits(part: str | None, asked: str) -> bool:
    """Whether what is ``part`` may stand for a parameter that asks for ``asked``."""
    if part is None or part == asked:
        return part is not None
    if "." not in asked or "[" in asked:
        return False
    wanted = loaded(asked)
    methods = {name for name in vars(wanted) if not name.startswith("_")}
    if is_protocol(wanted) and "[" in part:
        return "__call__" in vars(wanted)
    own = loaded(part)
    return wanted in own.__mro__ or (is_protocol(wanted) and methods <= set(dir(own)))


def loaded(name: str) -> Any:
    home, _, own = name.rpartition(".")
    return getattr(import_module(home), own)


def is_protocol(wanted: type) -> bool:
    return bool(getattr(wanted, "_is_protocol", False))


def of_part(name: str) -> str | None:
    """Return the type of what stands for a parameter; ``None`` if nothing does."""
    if name in PORTS:
        types = {field.name: str(field.type) for field in fields(Adapters)}
        return spelled(types[name], adapters)
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    part = inspect.getattr_static(Wiring, name, None)
    if isinstance(part, cached_property):
        return spelled(part.func.__annotations__["return"], services)
    if isinstance(part, property):
        assert part.fget is not None
        return spelled(part.fget.__annotations__["return"], services)
    if part is None:
        return None
    *taken, answer = part.__annotations__.values()
    return spelled(f"Callable[[{', '.join(taken)}], {answer}]", services)


def builds() -> list[Any]:
    """Return each class that the wiring builds, with the parameters that it gives."""
    found = []
    for module in (services, functions):
        names = imported(module)
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
            if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("build"):
                continue
            home, _, name = names[ast.unparse(node.args[0])].rpartition(".")
            given = {keyword.arg for keyword in node.keywords}
            found.append(pytest.param(getattr(import_module(home), name), given, id=name))
    return found


@pytest.mark.parametrize(("make", "given"), builds())
def test_what_is_filled_in_by_name_has_the_type_of_its_parameter(
    make: type, given: set[str]
) -> None:
    parameters = inspect.signature(make).parameters
    assert given <= set(parameters)
    wrong = {}
    for name, parameter in parameters.items():
        part = of_part(name)
        if name in given or (part is None and parameter.default is not parameter.empty):
            continue
        homes = [one for one in make.__mro__ if name in vars(one).get("__annotations__", ())]
        asked = spelled(parameter.annotation, sys.modules[[*homes, make][0].__module__])
        if not fits(part, asked):
            wrong[name] = (asked, part)
    assert wrong == {}


def test_a_part_of_another_type_is_found() -> None:
    class Wrong:
        def __init__(self, jobs: "Wrong") -> None: ...

    with pytest.raises(AssertionError, match="jobs"):
        test_what_is_filled_in_by_name_has_the_type_of_its_parameter(Wrong, set())


def test_a_port_that_a_function_does_not_have_says_so_at_its_use() -> None:
    with pytest.raises(InvalidInput, match="have no invoker"):
        adapters._absent("invoker").invoke()


def test_each_outbox_task_is_settled_by_all_but_workers_who_leave_the_pauses() -> None:
    world = World()
    whole = {*OutboxTask}
    assert world.scheduler.scheduling.recovery.end_tasks.keys() == whole
    assert world.worker.execution.tools.recovery.end_tasks.keys() == whole - {
        OutboxTask.PAUSE_SCHEDULE
    }
