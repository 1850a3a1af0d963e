"""The trigger rules of a graph: whether a node runs, by the outcomes of the nodes before it.

A rule decides early only if no later end can change the decision. So the order in which the nodes
end never changes what a rule decides. The rules are those of Airflow (``trigger_rule_dep.py``),
except that ``all_success`` waits for all nodes before it skips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias


class TriggerRule(StrEnum):
    """When a node runs, by the outcomes of the nodes before it."""

    ALL_SUCCESS = "all_success"
    ALL_FAILED = "all_failed"
    ALL_DONE = "all_done"
    ALL_SKIPPED = "all_skipped"
    ONE_SUCCESS = "one_success"
    ONE_FAILED = "one_failed"
    ONE_DONE = "one_done"
    NONE_FAILED = "none_failed"
    NONE_FAILED_MIN_ONE_SUCCESS = "none_failed_min_one_success"
    NONE_SKIPPED = "none_skipped"
    ALL_DONE_MIN_ONE_SUCCESS = "all_done_min_one_success"
    ALWAYS = "always"


TriggerRuleChoice: TypeAlias = (
    TriggerRule
    | Literal[
        "all_success",
        "all_failed",
        "all_done",
        "all_skipped",
        "one_success",
        "one_failed",
        "one_done",
        "none_failed",
        "none_failed_min_one_success",
        "none_skipped",
        "all_done_min_one_success",
        "always",
    ]
)
"""What callers write for it."""


class OnFailure(StrEnum):
    """What the failure of a node does to the nodes after it."""

    FAIL = "fail"
    """It counts as a failure."""
    IGNORE = "ignore"
    """It counts as a success with the result null."""
    CONTINUE = "continue"
    """The nodes after it run at once, whatever their rules."""
    REMOVE = "remove"
    """It does not count at all, as if the node did not exist."""


OnFailureChoice: TypeAlias = OnFailure | Literal["fail", "ignore", "continue", "remove"]
"""What callers write for it."""


class Outcome(StrEnum):
    """How a node ended."""

    SUCCEEDED = "S"
    FAILED = "F"
    """Its job ended DEAD, CANCELLED or EXPIRED."""
    SKIPPED = "K"
    """Its rule skipped it."""
    UPSTREAM_FAILED = "U"
    """It was skipped because a node before it failed."""

    @property
    def is_failure(self) -> bool:
        """Whether ``on_failure`` of the node applies."""
        return self in (Outcome.FAILED, Outcome.UPSTREAM_FAILED)


class Decision(StrEnum):
    """Whether a node runs. A decision never changes within a round of its graph."""

    RUN = "R"
    SKIP = "K"
    UPSTREAM_FAILED = "U"

    @property
    def reason(self) -> str | None:
        """Why the node is skipped, as the API shows it; ``None`` if it runs."""
        return _REASONS[self]


_REASONS = {
    Decision.RUN: None,
    Decision.SKIP: "rule",
    Decision.UPSTREAM_FAILED: "upstream_failed",
}

NodeBefore = tuple[Outcome | None, OnFailure]
"""A node before another one: its outcome, ``None`` while it is open, and its ``on_failure``."""


@dataclass(slots=True)
class _Counts:
    """The nodes before a node, by what they count as. Removed nodes are in no number."""

    succeeded: int = 0
    failed: int = 0
    """The nodes that ran and failed."""
    skipped: int = 0
    upstream_failed: int = 0
    open: int = 0

    @property
    def failures(self) -> int:
        return self.failed + self.upstream_failed

    @property
    def ended(self) -> int:
        return self.succeeded + self.failures + self.skipped

    def add(self, outcome: Outcome) -> None:
        if outcome is Outcome.SUCCEEDED:
            self.succeeded += 1
        elif outcome is Outcome.FAILED:
            self.failed += 1
        elif outcome is Outcome.SKIPPED:
            self.skipped += 1
        else:
            self.upstream_failed += 1


RUN = Decision.RUN
SKIP = Decision.SKIP
UPSTREAM_FAILED = Decision.UPSTREAM_FAILED


@dataclass(frozen=True, slots=True)
class _Rule:
    """A row of the table of rules: the decision before all nodes ended, if any, and at their end.

    ``when_ended`` is called only if ``at_once`` returned ``None``.
    """

    at_once: Callable[[_Counts], Decision | None]
    when_ended: Callable[[_Counts], Decision]


def _nothing(_: _Counts) -> None:
    return None


def _run(_: _Counts) -> Decision:
    return RUN


def _skip(_: _Counts) -> Decision:
    return SKIP


_RULES: Mapping[TriggerRule, _Rule] = {
    TriggerRule.ALL_SUCCESS: _Rule(
        at_once=lambda n: UPSTREAM_FAILED if n.failures else None,
        when_ended=lambda n: SKIP if n.skipped else RUN,
    ),
    TriggerRule.ALL_FAILED: _Rule(
        at_once=lambda n: SKIP if n.succeeded + n.skipped else None, when_ended=_run
    ),
    TriggerRule.ALL_DONE: _Rule(at_once=_nothing, when_ended=_run),
    TriggerRule.ALL_SKIPPED: _Rule(
        at_once=lambda n: SKIP if n.succeeded + n.failures else None, when_ended=_run
    ),
    TriggerRule.ONE_SUCCESS: _Rule(
        at_once=lambda n: RUN if n.succeeded else None,
        when_ended=lambda n: SKIP if n.skipped == n.ended else UPSTREAM_FAILED,
    ),
    TriggerRule.ONE_FAILED: _Rule(at_once=lambda n: RUN if n.failures else None, when_ended=_skip),
    TriggerRule.ONE_DONE: _Rule(
        at_once=lambda n: RUN if n.succeeded + n.failed else None, when_ended=_skip
    ),
    TriggerRule.NONE_FAILED: _Rule(
        at_once=lambda n: UPSTREAM_FAILED if n.failures else None, when_ended=_run
    ),
    TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS: _Rule(
        at_once=lambda n: UPSTREAM_FAILED if n.failures else None,
        when_ended=lambda n: RUN if n.succeeded else SKIP,
    ),
    TriggerRule.NONE_SKIPPED: _Rule(at_once=lambda n: SKIP if n.skipped else None, when_ended=_run),
    TriggerRule.ALL_DONE_MIN_ONE_SUCCESS: _Rule(
        at_once=lambda n: SKIP if n.skipped else None,
        # Without a node that counts, no success is possible: the rule skips, as the others do.
        when_ended=lambda n: RUN if n.succeeded else UPSTREAM_FAILED if n.ended else SKIP,
    ),
    TriggerRule.ALWAYS: _Rule(at_once=_run, when_ended=_run),
}


def decide(rule: TriggerRule, before: Iterable[NodeBefore]) -> Decision | None:
    """Return whether a node runs, by the nodes before it; ``None`` while that is undecided.

    A node without nodes before it runs. While a node with ``continue`` is open, a skip is not
    decided: the failure of that node would run this one.
    """
    counts = _Counts()
    is_first, may_continue = True, False
    for outcome, on_failure in before:
        is_first = False
        if outcome is None:
            counts.open += 1
            may_continue = may_continue or on_failure is OnFailure.CONTINUE
        elif not outcome.is_failure or on_failure is OnFailure.FAIL:
            counts.add(outcome)
        elif on_failure is OnFailure.IGNORE:
            counts.add(Outcome.SUCCEEDED)
        elif on_failure is OnFailure.CONTINUE:
            return RUN
    if is_first:
        return RUN
    decision = _RULES[rule].at_once(counts)
    if decision is None and not counts.open:
        return _RULES[rule].when_ended(counts)
    return None if may_continue and decision is not RUN else decision


def is_fatal(outcome: Outcome, on_failure: OnFailure) -> bool:
    """Whether a node with this outcome lets its graph end DEAD."""
    return outcome.is_failure and on_failure is OnFailure.FAIL
