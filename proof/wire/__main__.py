"""Faults on the wire: every call that the functions make, and everything that can befall it.

Needs `make emulator`: ministack answers instead of AWS, with `microburst` before it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import conftest  # noqa: F401 (no real AWS account can be reached)
from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag
from proof.wire.calls import Call
from proof.wire.cells import NOT_MET
from proof.wire.completeness import gaps
from proof.wire.faults import Span
from proof.wire.matrix import Cell, scenes
from proof.wire.running import Result, Run
from proof.wire.servers import running_servers
from proof.wire.table import matrix
from proof.wire.timeline import Timeline
from proof.wire.wire import Wire
from proof.wire.world import Cloud

COMMAND = "python -m proof.wire"
PROGRESS_SECONDS = 15.0

NOTES = (
    "The functions are called by their entry points, with their real adapters and clients (4 "
    "tries, standard mode). `microburst` injects the faults in front of ministack. These faults "
    "are injected in the client instead: SQS's throttling codes (the proxy adds a namespace that "
    "SQS does not use), a lost answer that consists only of a head, and refused members of "
    "batches. Time is virtual in the functions and in the emulator's queues: leases, delays, ticks "
    "and the clients' pauses pass without waiting. In the cells of timeouts the clients wait "
    "0.25 s for an answer instead of 5 s, and the clocks advance by 5 s.",
    "Each call meets every fault in the first scene that makes the call; in later scenes, new "
    "kinds of its requests do. A fault of one send, which the client's next try corrects, hits all "
    "of these calls of a scene in one run (one that takes time: as many as take at most 40 s). If "
    "such a run had more consequences than retries, its cells run one by one. Lasting faults and "
    "faults of members of batches run one by one. For reads, which change nothing, the lasting "
    "*applied late* is left out beside *answer lost*. The rows of the *pollers* are those of the "
    "local cloud; on AWS Lambda itself deletes messages.",
    "A fault counts only if the client observed it: the status, code and text of an error, the end "
    "of the connection, an answer that cannot be read, the proxy's mark on a slow answer (whose "
    "time passes on the clocks), and of a batch that AWS applied exactly the members that were not "
    "refused. A fault that the client did not observe runs once more, and is then a violation.",
    "After each cell, every accepted job has ended as it does without the fault, and its history "
    "has one end. No job ran twice under one claim, or twice to its end without an attempt that is "
    "recorded as lost. No entry and no message is left, every DEAD job has its dead letter, every "
    "scheduled time of a schedule exists once, callers got no error except 503, and no request "
    "failed in an unexpected way.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all cells, or those that are asked for; return the exit code."""
    unwind_on_sigterm()
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
            results = _play(run, asked.scene, asked.only)
    missing = [] if asked.scene or asked.only else list(gaps(run.made, run.shapes, results))
    findings = _findings(run, results, missing, time.monotonic() - started)
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
    add_figures_flag(parser)
    return parser


def _play(run: Run, names: Sequence[str], only: str) -> list[Result]:
    def is_wanted(cell: Cell) -> bool:
        return only in str(cell)

    results: list[Result] = []
    told_at = time.monotonic()
    for result in run.play(scenes(can_batch=True, names=names), is_wanted):
        results.append(result)
        for violation in result.violations:
            _tell(f"BROKEN {result.cell}: {violation}")
        if time.monotonic() - told_at > PROGRESS_SECONDS:
            told_at = time.monotonic()
            _tell(f"{len(results)} cells in {run.plays} plays; now: {result.cell}")
    return results


def _findings(
    run: Run, results: Sequence[Result], missing: Sequence[str], seconds: float
) -> Findings:
    findings = Findings(part="Faults on the wire", command=COMMAND)
    words = Counter(result.word for result in results)
    findings.count("calls (function, operation, resource)", len(run.made))
    findings.count("kinds of requests that meet every fault", len(run.shapes))
    findings.count(
        "kinds of requests beside these, made after a fault or once in an installation",
        len(run.shapes_made - run.shapes),
    )
    findings.count("cells: call x fault x how long it lasts x scene", len(_cells(results)))
    findings.count(
        "kinds of requests x fault x how long it lasts, seen to be met",
        sum(len(result.met) for result in results),
    )
    findings.count("plays", run.plays)
    findings.count("plays repeated, as a kind of request had not met its fault", run.repeated)
    findings.count("faults that the clients saw arrive", sum(result.injected for result in results))
    findings.count("sends", run.wire.sent)
    findings.count("cells whose fault was not met", words[NOT_MET])
    findings.count("calls not listed, and kinds of requests that a fault never met", len(missing))
    findings.count("seconds", round(seconds))
    for result in results:
        for violation in result.violations:
            replay = f'{COMMAND} --scene "{result.cell.scene.name}" --only "{result.cell}"'
            findings.violations.append(f"{result.cell}: {violation} (again by: {replay})")
    findings.violations.extend([*run.broken_together, *missing])
    findings.notes.extend([*NOTES, *_not_met(results), *matrix(results)])
    return findings


def _cells(results: Sequence[Result]) -> set[tuple[str, Call, str, Span]]:
    cells = [result.cell for result in results if result.word != NOT_MET]
    return {(cell.scene.name, cell.call, cell.fault.name, cell.span) for cell in cells}


def _not_met(results: Sequence[Result]) -> list[str]:
    """Tell which cells' requests were not made when they were played, but when rehearsed."""
    cells = [str(result.cell) for result in results if result.word == NOT_MET]
    return [f"Not met, beside other kinds of requests that were: {'; '.join(cells)}."] * bool(cells)


def _summarise(findings: Findings) -> None:
    for violation in findings.violations:
        _tell(f"VIOLATION {violation}")
    for figure in findings.figures:
        _tell(f"{figure.name}: {figure.value}")
    verdict = "broken" if findings.violations else "holds"
    _tell(f"{findings.part}: {verdict}")


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
