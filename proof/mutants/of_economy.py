"""Mutants of the dispatch without marks."""

from __future__ import annotations

from proof.mutants.mutant import Mutant, Patch

_ACTIONS = "hourhand.domain.jobs.actions"
_ECONOMY = "hourhand.domain.ticks.unmarked_dispatch"
_SCHEDULING = "hourhand.services.ticks.tick"
_RECORDS = "if self.skips_marks and audit.is_sure and completed and counts.sent_all:"

MUTANTS = (
    Mutant(
        name="the record speaks of what the index may not have shown",
        rule="An index is a hint. What was written within its lag, a writer's stall "
        "and twice the skew before a sweep, the sweep may not have seen.",
        patches=(
            Patch(
                _ECONOMY,
                "return SentWindow(now, now - timings.settling, horizon)",
                "return SentWindow(now, now, horizon)",
            ),
        ),
        killers=("economy: an index lags",),
    ),
    Mutant(
        name="the record speaks of what lies beyond the horizon",
        rule="A sweep sends what is due within its look-ahead.",
        patches=(
            Patch(
                _ECONOMY,
                "is_due = job.due_at is not None and job.due_at <= self.due_until",
                "is_due = job.due_at is not None",
            ),
        ),
        killers=("economy: a sweep ends short of a job",),
    ),
    Mutant(
        name="a sweep whose message was refused leaves its record",
        rule="What was not accepted is sent by the next tick.",
        patches=(Patch(_SCHEDULING, _RECORDS, _RECORDS.replace(" and counts.sent_all", "")),),
        killers=("economy: a queue refuses a message",),
    ),
    Mutant(
        name="a sweep that did not end leaves its record",
        rule="Read to the last page; what one tick leaves, the next one does.",
        patches=(Patch(_SCHEDULING, _RECORDS, _RECORDS.replace(" and completed", "")),),
        killers=("economy: a tick has no time",),
    ),
    Mutant(
        name="a clock of which nothing is known leaves its record",
        rule="Clocks only within stated bounds.",
        patches=(Patch(_SCHEDULING, _RECORDS, _RECORDS.replace(" and audit.is_sure", "")),),
        equivalent="Nobody decides by such a record who does not trust a clock himself: `economy` "
        "asks for the same. What a right clock reads of it lasts for one tick, which leaves its "
        "own record; four more come before the job that it passed over is due.",
    ),
    Mutant(
        name="what has no mark is never missed",
        rule="Whatever dies, a later sweep finds the job and sends it again.",
        patches=(
            Patch(
                _ACTIONS,
                "return Dispatch(is_missed=True) if is_missed else Leave()",
                "return Leave()",
            ),
        ),
        killers=("economy: a message is lost",),
    ),
    Mutant(
        name="a mark is spared that no record will stand for",
        rule="A message more costs a refused claim, which is as much as a mark.",
        patches=(
            Patch(
                _ACTIONS,
                "return Dispatch(is_marked=not economy.spares_mark(job))",
                "return Dispatch(is_marked=False)",
            ),
        ),
        killers=("economy: a job is seen at every tick",),
    ),
    Mutant(
        name="marks are spared though no sweep ends",
        rule="What is sent and neither marked nor on record is sent by every tick.",
        patches=(
            Patch(
                _ECONOMY,
                "if window is None or now - window.swept_at > FRESH_TICKS * timings.tick:",
                "if window is None:",
            ),
        ),
        killers=("economy: no sweep sends all",),
    ),
)
