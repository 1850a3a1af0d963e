"""The command: explore scenarios side by side, tell what was found, replay what was told."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, fields, replace

from proof.ending import unwind_on_sigterm
from proof.explorer.continuation import Continuation
from proof.explorer.machine import Machine
from proof.explorer.runs import RUNS, WALKED
from proof.explorer.scenario import Limits, Scenario
from proof.explorer.scenarios import ALL
from proof.explorer.search import Result, explore
from proof.explorer.states import Violation
from proof.explorer.story import replay, tell
from proof.explorer.walks import WalkResult, walk
from proof.figures import Findings, add_figures_flag

COMMAND = "python -m proof.explorer"
LIMIT_FLAGS = (
    *("crashes", "expiries", "throttles", "lost_answers", "stale", "duplicates", "losses"),
    "copies",
)
WALKS = 20_000


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work of a process: an exploration, or a share of the walks of a scenario."""

    scenario: str
    limits: Limits
    walks: int = 0
    seed: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 where a rule was broken."""
    unwind_on_sigterm()
    options = _parser().parse_args(arguments)
    if options.list:
        for scenario in ALL.values():
            _say(f"{scenario.name:24} {scenario.about}")
        return 0
    if options.replay is not None:
        return _replay(options)
    findings = Findings(
        part="Every interleaving and crash point of the real services", command=COMMAND
    )
    results = list(_results(_tasks(options), options.processes))
    _tell(results, findings)
    findings.write(options.figures)
    for sentence in findings.violations:
        _say(f"\nVIOLATION: {sentence}")
    return 1 if findings.violations else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--scenario", choices=sorted(ALL), action="append", help="default: all")
    parser.add_argument("--list", action="store_true", help="tell which scenarios there are")
    for name in LIMIT_FLAGS:
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, type=int, metavar="N", help=f"default: the scenario's own {name}")
    parser.add_argument(
        "--only-leases",
        action="store_const",
        const=True,
        help="time moves to the ends of leases alone while somebody is in the middle of something",
    )
    parser.add_argument("--liveness", choices=("none", "rest", "all"))
    parser.add_argument("--max-states", type=int, metavar="N")
    parser.add_argument("--walks", type=int, metavar="N", help="random walks with many faults")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the walks")
    parser.add_argument("--replay", metavar="CHOICES", help="tell the story of these choices")
    parser.add_argument(
        "--moving", metavar="PLACES", default="", help="of a replay: what was known to change then"
    )
    parser.add_argument(
        "--unreduced",
        action="store_true",
        help="of a replay: every call took its turn, as in walks",
    )
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    add_figures_flag(parser)
    return parser


def _limits(options: argparse.Namespace, limits: Limits) -> Limits:
    """Return limits with what the command line says in place of their own."""
    known = {each.name for each in fields(Limits)}
    given = {name: getattr(options, name, None) for name in known}
    return replace(limits, **{name: value for name, value in given.items() if value is not None})


def _tasks(options: argparse.Namespace) -> list[Task]:
    """Return what is to be done: all that `make prove` wants, or what the options name."""
    names = options.scenario or list(ALL)
    if options.walks is not None:
        return _walks(names, options.walks, options.seed)
    if _limits(options, Limits()) != Limits():
        return [Task(name, _limits(options, ALL[name].limits)) for name in names]
    tasks = [Task(run.scenario, run.limits) for run in RUNS if run.scenario in names]
    if not options.scenario:
        tasks += _walks(names, WALKS, options.seed)
    return tasks


def _walks(names: Sequence[str], walks: int, seed: int) -> list[Task]:
    walked = [name for name in names if name in WALKED]
    share = -(-walks // max(1, len(walked)))
    return [Task(name, Limits(), walks=share, seed=seed) for name in walked]


def _run(task: Task) -> Result | WalkResult:
    scenario = ALL[task.scenario]
    if task.walks:
        return walk(scenario, task.walks, task.seed)
    return explore(scenario, task.limits, progress=_say)


def _results(tasks: Sequence[Task], processes: int) -> Iterator[Result | WalkResult]:
    if processes == 1 or len(tasks) == 1:
        for task in tasks:
            yield _told(_run(task))
        return
    with ProcessPoolExecutor(processes) as pool:
        # Named and limited only: a scenario holds functions, which stay in their process.
        futures = [pool.submit(_run_plain, task) for task in tasks]
        for future in as_completed(futures):
            yield _told(future.result())


def _run_plain(task: Task) -> Result | WalkResult:
    result = _run(task)
    result.endings = set()
    return result


def _told(result: Result | WalkResult) -> Result | WalkResult:
    _say(result.summary())
    return result


def _tell(results: Sequence[Result | WalkResult], findings: Findings) -> None:
    explored = [result for result in results if isinstance(result, Result)]
    walked = [result for result in results if isinstance(result, WalkResult)]
    findings.count("scenarios explored", len({result.name for result in explored}))
    findings.count("states", sum(result.states for result in explored))
    findings.count("steps between them", sum(result.steps for result in explored))
    findings.count("worlds run on to their end", sum(result.worlds for result in explored))
    if walked:
        findings.count("random walks", sum(result.walks for result in walked))
        findings.count("steps of walks", sum(result.steps for result in walked))
    if explored:
        findings.notes.append(_table(explored))
    must_end = {(run.scenario, run.limits) for run in RUNS if run.must_end}
    for result in results:
        must = (result.name, result.limits) in must_end
        if isinstance(result, Result) and must and not _is_told(result):
            findings.violations.append(f"{result.name}: not explored to its end")
        for violation in result.violations:
            findings.violations.append(_violation(result.name, result.limits, violation))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _is_told(result: Result) -> bool:
    return result.is_complete or bool(result.violations)


def _table(results: Sequence[Result]) -> str:
    lines = ["| scenario | faults | all states | states | steps | seconds |", "|---" * 6 + "|"]
    for result in sorted(results, key=lambda each: each.name):
        faults = told_limits(result.limits)
        lines.append(
            f"| {result.name} | {faults} | {'yes' if result.is_complete else 'no'} "
            f"| {result.states:,} | {result.steps:,} | {result.seconds:.0f} |"
        )
    return "\n".join(lines)


def told_limits(limits: Limits) -> str:
    """Return limits in words."""
    told = [
        f"{getattr(limits, name)} {name.replace('_', ' ')}"
        for name in LIMIT_FLAGS
        if getattr(limits, name)
    ]
    if limits.only_leases:
        told.append("time to the ends of leases alone")
    return ", ".join(told) or "none"


def _violation(name: str, limits: Limits, violation: Violation) -> str:
    flags = " ".join(f"--{flag.replace('_', '-')} {getattr(limits, flag)}" for flag in LIMIT_FLAGS)
    story = "\n".join(tell(ALL[name], limits, violation))
    flags += " --only-leases" if limits.only_leases else ""
    flags += "" if violation.reduced else " --unreduced"
    flags += f" --moving '{'; '.join(violation.moving)}'"
    again = f"{COMMAND} --scenario {name} {flags} --replay '{'; '.join(violation.choices)}'"
    return f"{name}: {violation.sentence}\n{story}\nreplay: {again}"


def _replay(options: argparse.Namespace) -> int:
    scenario: Scenario = ALL[options.scenario[0]]
    limits = _limits(options, scenario.limits)
    violation = Violation("", _parts(options.replay), _parts(options.moving), not options.unreduced)
    _say("\n".join(tell(scenario, limits, violation)))
    with scenario.in_force():
        machine = Machine.for_replay(scenario, limits, violation)
        steps = replay(machine, violation.choices)
        last = steps[-1][1].state if steps else machine.first()
        broke = [sentence for _, step in steps for sentence in step.broke]
        broke += Continuation(machine).judge(last)
    for sentence in broke:
        _say(f"broken: {sentence}")
    return 1 if broke else 0


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";") if part.strip())
