"""Tables fit the terminal, and lose nothing where there is none."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from hourhand.cli.output.tables import PIPE_WIDTH, Column, facts, make_table

COLUMNS = (
    Column("ID", is_whole=True),
    Column("HANDLER", is_flexible=True),
    Column("STATUS"),
    Column("CREATED", rank=2),
    Column("REMARK", rank=1, is_flexible=True),
)
ROWS = [
    ("01k2v8r3t5w7x9y1z3b5d", "send-welcome", "RUNNING", "in 3 min", "short"),
    ("01k2v8r3t5w7x9y1z3b5e", "h" * 100, "SUCCEEDED", "2.5 h ago", "long " * 50),
    ("01k2v8r3t5w7x9y1z3b5f", "日本語の名前" * 10, "DEAD", "now", "\x1b[2J"),
]


def printed(width: int) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width, markup=False, highlight=False)
    console.print(make_table(console, COLUMNS, ROWS))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [50, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_each_job_has_one(width: int) -> None:
    lines = printed(width)
    assert len(lines) == 1 + len(ROWS)
    assert max(cell_len(line.rstrip()) for line in lines) <= width


@pytest.mark.parametrize("width", [40, 50, 80, 120])
def test_an_id_is_never_cut(width: int) -> None:
    text = "\n".join(printed(width))
    assert all(row[0] in text for row in ROWS)


def test_of_a_long_id_and_a_state_the_id_is_broken_and_nothing_is_lost() -> None:
    long_id = "order-1234567890-2027-01-31-customer-77777777-a"
    stream = io.StringIO()
    console = Console(file=stream, width=60)
    console.print(make_table(console, COLUMNS[:3], [(long_id, "send-welcome", "SUCCEEDED")]))
    first, second = stream.getvalue().splitlines()[1:]
    start, *others = first.split()
    assert (start + second.strip(), others) == (long_id, ["send-welcome", "SUCCEEDED"])


def test_the_least_important_column_is_the_first_to_go() -> None:
    assert printed(80)[0].split() == ["ID", "HANDLER", "STATUS", "CREATED", "REMARK"]
    assert printed(66)[0].split() == ["ID", "HANDLER", "STATUS", "REMARK"]
    assert printed(50)[0].split() == ["ID", "HANDLER", "STATUS"]


def test_in_a_pipe_nothing_is_shortened() -> None:
    text = "\n".join(printed(PIPE_WIDTH))
    assert "h" * 100 in text
    assert "long " * 49 in text


def test_facts_break_long_texts_into_lines_below_themselves() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=40, markup=False)
    console.print(facts([("payload", "x" * 70), ("error", "[red]y\x1b[0m")]))
    lines = stream.getvalue().splitlines()
    assert lines[1].startswith("         x")
    assert "[red]y\\x1b[0m" in lines[-1]
