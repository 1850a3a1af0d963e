"""``hourhand doctor``: runs all checks side by side, and prints their findings in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from rich.text import Text

from hourhand.aws.clock import SystemClock
from hourhand.cli.connection import DeploymentFlags
from hourhand.cli.doctor.api import api_looks
from hourhand.cli.doctor.asking import Aws, open_aws
from hourhand.cli.doctor.callers import caller_looks
from hourhand.cli.doctor.deployment import Deployment, find_deployment
from hourhand.cli.doctor.drift import Progress, drift_looks
from hourhand.cli.doctor.findings import (
    Finding,
    Look,
    NotSeen,
    Status,
    Verdict,
    merged,
    run_look,
    unknown,
    verdict_of,
)
from hourhand.cli.doctor.functions import function_looks
from hourhand.cli.doctor.identity import CREDENTIALS, credentials, judge_clock, skew_of
from hourhand.cli.doctor.queues import queue_looks
from hourhand.cli.doctor.ticking import ticking_looks
from hourhand.cli.doctor.versions import version_looks
from hourhand.cli.session import Session
from hourhand.ports.clock import CorrectableClock

EXIT_CODES = {Verdict.WELL: 0, Verdict.FAILED: 1, Verdict.UNKNOWN: 3}
"""2 is wrong usage, as everywhere."""

LOOKS_AT_ONCE = 12
"""Below `hourhand.aws.clients.MAX_CONNECTIONS`, and quick enough: about 25 looks of 0.1 s."""

_STYLES = {
    Status.OK: "green",
    Status.WARNING: "yellow",
    Status.FAILED: "bold red",
    Status.SKIPPED: "cyan",
    Status.UNKNOWN: "bold magenta",
}
_VERDICTS = {
    Verdict.WELL: "The deployment works",
    Verdict.FAILED: "The deployment needs fixes",
    Verdict.UNKNOWN: "Too little was checked to know whether the deployment works",
}
_STATUS_WIDTH = 9
_CHECK_WIDTH = 22


def run_doctor(session: Session, flags: DeploymentFlags) -> int:
    """Check the deployment, print the findings and the progress, and return the exit code.

    Raises `CommandError` without credentials or a network.
    """
    # Standard output has nothing but the findings; a pipe gets no progress.
    with session.err.status("Checking the deployment") as status:
        findings = find(flags, SystemClock(), status.update)
    if session.is_json:
        session.print_json(report_of(flags.stack_name, findings))
    else:
        for line in lines_of(findings):
            session.out.print(line, soft_wrap=True)
    return EXIT_CODES[verdict_of(findings)]


def find(
    flags: DeploymentFlags, clock: CorrectableClock, progress: Progress = lambda _: None
) -> list[Finding]:
    """Return all findings. ``clock`` is corrected by the dates of AWS's answers.

    Raises `CommandError` without credentials or a network.
    """
    aws = open_aws(flags, clock)
    return examine(aws, clock, flags.stack_name, progress)


def examine(
    aws: Aws, clock: CorrectableClock, stack: str, progress: Progress = lambda _: None
) -> list[Finding]:
    """Return all findings of ``stack``, in the order in which things depend on each other.

    Raises `CommandError` without credentials or a network.
    """
    try:
        findings = list(credentials(aws))
    except NotSeen as hindrance:
        if hindrance.no_access is not None:
            raise hindrance.as_error() from hindrance
        findings = [hindrance.of(CREDENTIALS)]
    skew = skew_of(aws)
    findings.append(judge_clock(skew))
    if skew is not None:
        clock.correct(skew.correction)
    deployment, of_stack = find_deployment(aws, stack)
    findings.extend(of_stack)
    if deployment is None:
        fix = "Fix the failures above, then run the command again."
        findings.append(
            unknown("everything else", "not checked: its name is an output of the stack", fix)
        )
        return findings
    # In parallel, because waits differ: AWS takes 0.1 s a call, a cold API several seconds.
    with ThreadPoolExecutor(LOOKS_AT_ONCE, thread_name_prefix="look") as threads:
        found = threads.map(run_look, looks_of(aws, deployment, progress))
        return merged([*findings, *itertools.chain.from_iterable(found)])


def looks_of(
    aws: Aws, deployment: Deployment, progress: Progress = lambda _: None
) -> Iterator[Look]:
    """Yield every check of a deployment."""
    # First, because it takes longest.
    yield from drift_looks(aws, deployment, progress)
    kinds = (
        queue_looks,
        function_looks,
        version_looks,
        caller_looks,
        ticking_looks,
        api_looks,
    )
    for looks in kinds:
        yield from looks(aws, deployment)


def lines_of(findings: Sequence[Finding]) -> Iterator[Text]:
    """Yield the lines to print: one for each finding, its fix below it, and a summary."""
    for finding in findings:
        style = _STYLES[finding.status]
        yield Text.assemble(
            (f"{finding.status:<{_STATUS_WIDTH}}", style),
            f"{finding.check:<{_CHECK_WIDTH}}",
            finding.seen,
        )
        if finding.fix:
            yield Text.assemble(" " * _STATUS_WIDTH, ("to do: ", "bold"), finding.fix)
    counts = {status: sum(f.status is status for f in findings) for status in Status}
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    yield Text()
    yield Text.assemble((_VERDICTS[verdict_of(findings)], "bold"), f": {told}.")


def report_of(stack: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the findings for programs."""
    verdict = verdict_of(findings)
    return {
        "stack": stack,
        "verdict": verdict,
        "is_well": verdict is Verdict.WELL,
        "findings": [asdict(finding) for finding in findings],
    }
