"""A target: what must be reached, and whether it was."""

from __future__ import annotations

from typing import Any

Target = dict[str, Any]
"""``what``, ``needed`` and ``reached`` in words, and ``ok``."""


def at_most(what: str, reached: float, limit: float, unit: str = "") -> Target:
    """Return the target that ``reached`` is ``limit`` or less."""
    return _target(
        what, f"≤ {in_words(limit)}{unit}", f"{in_words(reached)}{unit}", reached <= limit
    )


def at_least(what: str, reached: float, limit: float, unit: str = "") -> Target:
    """Return the target that ``reached`` is ``limit`` or more."""
    return _target(
        what, f"≥ {in_words(limit)}{unit}", f"{in_words(reached)}{unit}", reached >= limit
    )


def below(what: str, reached: float, limit: float, unit: str = "") -> Target:
    """Return the target that ``reached`` is less than ``limit``."""
    return _target(
        what, f"< {in_words(limit)}{unit}", f"{in_words(reached)}{unit}", reached < limit
    )


def _target(what: str, needed: str, reached: str, ok: bool) -> Target:
    return {"what": what, "needed": needed, "reached": reached, "ok": ok}


def all_ok(targets: list[Target]) -> bool:
    """Return whether each of them was reached."""
    return all(target["ok"] for target in targets)


def in_words(cell: Any) -> str:
    """Return a figure as a table shows it: at most four digits that matter, thousands apart."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        whole = cell.is_integer() or abs(cell) >= 1000
        return f"{cell:,.0f}" if whole else f"{cell:.4g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
