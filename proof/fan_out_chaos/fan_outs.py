"""The fan-outs of the chaos: what each submits, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from proof.fan_out_chaos.handlers import ON_COMPLETE, ON_FAILURE, ON_SUCCESS

WINDOW = 40
ADDED = 100
"""Jobs that a request adds to an open batch."""

Call = tuple[str, dict[str, Any]]
"""A path of the API, and what is posted there."""


class Kind(Enum):
    """How the children are submitted, and whether one of them fails."""

    MAP = "map"
    WINDOW = f"map of which {WINDOW} run at a time"
    BATCH = "batch"
    OPEN = "batch to which jobs are added, each request sent twice"
    FAILING = "batch with a job that fails"


@dataclass(frozen=True, kw_only=True, slots=True)
class FanOut:
    """A run, its children, and its callbacks."""

    run: str
    kind: Kind
    children: int

    @property
    def is_batch(self) -> bool:
        """Whether the run is that of a batch."""
        return self.kind not in {Kind.MAP, Kind.WINDOW}

    @property
    def failing(self) -> frozenset[int]:
        """The indexes of the children that fail."""
        return frozenset({self.children // 2} if self.kind is Kind.FAILING else ())

    @property
    def callbacks(self) -> frozenset[str]:
        """The names of the callbacks that must run; no other may."""
        if self.kind is Kind.FAILING:
            return frozenset({ON_COMPLETE, ON_FAILURE})
        return frozenset({ON_COMPLETE, ON_SUCCESS} if self.is_batch else {ON_SUCCESS})

    @property
    def status(self) -> str:
        """How the run must end."""
        return "DEAD" if self.failing else "SUCCEEDED"

    @property
    def result(self) -> Any:
        """What the run must return."""
        if not self.is_batch:
            return list(range(self.children))
        total = self.children
        return None if self.failing else {"total": total, "succeeded": total, "failed": 0}

    def calls(self) -> list[Call]:
        """Return the requests that submit it."""
        items = [
            {"run": self.run, "index": n, "fails": n in self.failing} for n in range(self.children)
        ]
        if not self.is_batch:
            window = WINDOW if self.kind is Kind.WINDOW else None
            payload = {"items": items, "window": window}
            return [("/jobs", {"handler": "fan-out", "id": self.run, "payload": payload})]
        members = [{"handler": "fan-child", "payload": item} for item in items]
        callbacks = {
            name: {"handler": "fan-callback", "payload": {"run": self.run, "name": name}}
            for name in (ON_SUCCESS, ON_COMPLETE, ON_FAILURE)
        }
        if self.kind is not Kind.OPEN:
            return [("/batches", {"id": self.run, "jobs": members, **callbacks})]
        opened: Call = "/batches", {"id": self.run, "jobs": [], "open": True, **callbacks}
        path = f"/batches/{self.run}"
        added: list[Call] = [
            (f"{path}/jobs", {"first_index": first, "jobs": members[first : first + ADDED]})
            for first in range(0, len(members), ADDED)
        ]
        closed: Call = f"{path}/close", {"total": self.children}
        return [call for one in (opened, *added, closed) for call in (one, one)]


def fan_outs(count: int, children: int) -> list[FanOut]:
    """Return so many fan-outs, whose kinds take turns."""
    kinds = list(Kind)
    return [
        FanOut(run=f"fan-{number}", kind=kinds[number % len(kinds)], children=children)
        for number in range(count)
    ]
