"""The steps of operations, so that each is written once and neither blocks nor awaits.

An operation is a generator: it yields a step, is sent what came of it, and returns its result. A
stream yields `Emit` steps, too. `hourhand.client._blocking` and `hourhand.client._awaiting` do
the steps, the one by threads, the other by tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from hourhand.domain.ids import random_job_id
from hourhand.domain.runs.tokens import hide_token

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A request of the API. ``target`` is the path and query, encoded.

    ``is_repeatable``: done twice, it is as if done once.
    """

    method: str
    target: str
    body: bytes | None = None
    is_repeatable: bool = True

    def __str__(self) -> str:
        return hide_token(f"{self.method} {self.target.partition('?')[0]}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API answered. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """There was no answer. ``was_sent``: the request may have arrived."""

    reason: str
    was_sent: bool


@dataclass(frozen=True, slots=True)
class Send:
    """Send ``request`` once. What comes of it is an `Answer` or `Lost`."""

    request: Request


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait. Its result is whether the whole time passed and the pause was not stopped."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Start:
    """Begin ``operation`` beside this one. What comes of it is a `Begun`, to be joined later."""

    operation: Operation[Any]


class Begun(Protocol):
    """An operation under way; its content is known only to the runner that began it."""


@dataclass(frozen=True, slots=True)
class Join:
    """Wait for an operation under way. What comes of it is its result; it may be asked again."""

    begun: Begun


@dataclass(frozen=True, slots=True)
class StopPauses:
    """From now on no pause lasts, so that what is under way ends soon."""


@dataclass(frozen=True, slots=True)
class Emit(Generic[T_co]):
    """Hand ``item`` to the consumer of the stream."""

    item: T_co


Step: TypeAlias = Send | Pause | Start | Join | StopPauses
Operation: TypeAlias = Generator[Step, Any, T]
Stream: TypeAlias = Generator[Step | Emit[T], Any, None]


class Time(Protocol):
    """What an operation reads the time from; the port `Clock` can wait, too."""

    def now(self) -> datetime:
        """Return the time in UTC."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """What every operation of a client works with.

    ``max_attempts`` counts the first try. ``randomness`` returns a number in [0, 1);
    ``random_bits`` that many random bits.
    """

    time: Time
    randomness: Callable[[], float]
    random_bits: Callable[[int], int]
    max_attempts: int = 5
    endpoint: str = ""

    def new_job_id(self) -> str:
        """Return an id for a job to be, by which it can be submitted again."""
        return random_job_id(self.time.now(), self.random_bits(_ID_BITS))


_ID_BITS = 60


def send(request: Request) -> Operation[Answer | Lost]:
    """Send ``request`` once."""
    outcome: Answer | Lost = yield Send(request)
    return outcome


def pause(seconds: float) -> Operation[bool]:
    """Wait; return whether the pause was not stopped."""
    is_whole: bool = yield Pause(seconds)
    return is_whole
