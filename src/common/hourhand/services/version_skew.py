"""What a newer version of Hourhand wrote is told, and left for it; all else goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from hourhand.domain.errors import HourhandError, WrittenByNewer
from hourhand.ports.telemetry import Telemetry

IDS_TOLD = 10
"""How many of them a line of the log names."""

MAX_READS = 5
"""Reads of the same ids, each without those that the one before it found to be newer. A newer
version that works beside this one may turn some at any time."""

LEFT_TO_NEWER_FOR = timedelta(seconds=15)
"""How long what a newer version wrote is left for the first time: one that knows it may run soon.

The wait grows by as much with each time.
"""

LONGEST_LEFT_TO_NEWER = timedelta(minutes=5)
"""No wait is longer. The thousand receives that a queue allows a message last three days so."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ReadApart(Generic[R]):
    """What was found under some ids, and the ids of what is there but a newer version's."""

    found: Mapping[str, R]
    newer: frozenset[str] = frozenset()


def log_newer(telemetry: Telemetry, newer: WrittenByNewer) -> None:
    """Count and log what is left alone."""
    telemetry.count("items_newer", max(len(newer.ids), 1))
    telemetry.warning(
        "Something was written by a newer version of Hourhand, and is left to it.",
        reason=newer.detail,
        ids=sorted(newer.ids)[:IDS_TOLD],
    )


@contextmanager
def leaving_newer(telemetry: Telemetry) -> Iterator[None]:
    """Go on after what a newer version wrote; it is told."""
    try:
        yield
    except WrittenByNewer as newer:
        log_newer(telemetry, newer)


def left_to_newer_for(times: int) -> timedelta:
    """Return how long to leave it what was found to be newer ``times`` times, this one included."""
    return min(LEFT_TO_NEWER_FOR * max(times, 1), LONGEST_LEFT_TO_NEWER)


def read_apart(
    telemetry: Telemetry, ids: Sequence[str], read: Callable[[Sequence[str]], Mapping[str, R]]
) -> ReadApart[R]:
    """Read what has these ``ids``, apart from those that a newer version wrote: they are told.

    Raises `WrittenByNewer` where such a version writes more of them each time that we look.
    """
    if not ids:
        return ReadApart({})
    newer: frozenset[str] = frozenset()
    left = ids
    for _ in range(MAX_READS - 1):
        try:
            return ReadApart(read(left), newer)
        except WrittenByNewer as met:
            log_newer(telemetry, met)
            newer |= met.ids
            left = [each for each in ids if each not in newer]
    return ReadApart(read(left), newer)


def read_known(
    telemetry: Telemetry, ids: Sequence[str], read: Callable[[Sequence[str]], Mapping[str, R]]
) -> Mapping[str, R]:
    """Read what has these ``ids``, without those that a newer version wrote. As `read_apart`."""
    return read_apart(telemetry, ids, read).found


def sparing(
    read: Callable[[Sequence[str]], Mapping[str, R]], tell: Callable[[str, Exception], None]
) -> Callable[[Sequence[str]], Mapping[str, R]]:
    """Return ``read`` as one that leaves out what this code cannot understand.

    A damaged item must not hold up those that are read with it: then each is read by itself, and
    ``tell`` gets the id of one that cannot be, and why.
    """

    def read_some(ids: Sequence[str]) -> Mapping[str, R]:
        try:
            return read(ids)
        except HourhandError:
            raise
        except Exception:  # noqa: BLE001 - found out below, item by item
            found: dict[str, R] = {}
        for each in ids:
            try:
                found |= read([each])
            except HourhandError:
                raise
            except Exception as error:  # noqa: BLE001 - the others must not pay for it
                tell(each, error)
        return found

    return read_some
