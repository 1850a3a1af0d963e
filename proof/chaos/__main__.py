"""``python -m proof.chaos``: processes of the local cloud, killed, paused and misled."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from bench.emulator import PROGRAM, emulator
from hourhand.local.backend import MOTO
from proof.chaos.course import Course, Outcome, run
from proof.chaos.evidence import Demand, Violation
from proof.chaos.plan import Size, demand_of, plan_faults, plan_jobs
from proof.chaos.plants import PLANTS
from proof.chaos.report import findings_of, summary
from proof.chaos.rules import judge
from proof.chaos.story import story_of
from proof.ending import unwind_on_sigterm
from proof.figures import add_figures_flag

QUIET_SHARE = 3
"""The run without faults has a third of the jobs, at the same pace: of the same mix."""

MOST_STORIES = 10

Say = Callable[[str], None]


def main() -> int:
    """Run it; 0: everything held."""
    unwind_on_sigterm()
    options = _parse()
    began = time.monotonic()

    def say(text: str) -> None:
        _say(f"{time.monotonic() - began:6.0f} s  {text}")

    size = Size(jobs=options.jobs, kills=options.kills, jobs_a_second=options.pace)
    folder = Path(tempfile.mkdtemp(prefix="hourhand-chaos-"))
    say("with faults")
    stormy = _run(size, options, folder / "with-faults", say, with_faults=True)
    quiet = None
    if options.quiet_jobs != 0:
        jobs = options.quiet_jobs or max(1, size.jobs // QUIET_SHARE)
        say("without faults")
        small = replace(size, jobs=jobs, kills=0)
        quiet = _run(small, options, folder / "without-faults", say, with_faults=False)
    violations = [(v, stormy) for v in judge(stormy.evidence)]
    violations += [(v, quiet) for v in judge(quiet.evidence)] if quiet is not None else []
    findings = findings_of(_command(options), stormy, quiet, [v for v, _ in violations])
    findings.write(options.figures)
    _say(summary(findings))
    if violations:
        _tell(violations, folder, options)
        return 1
    shutil.rmtree(folder)
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="decides the jobs and the faults")
    parser.add_argument("--pace", type=float, default=12.0, help="jobs submitted a second")
    parser.add_argument(
        "--quiet-jobs", type=int, help="jobs of the run without faults; default: a third; 0: none"
    )
    parser.add_argument(
        "--backend",
        choices=("emulator", MOTO),
        default="emulator" if PROGRAM.exists() else MOTO,
        help="what stands for AWS: ministack (`make emulator`) or moto",
    )
    parser.add_argument(
        "--plant", choices=sorted(PLANTS), help="break the product so, and see that it is found"
    )
    add_figures_flag(parser)
    return parser.parse_args()


def _run(
    size: Size, options: argparse.Namespace, folder: Path, say: Say, *, with_faults: bool
) -> Outcome:
    with ExitStack() as stack:
        backend = MOTO if options.backend == MOTO else stack.enter_context(emulator())
        return run(
            Course(
                size=size,
                jobs=plan_jobs(size, options.seed),
                faults=plan_faults(size, options.seed) if with_faults else (),
                folder=folder,
                seed=options.seed,
                demand=demand_of(size) if with_faults else Demand(jobs=size.jobs),
                backend=backend,
                plant=options.plant,
                say=say,
            )
        )


def _command(options: argparse.Namespace) -> str:
    command = f"python -m proof.chaos --kills {options.kills} --jobs {options.jobs}"
    return f"{command} --seed {options.seed}"


def _tell(
    violations: list[tuple[Violation, Outcome]], folder: Path, options: argparse.Namespace
) -> None:
    for violation, outcome in violations[:MOST_STORIES]:
        _say(f"\nVIOLATED  {violation}")
        if violation.job_id is not None:
            _say(story_of(violation.job_id, outcome.evidence))
    _say(f"\n{len(violations)} violations. Ledgers and logs are kept in {folder}.")
    _say(f"Again, with the same plan (the timing of processes has no seed): {_command(options)}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
