"""Faults on the wire: every call that the functions make, and everything that can befall it.

Needs `make emulator`: ministack answers instead of AWS, with `microburst` before it.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import tests.conftest  # noqa: F401 (no real AWS account can be reached)
from tests.proof.figures import Findings, add_figures_flag
from tests.proof.wire.matrix import Cell, scenes
from tests.proof.wire.running import Result, Run
from tests.proof.wire.servers import running_servers
from tests.proof.wire.table import matrix
from tests.proof.wire.timeline import Timeline
from tests.proof.wire.wire import Wire
from tests.proof.wire.world import Cloud

COMMAND = "python -m tests.proof.wire"
PROGRESS_SECONDS = 15.0

NOTES = (
    "The functions are driven by their entry points, with their real adapters and clients "
    "(4 tries, standard mode). `microburst` brings the faults about in front of ministack, but for "
    "these, which are done at the client: SQS's throttling codes (the proxy puts a namespace "
    "before them that SQS does not), an answer lost that consists of a head alone, and members of "
    "batches. Time is virtual in the functions and in the emulator's queues: leases, delays, "
    "ticks and the clients' pauses pass without waiting. In the cells of timeouts the clients wait "
    "0.25 s for an answer instead of 5 s, and the clocks are moved by the 5 s.",
    "After each cell: every accepted job ended as it does without the fault, its history tells of "
    "one end, it was never run twice under one claim nor to its end twice without an attempt on "
    "record as lost, nothing is filed or queued any more, every DEAD job has its dead letter, "
    "every nominal time of a schedule is there once, callers were told nothing but 503, and "
    "nothing failed in a way that nobody foresaw.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all cells, or those that are asked for; return the exit code."""
    asked = _parser().parse_args(arguments)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        timeline = Timeline(folder / "timeline")
        wire = Wire(timeline)
        with running_servers(folder, folder / "timeline") as servers, timeline.rules():
            run = Run(
                Cloud(servers.direct, servers.proxied, can_batch=True), timeline, wire, folder
            )
            results = _play(run, asked.scene, asked.only, asked.minutes * 60)
    findings = _findings(run, results, time.monotonic() - started)
    findings.write(asked.figures)
    _summarise(findings)
    return 1 if findings.violations else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument(
        "--scene", action="append", default=[], metavar="NAME", help="play this scene only"
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="play the cells whose name holds TEXT only"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=math.inf,
        help="leave out what there is no time for (default: play all)",
    )
    add_figures_flag(parser)
    return parser


def _play(run: Run, names: Sequence[str], only: str, seconds: float) -> list[Result]:
    def is_wanted(cell: Cell) -> bool:
        return only in str(cell)

    results: list[Result] = []
    told_at = time.monotonic()
    for result in run.play(scenes(can_batch=True, names=names), is_wanted, seconds):
        results.append(result)
        for violation in result.outcome.violations:
            _tell(f"BROKEN {result.cell}: {violation}")
        if time.monotonic() - told_at > PROGRESS_SECONDS:
            told_at = time.monotonic()
            _tell(f"{len(results)} cells; now: {result.cell}")
    return results


def _findings(run: Run, results: Sequence[Result], seconds: float) -> Findings:
    findings = Findings(part="Faults on the wire", command=COMMAND)
    words = Counter(result.word for result in results)
    findings.count("calls (function, operation, resource)", len(run.calls))
    findings.count("kinds of requests", len(run.known))
    findings.count("cells: call x fault", len(results))
    findings.count("faults injected", sum(result.outcome.injected for result in results))
    findings.count("sends", run.wire.sent)
    findings.count("cells left out for time", run.left_out)
    findings.count("cells whose fault was not met", words["-"])
    findings.count("rules broken", sum(len(result.outcome.violations) for result in results))
    findings.count("seconds", round(seconds))
    for result in results:
        for violation in result.outcome.violations:
            replay = f'{COMMAND} --scene "{result.cell.scene.name}" --only "{result.cell}"'
            findings.violations.append(f"{result.cell}: {violation} (again by: {replay})")
    findings.notes.extend([*NOTES, *matrix(results)])
    return findings


def _summarise(findings: Findings) -> None:
    for figure in findings.figures:
        _tell(f"{figure.name}: {figure.value}")
    verdict = "broken" if findings.violations else "holds"
    _tell(f"{findings.part}: {verdict}")


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
