"""When schedules fire: cron, rate and at, in time zones, through every change of the clocks.

Pure: instants in, instants out. A local time that a change of the clocks leaves out or repeats
is treated by the rule's policies, and every such effect can be told in words.
"""

from hourhand.domain.schedules.recurrence._recurrence import Recurrence, compile_rule
from hourhand.domain.schedules.recurrence._zones import zone_named
from hourhand.domain.schedules.rule import (
    EARLIEST,
    LATEST,
    TZDATA_VERSION,
    BadExpression,
    DstFold,
    DstGap,
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
    Exclusion,
    Fire,
    Found,
    GivenUp,
    Rule,
)

__all__ = [
    "EARLIEST",
    "LATEST",
    "TZDATA_VERSION",
    "BadExpression",
    "DstFold",
    "DstGap",
    "ExcludedDate",
    "ExcludedDates",
    "ExcludedExpression",
    "ExcludedTimes",
    "Exclusion",
    "Fire",
    "Found",
    "GivenUp",
    "Recurrence",
    "Rule",
    "compile_rule",
    "zone_named",
]
