"""Reads the tables of the pages in ``docs/``."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def read(name: str) -> str:
    """Return a page, such as ``reference/api.md``."""
    return (DOCS / name).read_text()


def section(page: str, title: str) -> str:
    """Return what is below a heading, up to the next heading of its level or a higher one."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", page, re.M)
    assert found is not None, title
    rest = page[found.end() :]
    return re.split(rf"^#{{1,{len(found[1])}}} ", rest, maxsplit=1, flags=re.M)[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of every row of the tables in ``text``, without headings and rules."""
    lines = re.findall(r"^\|(.+)\|$", text, re.M)
    tables: list[list[str]] = []
    for number, line in enumerate(lines):
        is_rule = set(line) <= set("-|: ")
        is_heading = number + 1 < len(lines) and set(lines[number + 1]) <= set("-|: ")
        if not is_rule and not is_heading:
            tables.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)])
    return tables


def code(cell: str) -> list[str]:
    """Return what is set as code in a cell."""
    return re.findall(r"`([^`]+)`", cell)


def names(text: str) -> list[str]:
    """Return what is set as code in the first cell of each row."""
    return [name for row in rows(text) for name in code(row[0])]


def anchors(page: str) -> set[str]:
    """Return what a link may name behind ``#``."""
    titles = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}
