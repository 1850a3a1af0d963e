"""What each part of the proof found when it ran last: one JSON file a part, in `results/`.

A part that is run alone replaces its own; the page is made of all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from proof.figures import Findings
from proof.parts import Part
from proof.report import Ended, Ran, Whole

RESULTS = Path(__file__).parent / "results"
WHOLE = "whole"
"""Beside the parts: when all of them ran last, one after another as far as the cores reach."""


def keep(ended: Sequence[Ended], folder: Path = RESULTS) -> None:
    """Keep what parts found, in the place of what they found before."""
    for one in ended:
        kept = {
            **asdict(one.ran),
            "seconds": round(one.seconds, 1),
            "exit_code": one.exit_code,
            "findings": asdict(one.findings) if one.findings is not None else None,
        }
        _write(folder / f"{one.part.name}.json", kept)


def keep_whole(whole: Whole, folder: Path = RESULTS) -> None:
    """Keep how long all parts took together."""
    _write(folder / f"{WHOLE}.json", asdict(whole))


def read(parts: Sequence[Part], folder: Path = RESULTS) -> list[Ended]:
    """Return how each of ``parts`` ended last, in their order, without those that never ran."""
    return [_ended(part, path) for part in parts if (path := folder / f"{part.name}.json").exists()]


def read_whole(folder: Path = RESULTS) -> Whole | None:
    """Return when all parts ran together last."""
    path = folder / f"{WHOLE}.json"
    return Whole(**json.loads(path.read_text())) if path.exists() else None


def _ended(part: Part, path: Path) -> Ended:
    kept = json.loads(path.read_text())
    found = kept["findings"]
    return Ended(
        part=part,
        seconds=kept["seconds"],
        exit_code=kept["exit_code"],
        findings=Findings.of(found) if found is not None else None,
        ran=Ran(
            day=kept["day"], machine=kept["machine"], setting=[(n, v) for n, v in kept["setting"]]
        ),
    )


def _write(path: Path, kept: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=2) + "\n")
