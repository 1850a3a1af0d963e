"""``python -m proof.api``: the API under attack, over real sockets."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from hourhand.api.app import ROUTES
from hourhand.local.backend import MEMORY, MOTO
from proof.api.assault import KINDS, Assault
from proof.api.conformance import check_conformance
from proof.api.hostile_texts import ALL_WORDS, INJECTIONS
from proof.api.served import Answered, served
from proof.api.texts_that_run import TRAPS
from proof.api.wire import Target
from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag

EXAMPLES_PER_OPERATION = 75
MAX_ROUNDS = 100
MAX_MORE_ROUNDS = 5
"""Rounds beyond the calls that were asked for, while chance has left a route without success."""

LASTING = {"expression": "0 9 * * MON-FRI", "handler": "echo"}
MOTO_EXAMPLES_PER_OPERATION = 10
MOTO_PHASES = "fuzzing,stateful"
MOTO_KINDS = tuple(kind for kind in KINDS if kind != "sizes")
"""moto takes its time: bodies of full size alone took five minutes. They are read by the same code
over memory."""


def main() -> int:
    """Attack, tell, and return 1 where something did not hold."""
    unwind_on_sigterm()
    options = _options()
    command = f"python -m proof.api --examples {options.examples} --seed {options.seed}"
    findings = Findings(part="The API under attack", command=command)
    with tempfile.TemporaryDirectory(prefix="hourhand-") as folder:
        _conform(findings, options.examples, options.seed, Path(folder))
        _conform_on_moto(findings, options.seed, Path(folder))
    for figure in findings.figures:
        _tell(f"{figure.name}: {figure.value}")
    for violation in findings.violations:
        _tell(f"VIOLATION: {violation}")
    _tell(f"{len(findings.violations)} violations; again: {command}")
    findings.write(options.figures)
    return 1 if findings.violations else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.api", description=__doc__)
    parser.add_argument(
        "--examples", type=int, default=10_000, help="calls by schemathesis, at least"
    )
    parser.add_argument("--seed", type=int, default=1)
    add_figures_flag(parser)
    return parser.parse_args()


def _conform(findings: Findings, examples: int, seed: int, folder: Path) -> None:
    """Strike the cloud in memory with all there is, then call it as its document says."""
    answered = Answered()
    made = 0
    with served(MEMORY, answered) as url:
        _assail(findings, url, seed, ALL_WORDS, "in memory")
        target, more = Target.of(url), 0
        for number in range(MAX_ROUNDS):
            if made >= examples:
                if more == MAX_MORE_ROUNDS or not answered.never_succeeded():
                    break
                more += 1
            # A schedule that no call deletes, so that there is one to pause and to backfill.
            target.request("PUT", "/v1/schedules/one", LASTING)
            began = time.monotonic()
            run = check_conformance(
                url, folder, seed=seed + number, examples_per_operation=EXAMPLES_PER_OPERATION
            )
            made += run.examples
            findings.violations += [f"seed {seed + number}: {text}" for text in run.failures]
            took = time.monotonic() - began
            _tell(f"schemathesis, seed {seed + number}: {run.examples:,} calls in {took:.0f} s")
            if run.failures:
                break
        health = target.request("GET", "/v1/health").status
    if health != 200:
        findings.violations.append(f"after all that the server answers {health}")
    never = answered.never_succeeded()
    findings.violations += [f"no call succeeded: {name}" for name in never]
    findings.count("calls by schemathesis", made)
    findings.count("routes called, with success", len(ROUTES) - len(never))
    findings.notes.append(_table(answered))


def _conform_on_moto(findings: Findings, seed: int, folder: Path) -> None:
    """Do some of it over moto, where what is sent ends in DynamoDB's expressions and items."""
    answered = Answered()
    with served(MOTO, answered) as url:
        _assail(findings, url, seed, INJECTIONS | {"an URL"}, "over moto", MOTO_KINDS)
        run = check_conformance(
            url,
            folder,
            seed=seed,
            examples_per_operation=MOTO_EXAMPLES_PER_OPERATION,
            phases=MOTO_PHASES,
        )
    findings.count("calls by schemathesis, over moto", run.examples)
    findings.violations += [f"over moto, seed {seed}: {text}" for text in run.failures]


def _assail(
    findings: Findings,
    url: str,
    seed: int,
    words: frozenset[str],
    where: str,
    kinds: tuple[str, ...] = tuple(KINDS),
) -> None:
    assault = Assault(
        Target.of(url), seed, words, lambda text: _tell(f"{text}, {where}"), kinds, running=TRAPS
    )
    assault.run()
    for kind, count in assault.counts.items():
        findings.count(f"hostile requests, {where}: {kind}", count)
    unanswered = assault.statuses.pop("closed", 0)
    findings.count(f"· answered, {where}", assault.statuses.total())
    findings.count(f"· no HTTP, closed, {where}", unanswered)
    findings.violations += [f"{where}: {text}" for text in assault.violations]


def _table(answered: Answered) -> str:
    """Return a table of all answers by route and class of status."""
    lines = ["| route | 2xx | 404, 409 | other 4xx | 5xx |", "|---|---|---|---|---|"]
    for route, statuses in sorted(answered.by_route.items()):
        missing = statuses[404] + statuses[409]
        by_class = {n: sum(c for s, c in statuses.items() if s // 100 == n) for n in (2, 4, 5)}
        row = (by_class[2], missing, by_class[4] - missing, by_class[5])
        lines.append(f"| `{route}` | " + " | ".join(f"{count:,}" for count in row) + " |")
    return "\n".join(lines)


def _tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
