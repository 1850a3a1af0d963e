"""Tables that fit the terminal: a narrow one shortens texts, then leaves out columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hourhand.cli.output.harmless import cell
from hourhand.cli.output.times import NOTHING

T = TypeVar("T")

GAP = 2
SHORTENED = 14
"""Width to which a flexible column shrinks before another column is left out."""

UNBROKEN = 21
"""Width up to which a whole column is never broken into lines: that of an ID of Hourhand."""

PIPE_WIDTH = 100_000
"""In a pipe nothing is shortened or left out."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    ``rank``: a narrow terminal leaves out the highest first, and 0 never. A column that
    ``is_flexible`` may be shortened; one that ``is_whole`` is broken into lines instead.
    """

    name: str
    rank: int = 0
    is_flexible: bool = False
    is_whole: bool = False
    is_number: bool = False


def make_table(
    console: Console,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Text | str]],
    *,
    without_empty: bool = False,
) -> Table:
    """Return a table of ``rows`` that fits ``console``; texts in it are harmless.

    ``without_empty`` leaves out the columns of a rank in which no row has a value.
    """
    rows = list(rows)
    if without_empty:
        kept = [
            number
            for number, column in enumerate(columns)
            if not column.rank or any(str(row[number]) not in {"", NOTHING} for row in rows)
        ]
        columns = [columns[number] for number in kept]
        rows = [[row[number] for number in kept] for row in rows]
    cells = [list(map(_cell, columns, row)) for row in rows]
    widths = [
        max([len(column.name), *(cell_len(row[number].plain) for row in cells)])
        for number, column in enumerate(columns)
    ]
    shown = _that_fit(columns, widths, console.width)
    room = console.width - sum(_least(columns[number], widths[number]) + GAP for number in shown)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for number in shown:
        column = columns[number]
        table.add_column(
            column.name,
            no_wrap=not column.is_flexible,
            overflow="ellipsis",
            width=_broken(widths[number], room + GAP) if column.is_whole else None,
            justify="right" if column.is_number else "left",
        )
    for row in cells:
        table.add_row(*(row[number] for number in shown))
    return table


def fact(name: str, value: T | None, shown: Callable[[T], str] = str) -> Iterator[tuple[str, str]]:
    """Yield the row of a value as it is ``shown``; nothing for ``None`` and an empty text."""
    if value is not None and value != "":
        yield name, shown(value)


def facts(rows: Iterable[tuple[str, Text | str]]) -> Table:
    """Return a grid of names and values; long values continue on the next line."""
    grid = Table.grid(padding=(0, GAP, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in rows:
        grid.add_row(Text(name), text if isinstance(text, Text) else _folded(text))
    return grid


def _cell(column: Column, text: Text | str) -> Text:
    made = cell(text) if isinstance(text, str) else text.copy()
    if column.is_whole:
        made.no_wrap, made.overflow = False, "fold"
    return made


def _folded(text: str) -> Text:
    made = cell(text)
    made.no_wrap, made.overflow = False, "fold"
    return made


def _least(column: Column, width: int) -> int:
    return min(width, SHORTENED) if column.is_flexible else width


def _broken(width: int, room: int) -> int:
    """Return the width of a whole column: it shrinks by the room that is missing (below 0)."""
    return max(width + min(room, 0), min(width, UNBROKEN))


def _that_fit(columns: Sequence[Column], widths: Sequence[int], available: int) -> list[int]:
    """Return which columns are shown, in their order."""
    least = list(map(_least, columns, widths))
    shown = list(range(len(columns)))
    while sum(least[number] + GAP for number in shown) - GAP > available:
        droppable = [number for number in shown if columns[number].rank]
        if not droppable:
            break
        shown.remove(max(droppable, key=lambda number: columns[number].rank))
    return shown
