"""Each packed function has all that it imports, however late, and no part that it never does."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hourhand
from hourhand_cdk.packing import Packed, _parts
from hourhand_cdk.packing._isolation import Isolation
from hourhand_cdk.packing._pack import cold_start_environment

FUNCTIONS = ("api", "scheduler", "worker")
LAMBDA_HAS = frozenset({"boto3", "botocore"})

WIRE = """
import json, sys
from pathlib import Path
answer, tree, libraries = sys.argv[1:]
sys.path.insert(0, tree)
sys.path.append(libraries)
import main
if "/worker" in tree:
    from hourhand.handlers import load_handlers
    from hourhand.wiring.services import read_child
    load_handlers("examples.quickstart")
    read_child({"handler": "of-a-child"})
Path(answer).write_text(json.dumps(sorted(sys.modules)))
"""

OF_THE_API = {f"hourhand.api.{module}" for module in ("access", "payload_check", "routing")}
REQUESTS = {"hourhand.api.requests.graphs", "hourhand.api.requests.jobs"}
BY_OTHERS = {
    "api": {"hourhand.handlers", "hourhand.worker"},
    "scheduler": {*OF_THE_API, *REQUESTS, "hourhand.handlers", "hourhand.worker"},
    "worker": OF_THE_API,
}
"""What the composition root imports only for another function."""

COMPOSITION = {"hourhand.wiring.functions", "hourhand.wiring.services"}
NEVER_IN_A_FUNCTION = {"flask", "httpx", "moto", "rich", "typer"}
FOR_HANDLERS = {"api": set(), "scheduler": set(), "worker": {"answers", "client"}}
"""What users' code may import: a handler that submits jobs brings httpx itself."""


@pytest.fixture(scope="session")
def wired_modules(packed: Packed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What each packed function has imported once it is wired, in a bare process."""
    folder = tmp_path_factory.mktemp("wired")
    script = folder / "wire.py"
    script.write_text(WIRE)
    isolation = Isolation(folder, {})
    environment = cold_start_environment(packed.module, packed.api / "manifest.json")
    modules = {}
    for function in FUNCTIONS:
        ended = isolation.run(str(script), packed.api.parent / function, [], environment)
        assert ended.answer is not None, ended.output
        modules[function] = list(ended.answer)
    return modules


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_packed_function_is_wired_by_what_it_carries(
    wired_modules: dict[str, list[str]], function: str
) -> None:
    modules = wired_modules[function]
    assert "hourhand.wiring.functions" in modules
    assert "botocore.client" in modules
    # Lambda has it, for handlers; what it loads beside clients is theirs to pay for (ADR 17).
    assert "boto3" not in modules
    assert not NEVER_IN_A_FUNCTION & set(modules)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_part_of_hourhand_is_carried_that_the_function_never_imports(
    packed: Packed, wired_modules: dict[str, list[str]], function: str
) -> None:
    folder = packed.api.parent / function / "hourhand"
    carried = {path.stem for path in folder.iterdir()} - {"__init__", "__pycache__", "py"}
    imported = {name.split(".")[1] for name in wired_modules[function] if "hourhand." in name}
    assert carried == imported | FOR_HANDLERS[function]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_import_that_is_written_where_the_function_comes_can_be_met(
    packed: Packed, wired_modules: dict[str, list[str]], function: str
) -> None:
    folder = packed.api.parent / function
    ours = [name for name in wired_modules[function] if name.split(".")[0] == "hourhand"]
    assert missing_imports(folder, ["main", *ours]) == BY_OTHERS[function]


def test_the_worker_carries_whole_libraries_since_a_handler_may_use_any_part(
    packed: Packed,
) -> None:
    powertools = packed.worker / "aws_lambda_powertools"
    assert (powertools / "event_handler").is_dir()
    assert (powertools / "utilities" / "parameters").is_dir()
    assert (packed.worker / "pydantic" / "v1").is_dir()
    assert not (packed.api / "pydantic" / "v1").exists()


def test_the_scheduler_carries_nothing_that_validates(packed: Packed) -> None:
    names = {path.name.partition("-")[0] for path in packed.scheduler.iterdir()}
    assert not names & {"annotated_types", "pydantic", "pydantic_core", "typing_inspection"}
    assert "pydantic" in {path.name for path in packed.api.iterdir()}


def test_the_list_of_what_is_left_out_names_only_what_is_there() -> None:
    package = Path(hourhand.__file__).parent
    left_out = set().union(*_parts._LEFT_OUT.values()) - {"_examples", "_functions"}
    for name in left_out:
        assert (package / name).is_dir() or (package / f"{name}.py").is_file(), name
    for place in [*_parts._UNUSED, *(f"{_parts._UTILITIES}/{n}" for n in _parts._USED_UTILITIES)]:
        root = __import__(place.split("/")[0])
        assert (Path(str(root.__file__)).parents[1] / place).exists(), place


def missing_imports(folder: Path, modules: list[str]) -> set[str]:
    """Return what ``modules``, or what they import, name in an import and the folder has not."""
    libraries = {path.name.partition(".")[0] for path in folder.iterdir()}
    known = libraries | LAMBDA_HAS | sys.stdlib_module_names
    missing: set[str] = set()
    seen = set(modules)
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        for name in imports_of(ast.parse(source(folder, module).read_text(encoding="utf-8"))):
            is_ours = name.split(".")[0] == "hourhand"
            if name.split(".")[0] not in known or (is_ours and not source(folder, name).is_file()):
                missing.add(name)
            # The composition root names the services of every function.
            elif is_ours and module not in COMPOSITION and name not in seen:
                seen.add(name)
                waiting.append(name)
    return missing


def imports_of(tree: ast.AST) -> Iterator[str]:
    # Imports for type checkers are never run.
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test):
        return
    if isinstance(tree, ast.Import):
        yield from (name.name for name in tree.names)
    elif isinstance(tree, ast.ImportFrom):
        assert tree.module is not None
        yield tree.module
    for child in ast.iter_child_nodes(tree):
        yield from imports_of(child)


def source(folder: Path, module: str) -> Path:
    path = folder.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
