"""``make size``: the lines of code of each package, by which a change states its growth.

A line of code holds a token of Python other than a comment or a docstring, or, of JavaScript and
CSS, more than blanks and a comment.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ("src", "infra", "functions")
"""What an issue states the growth of; then what tests, proves and measures it."""

OTHERS = ("tests", "proof", "bench", "examples")

_DEEP = frozenset({"services", "domain"})
_BLANK = frozenset(
    {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
        *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
    }
)
_COMMENTS = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)


def code_lines(text: str) -> int:
    """Return the lines of code of a Python file."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    held = {
        line
        for token in tokens
        if token.type not in _BLANK
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(held.difference(*map(_docstring, ast.walk(ast.parse(text)))))


def _docstring(node: ast.AST) -> range:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return range(0)
    if ast.get_docstring(node, clean=False) is None:
        return range(0)
    return range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)


def console_lines(text: str) -> int:
    """Return the lines of code of a JavaScript or CSS file."""
    return sum(1 for line in _COMMENTS.sub("", text).splitlines() if line.strip())


def counted(root: Path) -> Iterator[tuple[str, int]]:
    """Yield the package and the lines of code of each file."""
    for top in (*SOURCE, *OTHERS):
        for path in sorted((root / top).rglob("*")):
            inner = path.relative_to(root)
            if path.suffix not in {".py", ".js", ".css"} or "node_modules" in inner.parts:
                continue
            is_python = path.suffix == ".py"
            lines = (code_lines if is_python else console_lines)(path.read_text())
            yield package_of(inner) if is_python else f"{top} (JavaScript, CSS)", lines


def package_of(path: Path) -> str:
    """Return the package that a file counts for, such as ``hourhand.services.jobs``."""
    if path.parts[0] != "src":
        return path.parts[0]
    folders = path.parts[2:-1]
    return ".".join(folders[: 3 if folders[1:] and folders[1] in _DEEP else 2])


def main() -> None:
    """Print the table, and the sum of the source's Python."""
    sizes: Counter[str] = Counter()
    for package, lines in counted(ROOT):
        sizes[package] += lines
    for package, lines in sorted(sizes.items()):
        print(f"{lines:7,}  {package}")
    source = sum(n for name, n in sizes.items() if name.split(".")[0] in {"hourhand", *SOURCE})
    print(f"{source:7,}  source: {', '.join(SOURCE)}, without JavaScript and CSS")


if __name__ == "__main__":
    main()
