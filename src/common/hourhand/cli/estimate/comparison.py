"""Hourhand's bill beside the others, and what to make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hourhand.cli.estimate.bill import Bill
from hourhand.cli.estimate.load import MAX_BATCH, Load
from hourhand.cli.estimate.others import WAYS, Way, WayOf
from hourhand.cli.estimate.ours import hourhand_bill
from hourhand.settings import MonitoringLevel

LEAST_JOBS, MOST_JOBS = 1e2, 1e10
STEPS = 60
"""Between which numbers of jobs a point is looked for from which another way is cheaper, and how
often the span is halved."""

LEAST_SAVING = 0.02
"""What is saved of the bill by another choice of one's own, to be worth a sentence."""

SAME = 0.05
"""Bills that differ by less are called about the same: the inputs are not known better."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Another way, and from how many such jobs a month it is cheaper, if it is so only then."""

    way: Way
    cheaper_from: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A load's bill with Hourhand, and with every other way."""

    load: Load
    ours: Bill
    others: tuple[Beside, ...]


def compare(load: Load) -> Comparison:
    """Return all bills of ``load``."""
    others = tuple(Beside(way_of(load), cheaper_from(load, way_of)) for way_of in WAYS)
    return Comparison(load, hourhand_bill(load), others)


def cheaper_from(load: Load, way_of: WayOf) -> float | None:
    """Return from how many such jobs a month another way is cheaper.

    ``None`` where it never is, or with the first job already.
    """
    if _is_cheaper(LEAST_JOBS, load, way_of) or not _is_cheaper(MOST_JOBS, load, way_of):
        return None
    low, high = LEAST_JOBS, MOST_JOBS
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        if _is_cheaper(middle, load, way_of):
            high = middle
        else:
            low = middle
    return high


def advice(comparison: Comparison) -> Iterator[str]:
    """Yield sentences: when to take another way, and what would make ours cheaper."""
    ours = comparison.ours.dollars
    for beside in comparison.others:
        bill = beside.way.bill
        if bill is not None:
            difference = _difference(bill.dollars, ours)
            yield f"{beside.way.name} {difference}. Take it {beside.way.better}{_from(beside)}"
    yield from _savings(comparison)


def _is_cheaper(jobs: float, load: Load, way_of: WayOf) -> bool:
    asked = replace(load, jobs=jobs)
    bill = way_of(asked).bill
    return bill is not None and bill.dollars < hourhand_bill(asked).dollars


def _difference(theirs: float, ours: float) -> str:
    if abs(theirs - ours) <= SAME * ours:
        return "costs about the same"
    if theirs < ours:
        return f"is cheaper, by ${ours - theirs:,.2f} a month ({1 - theirs / ours:.0%})"
    return f"costs {theirs / ours:,.1f} times as much"


def _from(beside: Beside) -> str:
    if beside.cheaper_from is None:
        return ""
    return f" It is cheaper from about {rounded(beside.cheaper_from)} such jobs a month."


def rounded(jobs: float) -> str:
    """Return a number of jobs by its first two digits: ``3.2 million``."""
    for size, word in ((1e9, " billion"), (1e6, " million"), (1e3, ",000")):
        if jobs >= size:
            return f"{float(f'{jobs / size:.2g}'):g}{word}" if word != ",000" else _thousands(jobs)
    return f"{jobs:.0f}"


def _thousands(jobs: float) -> str:
    return f"{float(f'{jobs:.2g}'):,.0f}"


def _savings(comparison: Comparison) -> Iterator[str]:
    load, ours = comparison.load, comparison.ours.dollars
    if load.batch < MAX_BATCH and load.submitted:
        saved = ours - hourhand_bill(replace(load, batch=MAX_BATCH)).dollars
        if saved > LEAST_SAVING * ours:
            yield f"{MAX_BATCH} jobs to a call would save ${saved:,.2f} of Hourhand's bill."
    if not load.economy:
        saved = ours - hourhand_bill(replace(load, economy=True)).dollars
        if saved > LEAST_SAVING * ours:
            yield f"The flag dispatch=economy would save ${saved:,.2f} of it."
    if load.delay_rounding == "down":
        saved = ours - hourhand_bill(replace(load, delay_rounding="nearest")).dollars
        if saved > LEAST_SAVING * ours:
            yield f"The flag delay_rounding=nearest would save ${saved:,.2f} of it."
    idle = hourhand_bill(replace(load, jobs=0)).dollars
    if idle > ours / 2:
        yield f"${idle:,.2f} of it are there without any job."
        if load.is_measured:
            least = replace(load, jobs=0, monitoring=MonitoringLevel.BASIC, has_ceiling=False)
            yield (
                "Most of that is metrics, alarms and a dashboard, and an account's free tier "
                "covers most of these. With monitoring=basic and worker_concurrency=none, as the "
                f"stage dev has them, ${hourhand_bill(least).dollars:,.2f} would be there."
            )
