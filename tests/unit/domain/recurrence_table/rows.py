"""A row of a table worked out by hand: what must fire, in local times with their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from hourhand.domain.schedules.recurrence import DstFold, DstGap, Rule, compile_rule


@dataclass(frozen=True)
class Window:
    """After one instant and up to another, in a zone; ISO 8601 with offset."""

    zone: str
    after: str
    until: str

    def row(
        self,
        text: str,
        fires: str,
        policy: DstGap | DstFold | None = None,
        *,
        anchor: str | None = None,
    ) -> Row:
        """In it, the expression fires at just these times, which are parted by blanks.

        ``policy``: the one for gaps or for folds by which that holds; without, by all of them.
        """
        return Row(self, text, fires, policy, anchor)


@dataclass(frozen=True)
class Row:
    """See ``Window.row``."""

    window: Window
    text: str
    fires: str
    policy: DstGap | DstFold | None
    anchor: str | None

    def rules(self) -> Iterator[Rule]:
        """One for each pair of policies that the row speaks of."""
        gaps = (self.policy,) if isinstance(self.policy, DstGap) else tuple(DstGap)
        folds = (self.policy,) if isinstance(self.policy, DstFold) else tuple(DstFold)
        for gap, fold in product(gaps, folds):
            yield Rule(
                expressions=(self.text,),
                timezone=self.window.zone,
                dst_gap=gap,
                dst_fold=fold,
                anchor=datetime.fromisoformat(self.anchor) if self.anchor else None,
            )

    def check(self, rule: Rule) -> None:
        """Compare what fires, and how often, with the table."""
        after = datetime.fromisoformat(self.window.after)
        until = datetime.fromisoformat(self.window.until)
        found = [fire.at for fire in compile_rule(rule).fires(after, until)]
        wanted = [datetime.fromisoformat(time).astimezone(UTC) for time in self.fires.split()]
        assert found == wanted, f"fires at {', '.join(map(str, found))}"


def by_policies(rows: Iterable[Row]) -> list[Any]:
    """The parameters of a test: each row by each pair of its policies."""
    return [
        pytest.param(
            row,
            rule,
            id=f"{row.window.zone} {row.window.after[:10]} {row.text}"
            f" {rule.dst_gap}-{rule.dst_fold}",
        )
        for row in rows
        for rule in row.rules()
    ]
