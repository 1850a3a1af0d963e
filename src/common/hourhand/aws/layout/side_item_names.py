"""The attributes of side items: their names in the domain, and the letters that are stored.

Each letter is a byte of each item. An attribute of the domain that has no letter here cannot be
stored. Beside these, each item has ``v``, the version of the layout of its kind, and ``x``, the
second after which TTL may delete it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from hourhand.domain.side_items import SideItemKind

RESERVED = frozenset("psbklcdvx")
"""Attributes of a stored item that are no values: the keys of the jobs table and of its indexes,
the version and the end."""


def _letters(pairs: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in pairs.split())


_RECORD = _letters(
    "created_ms=cr outcome=o round=rd token=f index=i count=n began_ms=bg ended_ms=e text=r "
    "place=vr size=vs until_ms=u signal=g waits_for=wt secret=sc beat_ms=hb beat_seconds=hs "
    "is_private=pv is_compensated=cm is_lazy=lz decisions=m is_unknown=uk key_round=rr "
    "effects_text=ef names_text=nm"
)
_JOIN = _letters(
    "created_ms=cr round=rd token=f order=i count=n began_ms=bg ends=e result_text=r total=tt "
    "handler=hn is_map=mp is_abandoned=oe window=wn tolerate=tl min_success=ms places=a path=pa "
    "full=sh failed=fa opening=op version=vn"
)
_SIGNAL = _letters("created_ms=cr number=n at_ms=at text=r place=vr taken_by=w segment=sg")
_RATE = _letters("line=a gate=g reset_from=r reset_at=z starts=t window=w window_starts=n")
LETTERS: Mapping[SideItemKind, Mapping[str, str]] = {
    SideItemKind.SLOTS: _letters("holders=h label=n virtual_time=vt"),
    SideItemKind.WAITER: _letters("generation=g job_id=j rank=r"),
    SideItemKind.FAIR_SHARE: _letters("next=a"),
    SideItemKind.RATE: _RATE,
    SideItemKind.UNIQUE_KEY: _letters("newest=e"),
    SideItemKind.STEP: _RECORD,
    SideItemKind.WAIT: _RECORD,
    SideItemKind.CALLBACK: _RECORD,
    SideItemKind.CURSOR: _RECORD,
    SideItemKind.CHANGE: _RECORD,
    SideItemKind.DECISIONS: _RECORD,
    SideItemKind.RESET: {**_RECORD, **_letters("resets=fl keys=kr")},
    SideItemKind.JOIN: _JOIN,
    SideItemKind.VALUE: _letters("created_ms=cr text=r"),
    SideItemKind.SIGNAL: _SIGNAL,
    SideItemKind.QUOTA: _letters("jobs=n at=t"),
}
"""The letters of each kind, by name. A digit behind a name, or a letter, numbers a shard."""

_DIGITS = "0123456789"


def stored_name(kind: SideItemKind, name: str) -> str:
    """Return the letters of an attribute. Raises `KeyError` for one that has none."""
    plain = name.rstrip(_DIGITS)
    return LETTERS[kind][plain] + name[len(plain) :]


def read_name(kind: SideItemKind, attribute: str) -> str:
    """Return the name of a stored attribute; one of a later release keeps its letters."""
    letter = attribute.rstrip(_DIGITS)
    return _names(kind).get(letter, letter) + attribute[len(letter) :]


@cache
def _names(kind: SideItemKind) -> Mapping[str, str]:
    return {letter: name for name, letter in LETTERS[kind].items()}
