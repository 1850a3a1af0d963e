"""The bytecode in the packages: of the right Python, valid for itself, and the same everywhere."""

from __future__ import annotations

import importlib.util
import marshal
import subprocess
import sys
from pathlib import Path

import pytest

from hourhand_cdk.packing import PYTHONS, HandlerSource, Packed, PackingError, Target, _pack, pack
from hourhand_cdk.packing._bytecode import Compiler, _found_by_uv, find_compiler, missing_note
from hourhand_cdk.packing._isolation import Isolation
from hourhand_cdk.packing._pack import cold_start_environment
from hourhand_cdk.packing._trees import FIXED_TIME, tree_digest
from tests.infra.packing.folders import HANDLERS, write_files

HERE = Target.this_machine()
FUNCTIONS = ("api", "scheduler", "worker")
UNCHECKED_HASH = 1
"""PEP 552: the lowest bit says that a hash stands there, the next one that it is to be checked."""

WIRE = """
import json, sys
from pathlib import Path
answer, tree, libraries = sys.argv[1:]
compiled = []
sys.addaudithook(lambda event, args: compiled.append(str(args[1])) if event == "compile" else None)
sys.path.insert(0, tree)
sys.path.append(libraries)
import main
ours = sorted({name for name in compiled if name.startswith(tree)})
Path(answer).write_text(json.dumps({"compiled": ours, "modules": len(sys.modules)}))
"""


def other_python() -> str:
    return next(one for one in PYTHONS if one != HERE.python)


def program(folder: Path, name: str, *, prints: str, code: int = 0) -> str:
    """Write a program that prints something, whatever it is asked."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{prints}'\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_module_has_bytecode_that_is_valid_for_itself(packed: Packed, function: str) -> None:
    tree = packed.api.parent / function
    modules = sorted(tree.rglob("*.py"))
    assert len(modules) > 100
    for module in modules:
        content = Path(importlib.util.cache_from_source(str(module))).read_bytes()
        assert content[:4] == importlib.util.MAGIC_NUMBER
        assert int.from_bytes(content[4:8], "little") == UNCHECKED_HASH
        assert content[8:16] == importlib.util.source_hash(module.read_bytes())
        code = marshal.loads(content[16:])  # noqa: S302 - what was just compiled
        assert code.co_filename == f"/var/task/{module.relative_to(tree).as_posix()}"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_cold_start_compiles_no_module_of_the_package(
    packed: Packed, tmp_path: Path, function: str
) -> None:
    script = tmp_path / "wire.py"
    script.write_text(WIRE)
    environment = cold_start_environment(packed.module, packed.api / "manifest.json")
    isolation = Isolation(tmp_path, {})
    ended = isolation.run(str(script), packed.api.parent / function, [], environment)
    assert ended.answer is not None, ended.output
    assert ended.answer["modules"] > 100
    assert ended.answer["compiled"] == []


def test_bytecode_has_the_time_and_the_mode_of_all_else(packed: Packed) -> None:
    compiled = list(packed.worker.rglob("*.pyc"))
    assert {path.stat().st_mtime for path in compiled} == {FIXED_TIME}
    assert {path.stat().st_mode & 0o777 for path in compiled} == {0o644}


FILES = {
    "a.py": "KINDS = {'high', 'low'}\ndef is_kind(text):\n    return text in {'a', 'b', 'c'}\n",
    "z/b.py": "from a import KINDS\nNAME = 'a' 'b'\nNUMBERS = (1000, 1.5, 'high', b'x')\n",
}


def test_the_same_modules_have_the_same_bytecode_wherever_they_lie(tmp_path: Path) -> None:
    compiler = Compiler(sys.executable)
    one, other = (write_files(tmp_path / name, FILES) for name in ("one", "other/place"))
    assert compiler.compile([one]) == len(FILES)
    # What is compiled before it makes no difference.
    more = {"0.py": "HIGH = 'high'\nclass is_kind:\n    KINDS = b'x', 1000, 1.5\n"}
    before = write_files(tmp_path / "before", more)
    assert compiler.compile([before, other]) == len(FILES) + 1
    assert tree_digest(one) == tree_digest(other)


def test_functions_that_share_a_module_share_its_bytecode(tmp_path: Path) -> None:
    one, other = (write_files(tmp_path / name, FILES) for name in ("one", "other"))
    assert Compiler(sys.executable).compile([one, other]) == 2 * len(FILES)
    assert tree_digest(one) == tree_digest(other)


@pytest.mark.parametrize("text", ["class:\n", "print 'two'\n", "x = '\0'\n", "\xff"])
def test_what_does_not_compile_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    write_files(tmp_path, FILES)
    (tmp_path / "template.py").write_bytes(text.encode("latin-1"))
    (tmp_path / "folder.py").mkdir()
    before = (tmp_path / "template.py").read_bytes()
    assert Compiler(sys.executable).compile([tmp_path]) == len(FILES)
    assert (tmp_path / "template.py").read_bytes() == before


def test_a_compiler_that_fails_ends_the_pack_with_what_it_printed(tmp_path: Path) -> None:
    failing = Compiler(program(tmp_path, "python", prints="no memory", code=1))
    with pytest.raises(PackingError, match=r"could not compile the functions\.\nno memory"):
        failing.compile([tmp_path])


# --- which interpreter compiles ---


def test_this_interpreter_compiles_for_its_own_version() -> None:
    assert find_compiler(HERE, lambda _: None) == Compiler(sys.executable)


@pytest.mark.parametrize("said", ["cpython {other} final", "{other}"])
def test_another_version_is_compiled_for_by_an_interpreter_that_says_that_it_is_it(
    tmp_path: Path, said: str
) -> None:
    other = other_python()
    found = program(tmp_path, f"python{other}", prints=said.format(other=other))
    compiler = find_compiler(
        Target.for_lambda(other, "arm64"), lambda python: found if python == other else None
    )
    assert compiler == (Compiler(found) if said.endswith("final") else None)


def test_uv_finds_an_interpreter_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Any version that is here will do: uv is asked for it, and nothing is downloaded.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert _found_by_uv(HERE.python) is not None
    assert _found_by_uv("3.99") is None


@pytest.mark.parametrize(
    "prints",
    [
        "cpython 3.9 final",
        "cpython {other} candidate",
        "cpython {other} beta",
        "pypy {other} final",
    ],
)
def test_an_interpreter_whose_bytecode_lambda_would_not_read_compiles_nothing(
    tmp_path: Path, prints: str
) -> None:
    other = other_python()
    found = program(tmp_path, "python", prints=prints.format(other=other))
    assert find_compiler(Target.for_lambda(other, "arm64"), lambda _: found) is None


def test_this_interpreter_is_not_taken_for_another_version() -> None:
    assert (
        find_compiler(Target.for_lambda(other_python(), "arm64"), lambda _: sys.executable) is None
    )


@pytest.mark.parametrize("path", [None, "/nowhere/python"])
def test_without_an_interpreter_there_is_no_compiler(path: str | None) -> None:
    assert find_compiler(Target.for_lambda(other_python(), "arm64"), lambda _: path) is None


def test_a_program_that_cannot_be_run_is_no_compiler(tmp_path: Path) -> None:
    failing = program(tmp_path, "shim", prints="command not found", code=127)
    assert find_compiler(Target.for_lambda(other_python(), "arm64"), lambda _: failing) is None


# --- in a pack ---


def packed_with(tmp_path: Path, cache: Path, files: dict[str, str]) -> Packed:
    source = HandlerSource(path=write_files(tmp_path / "jobs", files))
    return pack(source, HERE, tmp_path / "assets", cache=cache, measures=False)


def test_without_the_functions_python_nothing_is_compiled_and_the_report_says_so(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pack, "find_compiler", lambda _: None)
    packed = packed_with(tmp_path, cache, {"handlers.py": HANDLERS})
    assert not list(packed.worker.parent.rglob("*.pyc"))
    assert packed.report.notes == (missing_note(HERE),)
    assert packed.report.uncompiled == ("api", "scheduler", "worker")
    assert f"Note: the functions hold no bytecode, because no Python {HERE.python} was found" in (
        packed.report.text()
    )


def test_a_function_that_is_too_large_with_its_bytecode_is_packed_without(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    megabyte = 1024 * 1024
    monkeypatch.setattr(_pack, "UNZIPPED_LIMIT_BYTES", 25 * megabyte)
    large = {"handlers.py": HANDLERS, "large.txt": "x" * 20 * megabyte}
    packed = packed_with(tmp_path, cache, large)
    assert not list(packed.worker.rglob("*.pyc"))
    assert list(packed.scheduler.rglob("*.pyc"))
    assert packed.report.uncompiled == ("worker",)
    assert any(note.startswith("the worker function holds") for note in packed.report.notes)


def test_a_users_own_bytecode_is_replaced(tmp_path: Path, cache: Path) -> None:
    source = tmp_path / "jobs"
    stale = Path(importlib.util.cache_from_source(str(source / "handlers.py")))
    write_files(source, {"handlers.py": HANDLERS})
    write_files(stale.parent, {stale.name: "stale", "gone.cpython-311.pyc": "stale"})
    packed = packed_with(tmp_path, cache, {})
    assert [path.name for path in (packed.worker / "__pycache__").glob("gone.*")] == []
    loaded = subprocess.run(
        [sys.executable, "-B", "-c", "import handlers; print(handlers.send_invoice)"],
        cwd=packed.worker,
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.returncode == 0, loaded.stderr
