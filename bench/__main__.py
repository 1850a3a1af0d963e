"""``make bench``: run the benchmarks, print their tables, keep their figures."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench import (
    item_size,
    schedule_size,
    schedule_units,
    schedules_outage,
    schedules_pace,
    schedules_scale,
    schedules_spread,
    write_units,
)

RESULTS = Path(__file__).resolve().parent / "results"
BENCHMARKS: dict[str, Callable[[], dict[str, Any]]] = {
    "write-units": write_units.run,
    "item-size": item_size.run,
    "schedule-units": schedule_units.run,
    "schedule-size": schedule_size.run,
    "schedules-scale": schedules_scale.run,
    "schedules-pace": schedules_pace.run,
    "schedules-spread": schedules_spread.run,
    "schedules-outage": schedules_outage.run,
}

PIPED_COLUMNS = 160
"""The width of the tables where they are not shown on a terminal."""


def main() -> int:
    """Run the named benchmarks (default: all); 0 if each stayed within what the design allows."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    names = parser.parse_args().names or list(BENCHMARKS)
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"no benchmark is named {', '.join(unknown)}; known: {', '.join(BENCHMARKS)}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPED_COLUMNS)
    within = True
    for name in names:
        result = BENCHMARKS[name]()
        within = within and result["ok"]
        table = Table(title=name, box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
        for number, column in enumerate(result["columns"]):
            table.add_column(column, no_wrap=True, justify="right" if number else "left")
        for row in result["rows"]:
            table.add_row(*(f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row))
        console.print(table)
        for note in result.get("notes", ()):
            console.print(f"  {note}", highlight=False)
        _keep(name, result)
    return 0 if within else 1


def _keep(name: str, result: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    kept = {
        "benchmark": name,
        "command": f"python -m bench {name}",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        **result,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
