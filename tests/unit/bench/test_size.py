"""What counts as a line of code."""

from __future__ import annotations

from pathlib import Path

from bench.size import code_lines, console_lines, counted

PYTHON = '''"""Module.

More."""
import os  # kept


# comment
class One:
    """Class."""

    text = """first

    third"""  # A string that is a value: three lines, the empty one, too.

    def two(self):
        """Method."""
        return (

            os.sep
        )
'''


def test_comments_docstrings_and_blanks_are_no_code() -> None:
    assert code_lines(PYTHON) == len(
        ["import", "class", "text", "", "third", "def", "return", "os.sep", ")"]
    )
    assert code_lines("def bare():\n    'said'\n") == 1
    assert console_lines("/* a\n b */\n\n// c\nlet d = 1; // e\n") == 1


def test_each_file_counts_for_one_package(tmp_path: Path) -> None:
    files = {
        "src/common/hourhand/services/jobs/puts.py": "hourhand.services.jobs",
        "src/common/hourhand/cli/jobs/shown.py": "hourhand.cli",
        "src/common/hourhand/loopback.py": "hourhand",
        "src/common/hourhand/console/static/app.js": "src (JavaScript, CSS)",
        "infra/hourhand_cdk/stack.py": "infra",
        "tests/unit/test_one.py": "tests",
    }
    for name in (*files, "infra/node_modules/other.py", "src/common/notes.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1\n")
    assert sorted(counted(tmp_path)) == sorted((package, 1) for package in files.values())
