"""Distances in time as short texts: seconds of base 36, and milliseconds where there are some.

``1o0`` is 2,160 seconds, ``-1o0.250`` is 2,160.25 seconds back.
"""

from __future__ import annotations

PATTERN = r"-?[0-9a-z]+(?:\.[0-9]{3})?"
"""A regular expression for what `distance_text` writes."""

_MS_PER_SECOND = 1000
_BASE = 36
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def distance_text(milliseconds: int) -> str:
    """Return a distance as text."""
    sign = "-" if milliseconds < 0 else ""
    seconds, rest = divmod(abs(milliseconds), _MS_PER_SECOND)
    return f"{sign}{base36(seconds)}" + (f".{rest:03d}" if rest else "")


def read_distance(written: str) -> int:
    """Read what `distance_text` wrote: milliseconds. Raises `ValueError` for anything else."""
    seconds, _, rest = written.removeprefix("-").partition(".")
    milliseconds = read_base36(seconds) * _MS_PER_SECOND + int(rest or 0)
    return -milliseconds if written.startswith("-") else milliseconds


def base36(value: int) -> str:
    """Return a whole number from 0 on as digits and small letters."""
    digits: list[str] = []
    while value:
        value, digit = divmod(value, _BASE)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)) or "0"


def read_base36(written: str) -> int:
    """Read what `base36` wrote."""
    return int(written, _BASE)
