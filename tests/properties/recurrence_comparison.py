"""The comparison of our fires with the oracles', counted, and the one excuse that is accepted.

A comparison is one fire time, ours or an oracle's, looked for on the other side.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise

from hourhand.domain.schedules.recurrence import DstFold, DstGap, Rule, compile_rule
from tests.properties.recurrence_cases import Case
from tests.properties.recurrence_expressions import DAY, parse
from tests.properties.recurrence_oracles import (
    BETWEEN_EXPRESSIONS,
    MINUTE,
    brute_force,
    cronsim_fires,
    wall_of,
    zone_of,
)

MAX_FIRES_OF_A_CASE = 60
"""So that no minutely expression makes up the whole count; the window ends with the last one."""

KEPT_DISAGREEMENTS = 20
HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)

BRUTE_FORCE, CRONSIM = "brute force", "cronsim"
CRONSIM_IS_WRONG = "cronsim is wrong: every hour, day of a change by part of an hour"


@dataclass(frozen=True)
class Disagreement:
    """Fires of one case that only we or only the oracle has."""

    case: Case
    oracle: str
    only_ours: tuple[datetime, ...]
    only_theirs: tuple[datetime, ...]

    def __str__(self) -> str:
        zone = zone_of(self.case.zone)
        ours, theirs = (
            ", ".join(at.astimezone(zone).isoformat() for at in fires[:5]) or "-"
            for fires in (self.only_ours, self.only_theirs)
        )
        return f"{self.case}\n  only ours: {ours}\n  only {self.oracle}: {theirs}"


@dataclass
class Tally:
    """What was compared: by oracle, zone and kind; and with what result."""

    cases: int = 0
    compared: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: int = 0
    shown: list[Disagreement] = field(default_factory=list)

    @property
    def comparisons(self) -> int:
        """All of them."""
        return self.compared.total()

    def add(self, other: Tally) -> None:
        """Take in what another has counted."""
        self.cases += other.cases
        self.compared += other.compared
        self.explained += other.explained
        self.unexplained += other.unexplained
        self.shown = (self.shown + other.shown)[:KEPT_DISAGREEMENTS]

    def compare(self, case: Case) -> None:
        """Compare the fires of a case with the brute force, and where it can tell, with cronsim."""
        ours = our_fires(case, MAX_FIRES_OF_A_CASE)
        until = ours[-1] if len(ours) == MAX_FIRES_OF_A_CASE else case.until
        self.cases += 1
        if not case.is_long:
            self._count(case, BRUTE_FORCE, ours, _truth(case, case.after, until))
        if cronsim_can_tell(case):
            theirs = cronsim_fires(case.text, case.zone, case.after, until)
            self._count(case, CRONSIM, ours, theirs)

    def _count(self, case: Case, oracle: str, ours: list[datetime], theirs: list[datetime]) -> None:
        self.compared[oracle, case.zone, kind_of(case)] += max(len(ours), len(theirs))
        different = set(ours) ^ set(theirs)
        if oracle == CRONSIM:
            excused = {at for at in different if _is_excused(case, at, ours)}
            self.explained[CRONSIM_IS_WRONG] += len(excused)
            different -= excused
        # The same fire twice, or fires out of order, would not show in the sets.
        if different or (set(ours) == set(theirs) and ours != theirs):
            self.unexplained += max(1, len(different))
            found = Disagreement(
                case,
                oracle,
                tuple(sorted(different & set(ours))),
                tuple(sorted(different & set(theirs))),
            )
            self.shown = [*self.shown, found][:KEPT_DISAGREEMENTS]


def _truth(case: Case, after: datetime, until: datetime) -> list[datetime]:
    return brute_force(case.text, case.zone, after, until, gap=case.gap, fold=case.fold)


def _is_excused(case: Case, at: datetime, ours: list[datetime]) -> bool:
    """Whether cronsim is known to be wrong there, and the brute force agrees with us."""
    return cronsim_is_known_wrong(case, at) and (at in ours) is bool(_truth(case, at - SECOND, at))


def rule_of(case: Case) -> Rule:
    """The case as the engine takes it."""
    return Rule(
        expressions=tuple(case.text.split(BETWEEN_EXPRESSIONS)),
        timezone=case.zone,
        dst_gap=DstGap(case.gap),
        dst_fold=DstFold(case.fold),
    )


def our_fires(case: Case, at_most: int | None = None) -> list[datetime]:
    """What the engine says, in its own order."""
    fires = compile_rule(rule_of(case)).fires(case.after, case.until)
    return [fire.at for fire in islice(fires, at_most)]


def kind_of(case: Case) -> str:
    """The row of the table that a case counts in."""
    if BETWEEN_EXPRESSIONS in case.text:
        return "union"
    if case.is_long:
        return "Unix, years ahead"
    dialect = "AWS" if _is_aws(case) else "seconds" if _has_seconds(case) else "Unix"
    if parse(case.text).is_hourly:
        return f"{dialect}, real time"
    return f"{dialect}, fixed, {case.gap} and {case.fold}"


def _is_aws(case: Case) -> bool:
    return case.text.startswith("cron(")


def _has_seconds(case: Case) -> bool:
    return len(case.text.split()) == 6


def cronsim_can_tell(case: Case) -> bool:
    """It knows one Unix expression and the default policies; with six fields, none at all."""
    if not case.is_default or _is_aws(case) or BETWEEN_EXPRESSIONS in case.text:
        return False
    return not _has_seconds(case) or parse(case.text).is_hourly


def cronsim_is_known_wrong(case: Case, at: datetime) -> bool:
    """Whether cronsim cannot be trusted about this instant: see ``CRONSIM_IS_WRONG``.

    With every hour it goes by jumps from full hour to full hour. After a change by half an hour it
    lands on every half hour.
    """
    local = at.astimezone(zone_of(case.zone))
    return parse(case.text).is_hourly and has_change_by_part_of_an_hour(case.zone, local.date())


def has_change_by_part_of_an_hour(zone: str, local: date) -> bool:
    """Whether clocks change by half an hour, say, on that date."""
    return any((later - shown - MINUTE) % HOUR for shown, later in _changes_on(zone, local))


@lru_cache(maxsize=1024)
def _changes_on(zone: str, local: date) -> tuple[tuple[datetime, datetime], ...]:
    """What the clock shows in the minutes before and after each change on the local date."""
    wall = wall_of(zone, local - DAY, local + DAY)
    return tuple(
        (shown, following)
        for (_, shown), (_, following) in pairwise(wall.minutes)
        if following != shown + MINUTE and local in {shown.date(), following.date()}
    )
