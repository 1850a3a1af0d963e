"""The fan-outs of the chaos: what each submits, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from proof.fan_out_chaos.handlers import ON_COMPLETE, ON_FAILURE, ON_SUCCESS

WINDOW = 40


class Kind(Enum):
    """How the children are submitted, and whether one of them fails."""

    MAP = "map"
    WINDOW = f"map of which {WINDOW} run at a time"
    BATCH = "batch"
    FAILING = "batch with a job that fails"


@dataclass(frozen=True, kw_only=True, slots=True)
class FanOut:
    """A run, its children, and its callbacks."""

    run: str
    kind: Kind
    children: int

    @property
    def failing(self) -> frozenset[int]:
        """The indexes of the children that fail."""
        return frozenset({self.children // 2} if self.kind is Kind.FAILING else ())

    @property
    def callbacks(self) -> frozenset[str]:
        """The names of the callbacks that must run; no other may."""
        if self.kind is Kind.FAILING:
            return frozenset({ON_COMPLETE, ON_FAILURE})
        return frozenset({ON_COMPLETE, ON_SUCCESS} if self.kind is Kind.BATCH else {ON_SUCCESS})

    @property
    def status(self) -> str:
        """How the run must end."""
        return "DEAD" if self.failing else "SUCCEEDED"

    @property
    def result(self) -> Any:
        """What the run must return."""
        if self.kind in {Kind.MAP, Kind.WINDOW}:
            return list(range(self.children))
        total = self.children
        return None if self.failing else {"total": total, "succeeded": total, "failed": 0}

    def submission(self) -> dict[str, Any]:
        """Return the job of the run, as it is submitted."""
        items = [
            {"run": self.run, "index": n, "fails": n in self.failing} for n in range(self.children)
        ]
        if self.kind in {Kind.MAP, Kind.WINDOW}:
            window = WINDOW if self.kind is Kind.WINDOW else None
            payload: dict[str, Any] = {"items": items, "window": window}
            return {"handler": "fan-out", "id": self.run, "payload": payload}
        payload = {
            "jobs": [{"handler": "fan-child", "payload": item} for item in items],
            **{
                name: {"handler": "fan-callback", "payload": {"run": self.run, "name": name}}
                for name in (ON_SUCCESS, ON_COMPLETE, ON_FAILURE)
            },
        }
        return {"handler": "fan-batch", "id": self.run, "payload": payload}


def fan_outs(count: int, children: int) -> list[FanOut]:
    """Return so many fan-outs, whose kinds take turns."""
    kinds = list(Kind)
    return [
        FanOut(run=f"fan-{number}", kind=kinds[number % len(kinds)], children=children)
        for number in range(count)
    ]
