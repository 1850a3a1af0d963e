"""What is checked: the model at its bounds, and its variants, each of which must fail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Property(StrEnum):
    """``SAFETY``: the assertions in every state. ``LIVENESS``: `finally`, under weak fairness."""

    SAFETY = "safety"
    LIVENESS = "liveness"


@dataclass(frozen=True, slots=True)
class Check:
    """One search. ``spoiled``: the rule that a variant drops; ``None`` for the model itself.

    ``bounds``: the names that the model's first lines give defaults for. ``story_shows``: what
    lines of the counterexample must match, in this order, and ``story_lacks``: what none may, so
    that a variant fails for the reason that it is there for.
    """

    name: str
    source: str
    kind: Property
    bounds: Mapping[str, int] = field(default_factory=dict)
    spoiled: str | None = None
    story_shows: tuple[str, ...] = ()
    story_lacks: tuple[str, ...] = ()

    @property
    def must_fail(self) -> bool:
        return self.spoiled is not None

    def fits(self, story: Sequence[str]) -> bool:
        """Whether this counterexample is the one that the variant is there for."""
        lines = iter(story)
        shows = all(any(re.search(wanted, line) for line in lines) for wanted in self.story_shows)
        return shows and not any(
            re.search(unwanted, line) for unwanted in self.story_lacks for line in story
        )

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


def _index(end: int) -> dict[str, int]:
    return {"WRITERS": 1, "SWEEPERS": 1, "END": end}


def _asserts(what: str) -> str:
    return re.escape(f"text of failed assertion: assert({what})")


SMALLEST = _job(1, 1, 2, 1, 0)
TWO_WORKERS = _job(2, 1, 2, 1, 0)
FIVE_STEPS = _index(5)
TWO_SWEEPS = {"WRITERS": 1, "SWEEPERS": 2, "END": 3, "MOVES": 0, "LOOKS": 1}

HOLDS = (
    Check("two attempts, two faults", JOB, Property.SAFETY, _job(2, 2, 2, 2, 0)),
    Check("a redrive, one fault", JOB, Property.SAFETY, _job(2, 2, 1, 1, 1)),
    Check("two workers, one fault", JOB, Property.LIVENESS, _job(2, 1, 1, 1, 0)),
    Check("two schedulers, one fault", JOB, Property.LIVENESS, _job(1, 2, 1, 1, 0)),
    Check("two attempts, one fault", JOB, Property.LIVENESS, SMALLEST),
    Check("the watermark", WATERMARK, Property.SAFETY, _index(6)),
    Check("the watermark, two sweeps at once", WATERMARK, Property.SAFETY, TWO_SWEEPS),
)

FAST = (
    Check("two workers", JOB, Property.SAFETY, _job(2, 1, 1, 1, 0)),
    Check("each alone", JOB, Property.LIVENESS, _job(1, 1, 1, 1, 0)),
    Check("the watermark", WATERMARK, Property.SAFETY, FIVE_STEPS),
)

_NOT_LOST_JOB = r"text of failed assertion: assert\(\(\(\(state==absent\)\|\|entry\)"
_NOT_LOST_ENTRY = r"text of failed assertion: assert\(\(\(!\(filed"
_CYCLE = "START OF CYCLE"


def _unsafe(
    name: str,
    spoiled: str,
    bounds: Mapping[str, int],
    *shows: str,
    lacks: tuple[str, ...] = (),
    source: str = JOB,
) -> Check:
    return Check(name, source, Property.SAFETY, bounds, spoiled, shows, lacks)


def _stuck(name: str, spoiled: str, *shows: str, lacks: tuple[str, ...] = ()) -> Check:
    return Check(name, JOB, Property.LIVENESS, SMALLEST, spoiled, shows, lacks)


_TAKES_WHAT_IS_NOT_ITS_OWN = (
    _unsafe("complete without the token", "NO_FENCE", TWO_WORKERS, _asserts("(holder==me)")),
    _unsafe(
        "recover without naming the lease",
        "RECOVER_ANY_LEASE",
        TWO_WORKERS,
        "heartbeat",
        _asserts("lapsed"),
    ),
    _unsafe(
        "claim while a lease lives",
        "CLAIM_LIVE_LEASE",
        TWO_WORKERS,
        _asserts("((holder==0)||lapsed)"),
    ),
    _unsafe("claim whatever the state", "CLAIM_ANY_STATE", TWO_WORKERS, _asserts("due")),
)

_LOSES_WHAT_IS_OWED = (
    _unsafe(
        "clear the entry, then send the dead letter",
        "CLEAR_BEFORE_LETTER",
        TWO_WORKERS,
        "the job is dead",
        "clears the entry",
        _NOT_LOST_JOB,
        lacks=("sends the dead letter", "redrives"),
    ),
    _unsafe(
        "finish without naming the generation",
        "FINISH_ANY_ROUND",
        _job(1, 1, 1, 0, 1),
        "the job is dead",
        "redrives the job, generation 1",
        "clears the entry",
        _NOT_LOST_JOB,
    ),
)

_IS_STUCK = (
    _stuck("no sweep", "NO_SWEEP", "DIES", "the job's lease is over", _CYCLE, lacks=("leads",)),
    _stuck(
        "never send again", "NO_REDISPATCH", "the queue is purged", _CYCLE, lacks=("leads", "DIES")
    ),
    _stuck(
        "retry despite a cancel",
        "RETRY_DESPITE_CANCEL",
        "asks the running job to stop",
        "the attempt ends, the job is waiting",
        "leads",
        _CYCLE,
        "drops a message, generation 1",
        lacks=("DIES",),
    ),
    _stuck(
        "a leader's lease never ends",
        "LEADER_FOR_EVER",
        r"Scheduler \d+: leads",
        r"Scheduler \d+: DIES",
        _CYCLE,
        lacks=("the leader's lease is over", "Worker .* DIES"),
    ),
)

_STOPS_READING = (
    _unsafe(
        "the watermark past an open bucket",
        "PAST_OPEN",
        FIVE_STEPS,
        "files its job in bucket 0",
        "Index: shows the job",
        "Sweeper 0: the watermark is 1, open are 0",
        _NOT_LOST_ENTRY,
        source=WATERMARK,
    ),
    _unsafe(
        "a trail without the lag",
        "SHORT_TRAIL",
        FIVE_STEPS,
        "Clock: 1",
        "files its job in bucket 0",
        "Clock: 2",
        "Sweeper 0: the watermark is 1",
        _NOT_LOST_ENTRY,
        lacks=("Clock: 3", "Index: shows"),
        source=WATERMARK,
    ),
    _unsafe(
        "a put beyond the stall bound",
        "LATE_PUT",
        FIVE_STEPS,
        "Clock: 2",
        "files its job in bucket 0",
        "Sweeper 0: the watermark is 1",
        _NOT_LOST_ENTRY,
        lacks=("Index: shows",),
        source=WATERMARK,
    ),
    _unsafe(
        "a watermark over one that was not read",
        "WRITE_UNREAD",
        TWO_SWEEPS,
        "the watermark is 1",
        "the watermark is 0",
        _asserts("(low>=was_low)"),
        source=WATERMARK,
    ),
)

FAILS = (*_TAKES_WHAT_IS_NOT_ITS_OWN, *_LOSES_WHAT_IS_OWED, *_IS_STUCK, *_STOPS_READING)
