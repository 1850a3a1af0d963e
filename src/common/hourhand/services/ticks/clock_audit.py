"""Compares the local clock with AWS's own time, and corrects it only beyond doubt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hourhand.domain.ticks.clock_skew import Skew, SkewVerdict, estimate_skew, judge_skew
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import CorrectableClock
from hourhand.ports.queues import Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import ask_optionally


@dataclass(frozen=True, slots=True)
class SkewReport:
    """What the audit found."""

    skew: Skew | None
    verdict: SkewVerdict

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
        sample = ask_optionally(
            self.telemetry,
            "The clock could not be compared with AWS's. It is not corrected.",
            self.queues.probe_time,
        )
        skew = estimate_skew([sample] if sample is not None else [])
        verdict = judge_skew(skew, self.timings)
        if skew is None:
            return SkewReport(None, verdict)
        skew_ms = abs(skew.correction) / timedelta(milliseconds=1)
        self.telemetry.gauge("skew_ms", skew_ms, "Milliseconds")
        self.clock.correct(skew.correction)
        if verdict is not SkewVerdict.FINE:
            self.telemetry.warning(
                "The local clock is off.",
                verdict=verdict,
                correction_ms=skew.correction // timedelta(milliseconds=1),
            )
        return SkewReport(skew, verdict)
