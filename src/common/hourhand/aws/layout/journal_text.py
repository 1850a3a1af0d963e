"""A schedule's journal in one short text: each entry by its distance from the one before.

``iyw8g0,1o0,1o0E,1o0P_50n0*2s`` is four entries. Numbers are of base 36. An entry is

| part | what |
|---|---|
| ``1o0`` | ``first``: seconds after that of the entry before (of the first: since 1970) |
| ``P`` | the reason, as a capital letter; absent where a job was made |
| ``_50n0`` | ``last``: seconds after ``first``, unless it is the same |
| ``*2s`` | ``count``, unless it is 1 |
| ``+`` | more than ``count`` were skipped |
| ``~trigger`` | the salt, unless it is empty, with percent signs for what is not plain |

Milliseconds, where an instant has some, follow the seconds after a dot: ``1o0.250``.
"""

from __future__ import annotations

import re
from datetime import datetime
from urllib.parse import quote, unquote

from hourhand.aws.layout.values import (
    DISTANCE_PATTERN,
    distance_text,
    read_base36,
    read_distance,
)
from hourhand.domain.jobs.history import base36
from hourhand.domain.schedules.schedule import JournalEntry, SkipReason
from hourhand.domain.times import from_ms, to_ms

_LETTERS = {
    SkipReason.PAUSED: "P",
    SkipReason.OVERLAP: "O",
    SkipReason.WINDOW: "W",
    SkipReason.MISFIRE: "M",
    SkipReason.EXCLUDED: "E",
    SkipReason.BUFFER_FULL: "B",
    SkipReason.REPLACED: "R",
    SkipReason.DELETED: "D",
    SkipReason.BACKFILL_CANCELLED: "C",
    SkipReason.LATE: "L",
}
_REASONS = {letter: reason for reason, letter in _LETTERS.items()}

_ENTRY = re.compile(
    rf"(?P<first>{DISTANCE_PATTERN})(?P<reason>[A-Z]?)(?:_(?P<span>{DISTANCE_PATTERN}))?"
    r"(?:\*(?P<count>[0-9a-z]+))?(?P<least>\+?)(?:~(?P<salt>.*))?"
)


def journal_text(entries: tuple[JournalEntry, ...]) -> str:
    """Return ``entries`` as one text."""
    words: list[str] = []
    before_ms = 0
    for entry in entries:
        first_ms = to_ms(entry.first)
        words.append(_entry_text(entry, first_ms, before_ms))
        before_ms = first_ms
    return ",".join(words)


def read_journal(written: str) -> tuple[JournalEntry, ...]:
    """Read what `journal_text` wrote. Raises `ValueError` for anything else."""
    entries: list[JournalEntry] = []
    before_ms = 0
    for word in written.split(",") if written else ():
        found = _ENTRY.fullmatch(word)
        if found is None:
            raise ValueError(f"{word!r} is no entry of a journal")
        before_ms += read_distance(found["first"])
        entries.append(_entry_of(found, from_ms(before_ms), before_ms))
    return tuple(entries)


def _entry_text(entry: JournalEntry, first_ms: int, before_ms: int) -> str:
    last_ms = to_ms(entry.last)
    parts = [distance_text(first_ms - before_ms)]
    if entry.reason is not None:
        parts.append(_LETTERS[entry.reason])
    if last_ms != first_ms:
        parts.append("_" + distance_text(last_ms - first_ms))
    if entry.count != 1:
        parts.append("*" + base36(entry.count))
    if entry.is_least:
        parts.append("+")
    if entry.salt:
        parts.append("~" + quote(entry.salt, safe=""))
    return "".join(parts)


def _entry_of(found: re.Match[str], first: datetime, first_ms: int) -> JournalEntry:
    span, count, salt = found["span"], found["count"], found["salt"]
    return JournalEntry(
        first=first,
        last=from_ms(first_ms + read_distance(span)) if span else first,
        count=read_base36(count) if count else 1,
        reason=_REASONS[found["reason"]] if found["reason"] else None,
        salt=unquote(salt) if salt else "",
        is_least=bool(found["least"]),
    )
