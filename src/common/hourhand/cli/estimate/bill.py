"""A month's bill: lines by service, each with what it uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hourhand.cli.estimate.prices import Usage, dollars


@dataclass(frozen=True, slots=True)
class Line:
    """A part of the bill: what of which service is used in the month."""

    service: str
    usage: Usage

    @property
    def dollars(self) -> float:
        """What it costs."""
        return dollars(self.usage)


@dataclass(frozen=True, slots=True)
class Bill:
    """All that is used in the month."""

    lines: tuple[Line, ...]

    @property
    def dollars(self) -> float:
        """What all of it costs."""
        return sum(line.dollars for line in self.lines)

    @property
    def usage(self) -> Usage:
        """How much of what, in all."""
        return _added(self.lines)

    @property
    def by_service(self) -> Mapping[str, float]:
        """Dollars by service, in the order of the lines."""
        found: dict[str, float] = {}
        for line in self.lines:
            found[line.service] = found.get(line.service, 0.0) + line.dollars
        return found

    def usage_of(self, service: str) -> Usage:
        """Return how much of what one service is used."""
        return _added(line for line in self.lines if line.service == service)


def _added(lines: Iterable[Line]) -> Usage:
    found: defaultdict[str, float] = defaultdict(float)
    for line in lines:
        for name, amount in line.usage.items():
            found[name] += amount
    return dict(found)
