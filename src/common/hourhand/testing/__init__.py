"""Stand-ins for AWS, the clock and randomness, for the tests of users and of Hourhand itself.

`FakeHourhand` stands in for a whole installation: users test their own code with it, through the
fixture of `hourhand.testing.fixtures`. Each of the others implements a port of `hourhand.ports` in
memory, in virtual time and without chance, and passes the same contract tests as the adapters for
AWS.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hourhand.testing.contexts import make_context
    from hourhand.testing.fake_hourhand import FakeHourhand
    from hourhand.testing.inline_runner import Crash, Run
    from hourhand.testing.installation import GoesRound
    from hourhand.testing.replays import Replay, ReplayMismatch, replay

__all__ = [
    "Crash",
    "FakeHourhand",
    "GoesRound",
    "Replay",
    "ReplayMismatch",
    "Run",
    "make_context",
    "replay",
]

# Looked up when first used: a test of a store needs neither the wiring nor the client's httpx.
_LATER = {
    "Crash": "hourhand.testing.inline_runner",
    "FakeHourhand": "hourhand.testing.fake_hourhand",
    "GoesRound": "hourhand.testing.installation",
    "Replay": "hourhand.testing.replays",
    "ReplayMismatch": "hourhand.testing.replays",
    "Run": "hourhand.testing.inline_runner",
    "make_context": "hourhand.testing.contexts",
    "replay": "hourhand.testing.replays",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
