"""The figures of the chaos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hourhand.domain.jobs.job import EventKind
from hourhand.domain.ticks.clock_skew import SkewVerdict
from hourhand.services.jobs.queries import percentile
from proof.chaos.course import Outcome
from proof.chaos.evidence import Ending, Evidence, Kind, Trouble, Violation
from proof.chaos.gather import totals_in
from proof.chaos.ledger import End
from proof.chaos.plan import TIME_SCALE
from proof.chaos.rules_of_faults import audits, is_scheduler, pauses_past_a_lease
from proof.chaos.rules_of_limits import crowds, paces
from proof.chaos.rules_of_runs import Verdict, losses, overlaps, repeats, returns
from proof.figures import Findings

PART = "chaos"


WHY_NOT = (Verdict.PAUSED, Verdict.CLOCK, Verdict.LOST, Verdict.CUT)
"""Why a rule that looked at something did not judge it as it judges all else."""

WAITING = {Kind.LIMITED, Kind.PACED}

PROMISED = {
    "lost": "jobs lost",
    "ending": "jobs with a wrong final state",
    "commit": "attempts or jobs committed by two processes, or not by the owner",
    "overlap": "runs at the same time without a pause or a wrong clock",
    "early": "runs before their time, by more than the worker's clock was ahead",
    "repeat": "runs again without a recorded expiry or failed attempt",
    "lease": "attempts recorded as lost before the end of their lease",
    "limit": "jobs of one key that ran beside more than its limit allows",
    "rate": "starts above a rate",
}
"""What the product promises, by the name of the rule; shown even if no violation was found."""


def findings_of(
    command: str, stormy: Outcome, quiet: Outcome | None, violations: Sequence[Violation]
) -> Findings:
    """Return what was found, as `make prove` takes it."""
    evidence = stormy.evidence
    findings = Findings(part=PART, command=command)
    findings.count("jobs accepted", len(evidence.promises))
    findings.count("of these, of schedules", stormy.occurrences)
    findings.count("submissions that met the job of their unique key", evidence.met)
    _count_faults(findings, evidence)
    _count_consequences(findings, stormy)
    _count_judged(findings, evidence)
    broken = Counter(violation.rule for violation in violations)
    for rule, told in PROMISED.items():
        findings.count(told, broken.pop(rule, 0))
    for rule, number in sorted(broken.items()):
        findings.count(f"other rules broken: {rule}", number)
    findings.count("minutes with faults", f"{stormy.seconds / 60:.1f}")
    if quiet is not None:
        findings.count("minutes without", f"{quiet.seconds / 60:.1f}")
    findings.violations.extend(str(violation) for violation in violations)
    findings.notes.append(_lateness_table(stormy, quiet))
    findings.notes.append(
        "The seed determines the jobs and the plan of the faults, but not the timing of processes."
        f" All durations of the protocol are {TIME_SCALE:g} of the product's: the lease is 9 s, a"
        " tick 12 s, the look-ahead 60 s. Exceptions: the wait of 2 s before a claim, and further"
        " messages after at most a minute, because there is no CloudWatch with the age of a queue."
        " Lateness is measured in the handlers' own ledger: the first line of the first run minus"
        " `run_at`. The API runs in the driver's own process and is not killed."
    )
    return findings


def _count_consequences(findings: Findings, stormy: Outcome) -> None:
    evidence, totals = stormy.evidence, totals_in(stormy.news)
    lost = sum(e.kind is EventKind.LOST for j in evidence.endings.values() for e in j.history)
    letters = stormy.dead_letters_sent
    findings.count("runs of handlers", len(evidence.runs))
    died = sum(run.how is End.DIED for run in evidence.runs)
    findings.count("runs that died with their process", died)
    findings.count("attempts on record as lost", lost)
    findings.count("commits refused because the lease was lost", totals["commits_refused"])
    findings.count("messages dropped as duplicates", totals["duplicates_dropped"])
    refused = sum(tick.verdict == SkewVerdict.REFUSE for tick in evidence.ticks)
    findings.count("ticks that did not lead because of their clock", refused)
    findings.count("dead letters", letters)
    findings.count("dead letters beyond one a job", letters - len(evidence.dead_letters))


def summary(findings: Findings) -> str:
    """Return the findings for a terminal."""
    width = max(len(figure.name) for figure in findings.figures)
    lines = [f"{figure.name:<{width}}  {figure.value}" for figure in findings.figures]
    verdict = "holds" if not findings.violations else f"{len(findings.violations)} VIOLATIONS"
    return "\n".join(["", *lines, "", findings.notes[0], "", f"chaos: {verdict}"])


def _count_faults(findings: Findings, evidence: Evidence) -> None:
    faults = evidence.faults
    kills = [fault for fault in faults if fault.trouble is Trouble.KILL]
    findings.count("processes killed (kill -9)", len(kills))
    findings.count("of these, schedulers", sum(is_scheduler(fault) for fault in kills))
    findings.count("of these, with the leader's lease", sum(fault.is_leader for fault in kills))
    past = pauses_past_a_lease(evidence)
    pauses = sum(fault.trouble is Trouble.PAUSE for fault in faults)
    findings.count("processes paused", pauses)
    leaders = sum(is_scheduler(fault) for fault in past)
    findings.count("of these, leaders, past their lease", leaders)
    findings.count("of these, workers in a run, past its lease", len(past) - leaders)
    clocks = [fault for fault in faults if fault.trouble is Trouble.CLOCK]
    findings.count("clocks stepped and corrected again", len(clocks))
    worst = max((abs(fault.seconds) for fault in clocks), default=0.0)
    findings.count("furthest that a clock was off, s", f"{worst:.0f}")
    findings.count("purges of all queues", sum(f.trouble is Trouble.PURGE for f in faults))
    findings.count("planned faults that were not injected", sum(evidence.dropped.values()))


def _count_judged(findings: Findings, evidence: Evidence) -> None:
    """Say how much was judged, and how much let through and why: a rule may look at nothing."""
    for what, judged in (
        ("runs side by side", overlaps(evidence)),
        ("runs again after a snooze", returns(evidence)),
        ("repeats", repeats(evidence)),
        ("attempts lost that had begun", losses(evidence)),
        ("runs under a limit of their key", crowds(evidence)),
        ("starts under a rate", paces(evidence)),
    ):
        found = Counter(one.verdict for one in judged)
        findings.count(what, found.total())
        for verdict in WHY_NOT:
            if found[verdict]:
                findings.count(f"· {what}, {verdict}", found[verdict])
    verdicts = Counter(verdict for _, verdict, _ in audits(evidence))
    findings.count("clocks of schedulers stepped", verdicts.total())
    findings.count("· their audits judged", verdicts.total() - verdicts[None])


def _lateness_table(stormy: Outcome, quiet: Outcome | None) -> str:
    evidence = stormy.evidence
    late = lateness(evidence)
    again = {job_id for job_id in late if _was_sent_again(evidence.endings[job_id])}
    rows = [] if quiet is None else [("without faults", list(lateness(quiet.evidence).values()))]
    rows += [
        ("with faults", list(late.values())),
        ("· their message arrived", [v for i, v in late.items() if i not in again]),
        (
            "· purged, or with a worker that died: sent again",
            [v for i, v in late.items() if i in again],
        ),
    ]
    head = "| lateness of first runs | jobs | p50 | p90 | p99 | latest |\n" + "|---" * 6 + "|"
    return "\n".join([head, *(_row(name, values) for name, values in rows)])


def lateness(evidence: Evidence) -> dict[str, float]:
    """Return in seconds how late each job first ran, by the ledger; those that ran at all.

    A job that waits for a slot or a start time is not late.
    """
    return {
        job_id: runs[0].began_at - evidence.promises[job_id].run_at
        for job_id, runs in evidence.runs_by_job().items()
        if job_id in evidence.promises and evidence.promises[job_id].kind not in WAITING
    }


def _was_sent_again(ending: Ending) -> bool:
    return any(event.kind is EventKind.DISPATCHED_AGAIN for event in ending.history)


def _row(name: str, seconds: Iterable[float]) -> str:
    late = sorted(round(1000 * one) for one in seconds)
    shares = [percentile(late, share) for share in (50, 90, 99)]
    told = [_told(one) for one in (*shares, late[-1] if late else None)]
    return f"| {name} | {len(late):,} | " + " | ".join(told) + " |"


def _told(milliseconds: int | None) -> str:
    if milliseconds is None:
        return "-"
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
