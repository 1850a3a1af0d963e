"""Runs the benchmarks, keeps their figures in bench/results/ and writes docs/performance.md.

make bench                        all of them, in up to 30 minutes on two cores
make bench ONLY="dispatch cost"   some of them; the page keeps what it has of the others
python -m bench page              the page and its plots, from the figures that are kept
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench import kept, plots
from bench.catalogue import BENCHMARKS, NAMES, Benchmark
from bench.kept import RESULTS, Result, keep
from bench.page import MINUTES_IN_ALL, PLOTS, page, plot_files, targets
from bench.targets import in_words

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
PAGE_ALONE = "page"
SECONDS_AT_MOST = 900.0
"""For one benchmark; one that hangs is interrupted, and the others still run."""

STOP_SECONDS = 30.0
PIPED_COLUMNS = 160
"""The width of the tables where they are not shown on a terminal."""

EPILOG = """\
ends with 0 if every target was reached, 1 if one was missed or a benchmark failed, 2 if the command
was wrong. Some need an emulator, the peers or matplotlib: `make bench` installs them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    names = _parse(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=PIPED_COLUMNS)
    chosen = [one for one in BENCHMARKS if one.name in names]
    began = time.monotonic()
    results = [
        _run(console, one, (place, len(chosen)), began) for place, one in enumerate(chosen, 1)
    ]
    seconds = time.monotonic() - began
    is_drawn = write_page(console)
    if not chosen:
        return 0 if is_drawn else 1
    ended = [result for result in results if result is not None]
    _summarise(console, ended)
    failed = [one.name for one, result in zip(chosen, results, strict=True) if result is None]
    is_whole = len(chosen) == len(BENCHMARKS)
    is_late = is_whole and seconds >= MINUTES_IN_ALL * 60
    what = "All benchmarks" if is_whole else f"{len(chosen)} of {len(BENCHMARKS)} benchmarks"
    _say(console, f"{what}: {_time(seconds)}.")
    if failed:
        _say(console, f"FAILED: {', '.join(failed)}.")
    if is_late:
        _say(console, f"TOO LONG: all of them may take {MINUTES_IN_ALL} minutes.")
    return 0 if all(one["ok"] for one in ended) and not failed and not is_late else 1


def _parse(arguments: Sequence[str] | None) -> list[str]:
    """Return the names of what is to run."""
    width = max(map(len, NAMES)) + 2
    listed = "\n".join(f"  {one.name:<{width}}{one.title}" for one in BENCHMARKS)
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog=f"benchmarks:\n{listed}\n\n{EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"only these (default: all), or '{PAGE_ALONE}'"
    )
    names: list[str] = parser.parse_args(arguments).names
    unknown = sorted(set(names) - {*NAMES, PAGE_ALONE})
    if unknown:
        known = ", ".join([*NAMES, PAGE_ALONE])
        parser.error(f"no benchmark is named {', '.join(unknown)}; known: {known}")
    return names or list(NAMES)


def _run(
    console: Console, benchmark: Benchmark, place: tuple[int, int], began: float
) -> Result | None:
    """Run one, show and keep its result; ``None`` where it left none."""
    number, of = place
    _say(console, f"[{number}/{of}] {benchmark.name}: {benchmark.title}")
    started = time.monotonic()
    result = run_apart(benchmark.module)
    now = time.monotonic()
    if result is not None:
        result = keep(benchmark.name, result, seconds=now - started, folder=RESULTS)
        _show(console, result)
    told = "failed" if result is None else _reached(targets(result))
    _say(
        console,
        f"[{number}/{of}] {benchmark.name}: {told}, {now - started:.1f} s; "
        f"{_time(now - began)} in all\n",
    )
    return result


def run_apart(module: str, seconds: float = SECONDS_AT_MOST) -> Result | None:
    """Run a benchmark in a process of its own; ``None`` if it fails, which it tells by itself.

    Nothing is drawn or counted meanwhile: this process sleeps, and both cores are its own.
    """
    with tempfile.TemporaryDirectory(prefix="hourhand-bench-") as folder:
        file = Path(folder) / "result.json"
        command = [sys.executable, "-m", "bench.single", module, str(file)]
        # A group of its own: Ctrl-C comes here alone, and what it started can be ended with it.
        process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"{module} did not end within {seconds:.0f} s.\n")
        finally:
            end(process)
        if process.returncode or not file.exists():
            return None
        result: Result = json.loads(file.read_text())
        return result


def end(process: subprocess.Popen[bytes]) -> None:
    """End it if it still runs: first so that it can end what it started itself."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def write_page(console: Console) -> bool:
    """Write the page and its plots from the kept results; tell whether they could be drawn."""
    results = kept.read(RESULTS)
    PAGE.write_text(page(results))
    _say(console, f"The figures are in {PAGE.parent.name}/{PAGE.name}.")
    if not plots.is_installed():
        _say(console, "No plots were drawn: matplotlib is missing, `make bench` installs it.")
        return False
    plots.draw_all(plot_files(results), PAGE.parent / PLOTS)
    return True


def _show(console: Console, result: Result) -> None:
    rows = [[in_words(cell) for cell in row] for row in result["rows"]]
    _print_table(console, result["columns"], rows)
    for note in result.get("notes", ()):
        _say(console, f"  {note}")


def _summarise(console: Console, results: Iterable[Result]) -> None:
    rows = [
        [
            result["benchmark"],
            target["what"],
            target["needed"],
            target["reached"],
            "yes" if target["ok"] else "NO",
        ]
        for result in results
        for target in targets(result)
    ]
    if rows:
        _print_table(console, ["benchmark", "target", "needed", "reached", ""], rows, words=2)


def _print_table(
    console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1
) -> None:
    """Print a table, whose first columns are ``words`` and stand to the left."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    for number, column in enumerate(columns):
        is_words = number < words
        table.add_column(column, no_wrap=not is_words, justify="left" if is_words else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _reached(judged: Sequence[Result]) -> str:
    reached = sum(one["ok"] for one in judged)
    return f"{reached} of {len(judged)} targets reached"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _say(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False)


if __name__ == "__main__":
    # In a log, too, a line is there when it is told; and whoever ends this ends what it runs.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # a text file here
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
