"""What holds for every example: it is short, says how to run it, and uses the public API alone."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hourhand.local.entry_points import examples_path

FOLDER = examples_path() / "examples"
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if path.stem != "__init__")
PUBLIC = {"hourhand", "hourhand.client", "hourhand.testing"}
MAX_LINES = 90
LONG = {"library_index"}
"""The work of `make demo`."""

IMPORT_ALL = """
import importlib, sys
from hourhand.handlers import default_registry, describe
for name in sys.argv[1:]:
    importlib.import_module(name)
print(len(describe(default_registry)))
"""


def test_there_is_an_example_of_each_topic() -> None:
    topics = {"web_app", "unique_work", "long_work", "cancellation", "schedules", "bulk_import"}
    topics |= {"etl_graph", "testing", "async_handler", "s3_files", "approval"}

    assert topics <= {path.stem for path in EXAMPLES}
    assert (FOLDER / "cdk_app" / "app.py").is_file()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
class TestEach:
    def test_it_is_short(self, path: Path) -> None:
        assert path.stem in LONG or len(path.read_text().splitlines()) <= MAX_LINES

    def test_it_says_how_to_run_it(self, path: Path) -> None:
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        commands = re.findall(r"^ +\$ (.+)", text, flags=re.M)

        assert commands
        named = set(re.findall(r"examples[./](\w+)", "\n".join(commands)))
        assert named <= {path.stem}

    def test_it_uses_the_public_api_alone(self, path: Path) -> None:
        imported = {
            name
            for node in ast.walk(ast.parse(path.read_text()))
            for name in _modules(node)
            if name.partition(".")[0] in {"hourhand", "hourhand_cdk"}
        }

        assert imported
        assert imported <= PUBLIC


def test_all_examples_can_be_loaded_together() -> None:
    names = [f"examples.{path.stem}" for path in EXAMPLES]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_ALL, *names],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    written = sum(
        len(re.findall(r'^@job\(|^\w+ = Graph\("', path.read_text(), re.M)) for path in EXAMPLES
    )
    assert int(done.stdout) == written


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []
