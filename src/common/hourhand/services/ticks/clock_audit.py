"""Compares the local clock with AWS's own time, and corrects it only beyond doubt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.ticks.clock_skew import Skew, SkewVerdict, estimate_skew, judge_skew
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import CorrectableClock
from hourhand.ports.queues import Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import ask_optionally


class ClockSet(Exception):
    """The local clock was set to another time after its audit."""


@dataclass(frozen=True, slots=True)
class SkewReport:
    """What the audit found.

    ``right``: a reading of the clock that the audit has corrected; ``None`` if it had no answer.
    ``asked_at``, ``answered_at``: the monotonic clock before and after that reading.
    """

    skew: Skew | None
    verdict: SkewVerdict
    right: datetime | None = None
    asked_at: float = 0.0
    answered_at: float = 0.0

    @property
    def is_sure(self) -> bool:
        """Whether the clock is known to be right, to within what is tolerated."""
        return self.skew is not None and self.verdict is SkewVerdict.FINE

    @property
    def size(self) -> timedelta:
        """How far the clock is off for sure."""
        return abs(self.skew.correction) if self.skew else timedelta(0)


@dataclass(frozen=True, slots=True)
class ClockAudit:
    """Asks SQS for the time once a tick."""

    queues: Queues
    clock: CorrectableClock
    timings: Timings
    telemetry: Telemetry

    def run(self) -> SkewReport:
        """Measure, publish and correct the skew. An audit without an answer changes nothing."""
        asked_at = self.clock.monotonic()
        sample = ask_optionally(
            self.telemetry,
            "The clock could not be compared with AWS's. It is not corrected.",
            self.queues.probe_time,
        )
        answered_at = self.clock.monotonic()
        if sample is None:
            return SkewReport(None, judge_skew(None, self.timings))
        skew = estimate_skew([sample])
        verdict = judge_skew(skew, self.timings)
        # From before the question: `time_after` finds a clock that was set during it, too.
        right = sample.sent_at
        if skew is not None:
            right += skew.correction
            skew_ms = abs(skew.correction) / timedelta(milliseconds=1)
            self.telemetry.gauge("skew_ms", skew_ms, "Milliseconds")
            self.clock.correct(skew.correction)
            if verdict is not SkewVerdict.FINE:
                self.telemetry.warning(
                    "The local clock is off.",
                    verdict=verdict,
                    correction_ms=skew.correction // timedelta(milliseconds=1),
                )
        return SkewReport(skew, verdict, right, asked_at, answered_at)

    def time_after(self, report: SkewReport) -> datetime:
        """Return the time by which a tick decides, which the monotonic clock confirms.

        Raises `ClockSet` if the clock is off by more than the margin against the time that passed
        since the audit: it was set meanwhile, as that of a thawed machine is. A tick that trusts
        such a clock takes due times for missed.
        """
        before, now, after = self.clock.monotonic(), self.clock.now(), self.clock.monotonic()
        if report.right is not None:
            margin = self.timings.clock_margin.total_seconds()
            moved = (now - report.right).total_seconds()
            at_least, at_most = before - report.answered_at, after - report.asked_at
            if not at_least - margin <= moved <= at_most + margin:
                raise ClockSet(f"{moved:.1f} s since its audit, in {at_most:.1f} s")
        return now
