"""What a part of the proof found, as it hands it to `make prove`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FIGURES_FLAG = "--figures"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table of figures: what was counted, and how many of it there were."""

    name: str
    value: str


@dataclass(slots=True)
class Findings:
    """What one part of the proof came to.

    ``command`` gives the figures again. ``violations``: each rule that was broken, told so that a
    reader can look for its cause; none is what we want. ``notes`` are Markdown paragraphs or tables
    that are shown below the figures.
    """

    part: str
    command: str
    figures: list[Figure] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def count(self, name: str, value: int | float | str) -> None:
        """Add a figure; whole numbers are shown with commas."""
        told = f"{value:,}" if isinstance(value, int) else str(value)
        self.figures.append(Figure(name, told))

    def write(self, path: Path | None) -> None:
        """Hand the findings over, where somebody asked for them."""
        if path is not None:
            path.write_text(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> Findings:
        """Return what `write` wrote."""
        return cls.of(json.loads(path.read_text()))

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Findings:
        """Return the findings that ``stored`` holds, as `dataclasses.asdict` makes it."""
        return cls(**{**stored, "figures": [Figure(**one) for one in stored["figures"]]})


def add_figures_flag(parser: argparse.ArgumentParser) -> None:
    """Let a part be told where its findings go: ``figures``, a path or ``None``."""
    parser.add_argument(
        FIGURES_FLAG, type=Path, metavar="FILE", help="write what was found to FILE, as JSON"
    )
