"""Draws the plots of the results as PNG: one style, colours that the colour-blind tell apart.

matplotlib is not part of `make setup`: it is loaded where something is drawn, and only `make bench`
installs it. It is loaded by name, so that types are checked alike with it and without it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from bench.targets import in_words

INCHES = (12.0, 7.0)
DOTS_PER_INCH = 100
INK, PALE = "#333333", "#dddddd"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, without the yellow, which is hard to see on white."""

MARKERS = "osD^vPX"
DASHES = ("-", "--", "-.", ":")
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 14,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 17,
    "axes.titlelocation": "left",
    "axes.titlepad": 14,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": PALE,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "lines.linewidth": 2.4,
    "lines.markersize": 8,
}
FILE_COLOURS = 128
MOST_MARKED = 30
"""A line of more points is drawn without a mark at each."""

LONGEST_LEVEL = 12
"""Characters of a bar's name that still fit below it; with longer ones, the bars lie."""

NAME_CHARACTERS = 26
BARS_SHARE, BAR_SHARE = 0.8, 0.92
"""Of the width: what a group takes of it, and a bar of its place in the group."""

LEGEND_COLUMNS = 3

Plot = Mapping[str, Any]
Points = Sequence[Sequence[Any]]


def is_installed() -> bool:
    """Return whether anything can be drawn."""
    return find_spec("matplotlib") is not None


def draw_all(plots: Mapping[str, Plot], folder: Path) -> None:
    """Draw each plot into a file of its name; remove pictures that none of them is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, plot in plots.items():
        draw(plot, folder / name)
    for file in folder.glob("*.png"):
        if file.name not in plots:
            file.unlink()


def draw(plot: Plot, file: Path) -> None:
    """Draw one plot."""
    matplotlib = import_module("matplotlib")
    figure_class = import_module("matplotlib.figure").Figure
    # The defaults first: what a user set for plots of their own is not for these.
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure = figure_class(figsize=INCHES, dpi=DOTS_PER_INCH, layout="constrained")
        axes = figure.add_subplot()
        series = {name: told(points) for name, points in plot["series"].items()}
        if plot["kind"] == "bars":
            _bars(axes, plot, series)
        else:
            _lines(axes, plot, series)
        axes.set_title(plot["title"], wrap=True)
        if len(series) > 1:
            columns = min(LEGEND_COLUMNS, len(series))
            figure.legend(loc="outside lower left", ncols=columns)
        picture = BytesIO()
        figure.savefig(picture)
        # Few colours make a file of a third; nothing in it tells when, or by which version.
        image = import_module("PIL.Image").open(picture).convert("RGB")
        image.quantize(FILE_COLOURS).save(file, optimize=True)


def told(points: Points) -> list[tuple[Any, float]]:
    """Return the points that have a value."""
    return [(x, y) for x, y in points if y is not None]


def scale(is_logarithmic: bool, values: Sequence[float]) -> tuple[str, dict[str, float]]:
    """Return the name of an axis' scale and its options.

    A logarithmic one that has nothing or less to show is linear up to the smallest value.
    """
    if not is_logarithmic:
        return "linear", {}
    positive = [value for value in values if value > 0]
    if len(positive) == len(values):
        return "log", {}
    return ("symlog", {"linthresh": min(positive)}) if positive else ("linear", {})


def _lines(axes: Any, plot: Plot, series: Mapping[str, list[tuple[Any, float]]]) -> None:
    for number, (name, points) in enumerate(series.items()):
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            label=name,
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)] if len(points) <= MOST_MARKED else "",
            drawstyle="steps-post" if plot["kind"] == "steps" else "default",
        )
    everything = [point for points in series.values() for point in points]
    for number, which in enumerate("xy"):
        values = [point[number] for point in everything]
        _scale(axes, which, plot.get(f"log_{which}", False), values)
    heights = [y for _, y in everything]
    # From nothing: half the height is half the value, and what is flat looks flat.
    if heights and min(heights) >= 0 and not plot.get("log_y"):
        axes.set_ylim(0, None)
    axes.set(xlabel=plot["x"], ylabel=plot["y"])


def _bars(axes: Any, plot: Plot, series: Mapping[str, list[tuple[Any, float]]]) -> None:
    """Draw a group of bars for each x, with the value at the end of each bar."""
    names = list(dict.fromkeys(in_words(x) for points in series.values() for x, _ in points))
    lies = any(len(name) > LONGEST_LEVEL for name in names)
    which, other = ("x", "y") if lies else ("y", "x")
    width = BARS_SHARE / len(series)
    for number, (label, points) in enumerate(series.items()):
        first = (number + 0.5) * width - BARS_SHARE / 2
        bars = (axes.barh if lies else axes.bar)(
            [first + names.index(in_words(x)) for x, _ in points],
            [y for _, y in points],
            width * BAR_SHARE,
            label=label,
            color=COLOURS[number % len(COLOURS)],
        )
        axes.bar_label(bars, [in_words(_digits(y, 3)) for _, y in points], padding=4)
    _scale(axes, which, plot.get("log_y", False), [y for p in series.values() for _, y in p])
    axes.grid(visible=False, axis=other)
    # Room for the figures at the bars' ends.
    axes.margins(**{which: 0.12})
    ticks = axes.set_yticks if lies else axes.set_xticks
    ticks(range(len(names)), [textwrap.fill(name, NAME_CHARACTERS) for name in names])
    if lies:
        axes.invert_yaxis()
    axes.set(**{f"{which}label": plot["y"], f"{other}label": plot["x"]})


def _scale(axes: Any, which: str, is_logarithmic: bool, values: Sequence[float]) -> None:
    name, options = scale(is_logarithmic, values)
    getattr(axes, f"set_{which}scale")(name, **options)
    getattr(axes, f"{which}axis").set_major_formatter(lambda value, _: in_words(_digits(value, 6)))


def _digits(value: float, most: int) -> float:
    return float(f"{value:.{most}g}")
