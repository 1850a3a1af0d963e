"""Quantities as people write them: ``10M`` jobs, ``30%`` of them, ``2KB`` each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_WRITTEN = re.compile(r"(\d[\d_,]*(?:\.\d+)?|\.\d+)\s*([a-z%]*)", re.IGNORECASE)

_COUNTS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9}
_BYTES = {"b": 1.0, "kb": 1024.0, "kib": 1024.0, "mb": 1024.0**2, "mib": 1024.0**2}
_BYTES |= {"gb": 1024.0**3, "gib": 1024.0**3}

HUNDRED = 100


class NotAQuantity(ValueError):
    """The text is no quantity of this kind. The message ends a sentence that names the flag."""


def count(text: str) -> float:
    """Return a number of things: ``250``, ``10k``, ``10M``, ``1.5B``."""
    return _read(text, _COUNTS, "a number such as 250000, 10k, 10M or 1.5B")


def share(text: str) -> float:
    """Return a share from 0 to 1, which is written with a per cent sign: ``30%``."""
    found = _read(text, {"%": 1 / HUNDRED}, "a share such as 30%")
    if found > 1:
        raise NotAQuantity(f"must be at most 100%, not {text!r}")
    return found


def size_bytes(text: str) -> float:
    """Return a number of bytes: ``200B``, ``2KB``, ``1.5MB``, ``1GB``. A KB has 1,024, as AWS's."""
    return _read(text, _BYTES, "a size with its unit, such as 200B, 2KB, 1.5MB or 1GB")


Reader = Callable[[str], float]
"""One of the functions above."""


def _read(text: str, units: Mapping[str, float], allowed: str) -> float:
    written = _WRITTEN.fullmatch(text.strip())
    factor = units.get(written[2].lower()) if written else None
    if written is None or factor is None:
        raise NotAQuantity(f"must be {allowed}, not {text!r}")
    return float(written[1].replace("_", "").replace(",", "")) * factor
