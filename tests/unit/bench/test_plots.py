"""The plots of the benchmarks: what is decided before anything is drawn, and that it is drawn."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from bench import plots
from bench.plots import draw_all, scale, told

SIZE = (1200, 700)
needs_matplotlib = pytest.mark.skipif(
    not plots.is_installed(), reason="matplotlib is installed by `make bench` alone"
)


def plot(kind: str = "line", **fields: Any) -> dict[str, Any]:
    return {
        "name": "any",
        "kind": kind,
        "title": "A title",
        "x": "jobs",
        "y": "seconds",
        "log_x": False,
        "log_y": False,
        "series": {"ours": [[1, 2.5], [2, None], [3, 4]], "theirs": [[1, 9], [3, 0]]},
        **fields,
    }


def size(file: Path) -> tuple[int, int]:
    """Return the width and height that the head of a PNG tells."""
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    return width, height


def test_a_point_without_a_value_is_left_out() -> None:
    assert told([[1, 2.5], ["b", None], ["c", 0]]) == [(1, 2.5), ("c", 0)]


@pytest.mark.parametrize(
    ("is_logarithmic", "values", "expected"),
    [
        (False, [0, 1], ("linear", {})),
        (True, [1, 10], ("log", {})),
        (True, [0, 0.5, 10], ("symlog", {"linthresh": 0.5})),
        (True, [0, 0], ("linear", {})),
    ],
)
def test_a_logarithmic_axis_has_room_for_nothing(
    is_logarithmic: bool, values: list[float], expected: tuple[str, dict[str, float]]
) -> None:
    assert scale(is_logarithmic, values) == expected


@needs_matplotlib
@pytest.mark.parametrize("kind", ["line", "steps", "bars"])
@pytest.mark.parametrize("is_logarithmic", [False, True])
def test_each_kind_is_drawn(kind: str, is_logarithmic: bool, tmp_path: Path) -> None:
    given = plot(kind, log_x=is_logarithmic, log_y=is_logarithmic)
    draw_all({"one.png": given}, tmp_path)
    assert size(tmp_path / "one.png") == SIZE


@needs_matplotlib
def test_bars_have_words_and_long_ones_lie(tmp_path: Path) -> None:
    short = plot("bars", series={"ours": [["a", 1], ["b", 2]]})
    long = plot("bars", series={"ours": [["a name of many words", 1], ["b", 2]]})
    draw_all({"short.png": short, "long.png": long}, tmp_path)
    assert size(tmp_path / "short.png") == size(tmp_path / "long.png") == SIZE


@needs_matplotlib
def test_the_same_plot_gives_the_same_file_and_an_old_picture_goes(tmp_path: Path) -> None:
    (tmp_path / "old.png").write_bytes(b"old")
    draw_all({"one.png": plot(), "two.png": plot()}, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"one.png", "two.png"}
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
