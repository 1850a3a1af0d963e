"""How a job is judged against others, in one short text: ``B2.500``, ``Sn1.100+b7``.

A letter for the policy, ``n`` where the newest goes first, how many may run, how many may wait,
and the group unless it is the schedule's own: ``+`` and what follows the schedule's id and a dot,
or ``:`` and its whole name.
"""

from __future__ import annotations

import re

from hourhand.domain.groups.overlap import Overlap, OverlapPolicy

_LETTERS = {
    OverlapPolicy.SKIP: "S",
    OverlapPolicy.ALLOW: "A",
    OverlapPolicy.BUFFER_ONE: "O",
    OverlapPolicy.BUFFER_ALL: "B",
    OverlapPolicy.CANCEL_OTHER: "C",
}
_POLICIES = {letter: policy for policy, letter in _LETTERS.items()}
_NEWEST_FIRST = "n"


_WRITTEN = re.compile(
    rf"(?P<policy>[A-Z])(?P<order>{_NEWEST_FIRST}?)(?P<running>[0-9]+)\.(?P<limit>[0-9]+)"
    r"(?:\+(?P<part>.*)|:(?P<group>.*))?",
    re.DOTALL,
)


def overlap_text(overlap: Overlap, schedule_id: str | None) -> str:
    """Return ``overlap`` of a job of ``schedule_id`` (``None``: name the group in any case)."""
    order = _NEWEST_FIRST if overlap.newest_first else ""
    counts = f"{overlap.max_running}.{overlap.buffer_limit}"
    return f"{_LETTERS[overlap.policy]}{order}{counts}{_group_text(overlap.group, schedule_id)}"


def read_overlap(written: str, schedule_id: str | None) -> Overlap:
    """Read what `overlap_text` wrote. Raises `ValueError` for anything else."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise ValueError(f"{written!r} is no overlap")
    group, part = found["group"], found["part"]
    if group is None:
        group = schedule_id or ""
    if part is not None:
        group = f"{group}.{part}"
    return Overlap(
        group=group,
        policy=_POLICIES[found["policy"]],
        max_running=int(found["running"]),
        buffer_limit=int(found["limit"]),
        newest_first=bool(found["order"]),
    )


def _group_text(group: str, schedule_id: str | None) -> str:
    if group == schedule_id:
        return ""
    if schedule_id is not None and group.startswith(schedule_id + "."):
        return "+" + group.removeprefix(schedule_id + ".")
    return ":" + group
