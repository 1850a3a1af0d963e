"""No module of the package imports itself by way of others, also not for its types alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import hourhand

ROOT = Path(hourhand.__file__).parent


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a module below the package at ``root``."""
    parts = [root.name, *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(body: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports of a module that stand outside its functions."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody", "handlers"):
                yield from imports(getattr(statement, field, ()))


def targets(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the names that an import may load, the longest of each first."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    assert not statement.level, "relative imports are not used"
    for alias in statement.names:
        yield f"{statement.module}.{alias.name}"


def import_graph(root: Path) -> dict[str, set[str]]:
    """Return which modules each module of a package imports."""
    paths = {module_name(path, root): path for path in root.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        found = set()
        for statement in imports(ast.parse(path.read_text()).body):
            for target in targets(statement):
                module = target if target in paths else target.rpartition(".")[0]
                found.update({module} & paths.keys() - {name})
        graph[name] = found
    return graph


def circles(graph: Mapping[str, set[str]]) -> set[str]:
    """Return the modules of each circle: those that reach one another."""
    reached = {name: reachable(graph, name) for name in graph}
    return {
        ", ".join(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Return the modules that the imports of ``start`` load, directly or by way of others."""
    found: set[str] = set()
    open_ = [start]
    while open_:
        new = graph[open_.pop()] - found
        found |= new
        open_ += new
    return found


def test_the_package_has_no_circles_of_imports() -> None:
    assert circles(import_graph(ROOT)) == set()


def test_a_circle_is_found_under_type_checking_and_by_way_of_a_third_module(
    tmp_path: Path,
) -> None:
    root = tmp_path / "package"
    root.mkdir()
    (root / "__init__.py").write_text("")
    (root / "one.py").write_text("from package.two import Two\n")
    (root / "two.py").write_text("from package import three\n")
    (root / "three.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.one import One\n"
    )
    (root / "four.py").write_text("import package.one\n")
    assert circles(import_graph(root)) == {"package.one, package.three, package.two"}


def test_an_import_within_a_function_closes_no_circle(tmp_path: Path) -> None:
    root = tmp_path / "package"
    root.mkdir()
    (root / "one.py").write_text("from package.two import Two\n")
    (root / "two.py").write_text("def two():\n    from package.one import One\n")
    assert circles(import_graph(root)) == set()
