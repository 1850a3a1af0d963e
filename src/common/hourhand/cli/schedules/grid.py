"""``hourhand schedules grid``: the last runs of a schedule by the nodes of its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from hourhand.answers.graphs import GridRun
from hourhand.cli.jobs.listing import STYLES
from hourhand.cli.output.harmless import cell, harmless
from hourhand.cli.session import Session

LETTERS: Mapping[str, str] = {
    "SUCCEEDED": "S",
    "DEAD": "D",
    "CANCELLED": "C",
    "EXPIRED": "X",
    "RUNNING": "R",
    "RETRYING": "T",
    "ENQUEUED": "Q",
    "PENDING": "P",
    "WAITING": "W",
    "SKIPPED": "K",
}
UNKNOWN, ABSENT = "?", "."
WHOLE_RUN = "(whole run)"
GAP = 2


def show_grid(session: Session, schedule_id: str, runs: int) -> None:
    """Print the grid of a schedule, its oldest run on the left; as JSON, an object for each run."""
    found = session.client.schedules.grid(schedule_id, runs=runs).runs
    if session.is_json:
        for run in found:
            session.print_json(run.raw)
        return
    if not found:
        session.remark("The schedule has no runs yet.")
        return
    names = [WHOLE_RUN, *sorted({name for run in found for name in run.nodes})]
    width = max(cell_len(harmless(name)) for name in names) + GAP
    room = max((session.out.width - width) // 2, 1)
    shown = found[:room][::-1]
    for name in names:
        session.print(_line(name, width, shown))
    session.print("", *_legend(session, shown))
    if len(found) > len(shown):
        session.remark(f"The terminal is too narrow for more than {len(shown)} runs.")


def _line(name: str, width: int, runs: Sequence[GridRun]) -> Text:
    line = cell(name)
    line.pad_right(width - line.cell_len)
    for run in runs:
        status = _status(run, name)
        letter = ABSENT if status is None else LETTERS.get(status, UNKNOWN)
        line.append(f"{letter} ", STYLES.get(status or "", "dim"))
    return line


def _status(run: GridRun, name: str) -> str | None:
    if name == WHOLE_RUN:
        return run.status
    node = run.nodes.get(name)
    return None if node is None else node.status


def _legend(session: Session, runs: Sequence[GridRun]) -> list[Text]:
    """Return the meaning of each letter in the grid, and the times of its first and last run."""
    statuses = {run.status for run in runs}
    statuses |= {node.status for run in runs for node in run.nodes.values()}
    words = [f"{letter} {status}" for status, letter in LETTERS.items() if status in statuses]
    times = [
        session.times.absolute(run.occurrence) if run.occurrence else "no scheduled time"
        for run in (runs[0], runs[-1])
    ]
    span = f"left: {times[0]}; right: {times[1]}" if len(runs) > 1 else times[0]
    return [cell(f"{'  '.join(words)}  {ABSENT} not in that run", "dim"), cell(span, "dim")]
