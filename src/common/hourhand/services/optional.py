"""What the work can do without: whatever a request or a read raises is counted and logged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from hourhand.domain.errors import HourhandError, WrittenByNewer
from hourhand.domain.jobs.history import shorten
from hourhand.ports import Found
from hourhand.ports.telemetry import Telemetry

REASON_BYTES = 300
"""How much of an error a log line holds."""

IDS_LOGGED = 10
"""How many records of a newer version a log line names."""

R = TypeVar("R")
T = TypeVar("T")


def ask_optionally(telemetry: Telemetry, sentence: str, ask: Callable[[], T]) -> T | None:
    """Make a request that the work can do without; ``None`` where it raises anything.

    ``sentence`` is logged then. `Unavailable` alone is not enough: a missing permission, an
    account's policy or an answer that cannot be read would end the work at the same place in every
    tick.
    """
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - the work goes on, whatever it was
        telemetry.count("optional_requests_failed")
        telemetry.warning(sentence, reason=reason_of(error))
        return None


def reason_of(error: Exception) -> str:
    """Return ``error`` as a log line shows it: its class and as much of its text as fits."""
    return shorten(f"{type(error).__name__}: {error}", REASON_BYTES)


def log_newer(telemetry: Telemetry, newer: WrittenByNewer) -> None:
    """Count and log what is left to a newer version of Hourhand."""
    telemetry.count("items_newer", max(len(newer.ids), 1))
    telemetry.warning(
        "Something was written by a newer version of Hourhand, and is left to it.",
        reason=newer.detail,
        ids=sorted(newer.ids)[:IDS_LOGGED],
    )


@contextmanager
def leaving_newer(telemetry: Telemetry) -> Iterator[None]:
    """Go on after what a newer version wrote; it is counted and logged."""
    try:
        yield
    except WrittenByNewer as newer:
        log_newer(telemetry, newer)


def read_readable(
    ids: Sequence[str],
    read: Callable[[Sequence[str]], Found[str, R]],
    note: Callable[[str, Exception], None],
) -> Found[str, R]:
    """Read what has these ``ids`` without what this code cannot understand.

    A damaged item must not hold up those that are read with it: then each is read by itself, and
    ``note`` gets the id of one that cannot be read, and why. Raises `Unavailable`.
    """
    if not ids:
        return Found()
    try:
        return read(ids)
    except HourhandError:
        raise
    except Exception:  # noqa: BLE001 - found out below, item by item
        known: dict[str, R] = {}
        newer: set[str] = set()
    for each in ids:
        try:
            found = read([each])
        except HourhandError:
            raise
        except Exception as error:  # noqa: BLE001 - the others must not pay for it
            note(each, error)
        else:
            known |= found
            newer |= found.newer
    return Found(known, WrittenByNewer(ids=newer) if newer else None)
