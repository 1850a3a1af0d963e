"""What is checked: the model at its bounds, and its variants, each of which must fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Property(StrEnum):
    """``SAFETY``: the assertions in every state. ``LIVENESS``: `finally`, under weak fairness."""

    SAFETY = "safety"
    LIVENESS = "liveness"


@dataclass(frozen=True, slots=True)
class Check:
    """One search. ``spoiled``: the rule that a variant drops; ``None`` for the model itself.

    ``bounds``: the names that the model's first lines give defaults for. ``story_shows``: how
    the counterexample must end, so that a variant fails for the reason that it is there for.
    """

    name: str
    source: str
    kind: Property
    bounds: Mapping[str, int] = field(default_factory=dict)
    spoiled: str | None = None
    story_shows: str = ""

    @property
    def must_fail(self) -> bool:
        return self.spoiled is not None

    @property
    def definitions(self) -> list[str]:
        """The bounds and the variant as the preprocessor takes them."""
        given = [f"-D{name}={value}" for name, value in self.bounds.items()]
        if self.kind is Property.LIVENESS:
            given.append("-DLIVENESS")
        return [*given, f"-D{self.spoiled}"] if self.spoiled else given


JOB = "job.pml"
WATERMARK = "watermark.pml"


def _job(
    workers: int, schedulers: int, attempts: int, faults: int, redrives: int
) -> dict[str, int]:
    return {
        "WORKERS": workers,
        "SCHEDULERS": schedulers,
        "MAX_ATTEMPTS": attempts,
        "FAULTS": faults,
        "REDRIVES": redrives,
    }


def _index(writers: int, sweepers: int, end: int) -> dict[str, int]:
    return {"WRITERS": writers, "SWEEPERS": sweepers, "END": end}


SMALLEST = _job(1, 1, 2, 1, 0)
TWO_WORKERS = _job(2, 1, 2, 1, 0)
ONE_EACH = _index(1, 1, 5)

HOLDS = (
    Check("two attempts, two faults", JOB, Property.SAFETY, _job(2, 2, 2, 2, 0)),
    Check("a redrive, one fault", JOB, Property.SAFETY, _job(2, 2, 1, 1, 1)),
    Check("two workers, one fault", JOB, Property.LIVENESS, _job(2, 1, 1, 1, 0)),
    Check("two schedulers, one fault", JOB, Property.LIVENESS, _job(1, 2, 1, 1, 0)),
    Check("two attempts, one fault", JOB, Property.LIVENESS, SMALLEST),
    Check("the watermark", WATERMARK, Property.SAFETY, _index(1, 1, 6)),
)

_SAFETY, _LIVENESS = Property.SAFETY, Property.LIVENESS
FAILS = (
    Check(
        "complete without the token", JOB, _SAFETY, TWO_WORKERS, "NO_FENCE", "assert((holder==me))"
    ),
    Check(
        "recover without naming the lease",
        JOB,
        _SAFETY,
        TWO_WORKERS,
        "RECOVER_ANY_LEASE",
        "assert(lapsed)",
    ),
    Check(
        "claim while a lease lives",
        JOB,
        _SAFETY,
        TWO_WORKERS,
        "CLAIM_LIVE_LEASE",
        "assert(((holder==0)||lapsed))",
    ),
    Check("claim whatever the state", JOB, _SAFETY, TWO_WORKERS, "CLAIM_ANY_STATE", "assert("),
    Check(
        "clear the entry, then send the dead letter",
        JOB,
        _SAFETY,
        TWO_WORKERS,
        "CLEAR_BEFORE_LETTER",
        "clears the entry",
    ),
    Check(
        "finish without naming the generation",
        JOB,
        _SAFETY,
        _job(1, 1, 1, 0, 1),
        "FINISH_ANY_ROUND",
        "clears the entry",
    ),
    Check("no sweep", JOB, _LIVENESS, SMALLEST, "NO_SWEEP", "CYCLE"),
    Check("never send again", JOB, _LIVENESS, SMALLEST, "NO_REDISPATCH", "purged"),
    Check("retry despite a cancel", JOB, _LIVENESS, SMALLEST, "RETRY_DESPITE_CANCEL", "asks"),
    Check("a leader's lease never ends", JOB, _LIVENESS, SMALLEST, "LEADER_FOR_EVER", "DIES"),
    Check("the watermark past an open bucket", WATERMARK, _SAFETY, ONE_EACH, "PAST_OPEN", "Sweep"),
    Check("a trail without the lag", WATERMARK, _SAFETY, ONE_EACH, "SHORT_TRAIL", "Sweep"),
    Check("a put beyond the stall bound", WATERMARK, _SAFETY, ONE_EACH, "LATE_PUT", "Sweep"),
)

FAST = (
    Check("two workers", JOB, Property.SAFETY, _job(2, 1, 1, 1, 0)),
    Check("each alone", JOB, Property.LIVENESS, _job(1, 1, 1, 1, 0)),
    Check("the watermark", WATERMARK, Property.SAFETY, _index(1, 1, 5)),
)
