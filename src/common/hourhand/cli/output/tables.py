"""Tables that fit: on a narrow terminal texts are shortened and then columns left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hourhand.cli.output.harmless import cell

GAP = 2
SHORTENED = 14
"""How far a column that may be shortened is, before another is left out."""

UNBROKEN = 21
"""Up to how long what is to be whole keeps its line, however narrow the terminal: ids of ours."""

PIPE_WIDTH = 100_000
"""What is not read by a person on a screen is neither shortened nor left out."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    ``rank``: the highest is left out first where the terminal is narrow, 0 never. A column that
    ``is_flexible`` may be shortened; a ``is_whole`` one is broken into lines rather than that.
    """

    name: str
    rank: int = 0
    is_flexible: bool = False
    is_whole: bool = False
    is_number: bool = False


def make_table(
    console: Console, columns: Sequence[Column], rows: Iterable[Sequence[Text | str]]
) -> Table:
    """Return a table of ``rows`` that fits ``console``; texts in it are harmless."""
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


def facts(rows: Iterable[tuple[str, Text | str]]) -> Table:
    """Return a grid of names and what is to say of each; long texts go on below themselves."""
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
    """Return how wide a whole column is: where room is lacking (below 0), it gives it."""
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
