"""`docs/performance.md`: the page of what `make bench` found, as text from the kept results.

Pure functions: the same results give the same page, and a test holds the page of the repository to
the results of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from bench.catalogue import BENCHMARKS, NAMES
from bench.kept import Result, command
from bench.targets import Target, in_words

MINUTES_IN_ALL = 30
"""How long all benchmarks may take in one run, without what is installed before it."""

PLOTS = "performance"
"""The folder of the plots, beside the page."""

INTRODUCTION = f"""# Performance, measured

`make bench` writes this page; do not edit it. All benchmarks take up to {MINUTES_IN_ALL} minutes on
two cores. They measure what a job costs, how late it starts, how fast it is dispatched and what CPU
and memory that takes, compared with a plain implementation and with other programs. Each section
names the command that repeats its measurement. [Scaling](explanation/scaling.md) calculates what
happens at a hundred and at ten thousand times the load. [ARCHITECTURE.md](../ARCHITECTURE.md) lists
what Hourhand guarantees.
"""

SIMULATED = """## What is simulated, and what limits it

- **No AWS account was used.** Everything ran on one machine over loopback: against an emulator of
  AWS that counts capacity as DynamoDB does, against the local cloud, against a stub that responds
  as the endpoints do after a fixed time, or in simulated time. Each section names which.
- **Counts hold everywhere**: capacity units, requests, bytes and jobs depend on the code and on how
  AWS counts, not on the machine. Dollars are counts times list prices of the day that is named with
  them, without free tiers and discounts.
- **Times hold for this machine.** Therefore speed and CPU are judged as ratios of two programs that
  ran side by side in one run. Compare the seconds within a table; they do not predict Lambda.
- **Simulated time contains only what the model contains**: round trips, the rate at which AWS says
  that it scales event sources, and starts of functions. It has no noisy neighbours, no outages, and
  only the throttling that a scene adds.
- **The emulator and the local cloud are single processes of Python** and far slower than AWS. Where
  they are the bottleneck, jobs per second measure the emulator; compare the number of calls and the
  CPU of the client instead.
"""

SEE_TABLE = "see its table"
"""What stands for both in a result that names no targets, but only whether it is as it must be."""


def page(results: Sequence[Result]) -> str:
    """Return the page. ``results``: in the order in which they shall stand."""
    return "\n".join(
        [
            INTRODUCTION,
            _verdict(results),
            _targets_table(results),
            SIMULATED,
            *(_section(result) for result in results),
        ]
    )


def targets(result: Result) -> list[Target]:
    """Return the targets of a result."""
    named: list[Target] | None = result.get("must")
    if named is not None:
        return named
    told = SEE_TABLE
    return [{"what": title(result), "needed": told, "reached": told, "ok": result["ok"]}]


def whole_run(results: Sequence[Result]) -> list[Target]:
    """Return the target for the time of them all; none while one is missing or has no time."""
    seconds = {one["benchmark"]: one["seconds"] for one in results if "seconds" in one}
    if not seconds.keys() >= set(NAMES):
        return []
    minutes = sum(seconds[name] for name in NAMES) / 60
    return [
        {
            "what": "All benchmarks, one after the other",
            "needed": f"< {MINUTES_IN_ALL} minutes",
            "reached": f"{minutes:.1f} minutes",
            "ok": minutes < MINUTES_IN_ALL,
        }
    ]


def title(result: Result) -> str:
    """Return the heading of a result's section."""
    name: str = result["benchmark"]
    return {one.name: one.title for one in BENCHMARKS}.get(name, name)


def plot_files(results: Iterable[Result]) -> dict[str, dict[str, object]]:
    """Return each plot by the name of its file."""
    return {
        plot_file(result["benchmark"], plot["name"]): plot
        for result in results
        for plot in result.get("plots", ())
    }


def plot_file(benchmark: str, plot: str) -> str:
    """Return the name of a plot's file."""
    slug = re.sub(r"[^a-z0-9]+", "-", plot.lower()).strip("-")
    return f"{slug}.png" if slug.startswith(benchmark) else f"{benchmark}-{slug}.png"


def _verdict(results: Sequence[Result]) -> str:
    judged = [*(one for result in results for one in targets(result)), *whole_run(results)]
    missed = [one["what"] for one in judged if not one["ok"]]
    verdict = (
        f"**{len(judged) - len(missed)} of {len(judged)} targets are reached. "
        f"Missed: {'; '.join(missed)}.**"
        if missed
        else f"**All {len(judged)} targets are reached.**"
    )
    absent = [name for name in NAMES if name not in {one["benchmark"] for one in results}]
    unknown = f" There is no result for {', '.join(absent)}." if absent else ""
    return f"{verdict}{unknown} {_ran(results)}\n"


def _ran(results: Sequence[Result]) -> str:
    """Say when they ran and on what. Nothing here tells one machine of a kind from another."""
    days = _distinct(results, lambda one: one["at"][:10])
    when = f"from {days[0]} to {days[-1]}" if len(days) > 1 else f"on {''.join(days)}"
    machines = _distinct(
        results, lambda one: f"{one['cores']} cores ({one['system']})" if "cores" in one else ""
    )
    pythons = _distinct(results, lambda one: f"Python {one['python']}")
    commits = "; ".join(_distinct(results, lambda one: one.get("commit", "")))
    at = f" (commit {commits})" if commits else ""
    return f"Run {when}, on {', '.join([*machines, *pythons])}{at}."


def _distinct(results: Sequence[Result], told: Callable[[Result], str]) -> list[str]:
    return sorted({told(one) for one in results} - {""})


def _targets_table(results: Sequence[Result]) -> str:
    rows = [
        [target["what"], target["needed"], target["reached"], _yes(target), _link(result)]
        for result in results
        for target in targets(result)
    ]
    rows += [
        [one["what"], one["needed"], one["reached"], _yes(one), "`make bench`"]
        for one in whole_run(results)
    ]
    return _table(["target", "needed", "reached", "", "from"], rows)


def _yes(target: Target) -> str:
    return "yes" if target["ok"] else "**no**"


def _link(result: Result) -> str:
    anchor = title(result).lower().replace(" ", "-")
    return f"[{result['benchmark']}](#{anchor})"


def _section(result: Result) -> str:
    took = f", {result['seconds']:.0f} s" if "seconds" in result else ""
    commit = f", commit {result['commit']}" if "commit" in result else ""
    parts = [
        f"## {title(result)}\n",
        f"{result['asks']}\n" if "asks" in result else "",
        f"`{command(result['benchmark'])}` ({result['at'][:10]}{took}{commit})\n",
        _table(result["columns"], result["rows"]),
        *(
            f"![{plot['title']}]({PLOTS}/{plot_file(result['benchmark'], plot['name'])})\n"
            for plot in result.get("plots", ())
        ),
        "".join(f"- {note}\n" for note in result.get("notes", ())),
    ]
    return "\n".join(part for part in parts if part)


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table; columns of figures are aligned to the right."""
    aligned = [
        "---:" if number and _is_figures([row[number] for row in rows]) else "---"
        for number in range(len(columns))
    ]
    lines = [columns, aligned, *([in_words(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _is_figures(cells: Sequence[object]) -> bool:
    figures = [cell for cell in cells if cell not in ("", None)]
    return bool(figures) and all(isinstance(cell, int | float) for cell in figures)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
