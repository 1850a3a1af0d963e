"""What a newer version of Hourhand wrote is told, and left for it; all else goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hourhand.domain.errors import WrittenByNewer
from hourhand.ports import Telemetry

IDS_TOLD = 10
"""How many of them a line of the log names."""

R = TypeVar("R")


def tell_newer(telemetry: Telemetry, newer: WrittenByNewer) -> None:
    """Count and log what is left alone."""
    telemetry.count("items_newer", max(len(newer.ids), 1))
    telemetry.warning(
        "Something was written by a newer version of Hourhand, and is left to it.",
        reason=newer.detail,
        ids=sorted(newer.ids)[:IDS_TOLD],
    )


def read_known(
    telemetry: Telemetry, ids: Sequence[str], read: Callable[[Sequence[str]], Mapping[str, R]]
) -> Mapping[str, R]:
    """Read what has these ``ids``, without those that a newer version wrote: they are told.

    Raises `WrittenByNewer` where such a version writes more of them at this very moment.
    """
    try:
        return read(ids)
    except WrittenByNewer as newer:
        tell_newer(telemetry, newer)
        return read([each for each in ids if each not in newer.ids])
