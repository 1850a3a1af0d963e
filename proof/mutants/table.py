"""Reads the pages in ``tables``: which mutants there are, what they break, and who kills them.

A title begins an area; a heading names the module that its rows are about. A row says the name of
a mutant and the rule that it breaks; then, a line each, its changes, each in a function of that
module (or of another, named before a colon); last, who kills it, or why nobody need:

    - **mark before send**: Send, then mark.
      `Dispatcher.dispatch`: `old` -> `new`
      killed by `dispatch three jobs / a death`, `explorer: ahead`

A change is ```old` -> `new```; or ``block `old` -> `new```, for the line of the fragment and all
that it heads, or ``drop `old```, to leave that out; or ``add `new` after `old```, or ``before`` it,
a line of its own. All but the last two may end with ``after `...``` where the fragment occurs more
than once. ``[reads]`` stands for a reason at the end of the page: ``[reads]: It costs reads.``
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proof.mutants.mutant import Change, How, Mutant

TABLES = Path(__file__).parent / "tables"

_ROW = re.compile(r"- \*\*(.+?)\*\*: (.+)")
_CHANGE = re.compile(r"  `(?:([\w.]+):)?([\w.]+)`: (.+)")
_FATE = re.compile(r"  (killed by .+|equivalent: .+)")
_KILLED = re.compile(r"killed by (`.+?`)(?:; not explored: (.+))?")
_REASON = re.compile(r"^\[([\w ]+)\]: (.+)$", re.M)
_CODE = "`([^`]*)`"
_FORMS: Mapping[re.Pattern[str], tuple[How, tuple[str, ...]]] = {
    re.compile(f"{_CODE} -> {_CODE}(?: after {_CODE})?"): (How.REPLACE, ("old", "new", "after")),
    re.compile(f"block {_CODE} -> {_CODE}(?: after {_CODE})?"): (
        How.BLOCK,
        ("old", "new", "after"),
    ),
    re.compile(f"drop {_CODE}(?: after {_CODE})?"): (How.BLOCK, ("old", "after")),
    re.compile(f"add {_CODE} after {_CODE}"): (How.ADD_AFTER, ("new", "old")),
    re.compile(f"add {_CODE} before {_CODE}"): (How.ADD_BEFORE, ("new", "old")),
}


class UnreadableRow(ValueError):
    """A line of a table is of no known form."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What must become of a mutant: who kills it, or why nobody need, and why none explores it."""

    killers: tuple[str, ...] = ()
    equivalent: str = ""
    not_explored: str = ""


def read_table(page: str) -> Iterator[tuple[str, Mutant]]:
    """Yield each mutant of a page with its area. Raises `UnreadableRow`."""
    area = module = name = rule = ""
    changes: list[Change] = []
    for line in _REASON.sub("", page).splitlines():
        if line.startswith("# "):
            area = line.removeprefix("# ")
        elif line.startswith("## "):
            module = line.removeprefix("## ")
        elif row := _ROW.fullmatch(line):
            (name, rule), changes = row.groups(), []
        elif change := _CHANGE.fullmatch(line):
            changes.append(_read_change(change[1] or module, change[2], change[3]))
        elif fate := _FATE.fullmatch(line):
            found = read_fate(fate[1], page)
            yield (
                area,
                Mutant(
                    name=name,
                    rule=rule,
                    changes=tuple(changes),
                    killers=found.killers,
                    equivalent=found.equivalent,
                    not_explored=found.not_explored,
                ),
            )
        elif line:
            raise UnreadableRow(line)


def _read_change(module: str, scope: str, text: str) -> Change:
    for form, (how, names) in _FORMS.items():
        if found := form.fullmatch(text):
            given = {name: value or "" for name, value in zip(names, found.groups(), strict=True)}
            return Change(module=module, scope=scope, how=how, **given)
    raise UnreadableRow(text)


def read_fate(text: str, page: str) -> Fate:
    """Return who kills a mutant, or why nobody need. Raises `UnreadableRow`."""
    reasons: dict[str, str] = {f"[{label}]": reason for label, reason in _REASON.findall(page)}

    def in_full(reason: str | None) -> str:
        found = reasons.get(reason or "", reason or "")
        if found.startswith("["):
            raise UnreadableRow(f"The page gives no reason {found}.")
        return found

    if text.startswith("equivalent: "):
        return Fate(equivalent=in_full(text.removeprefix("equivalent: ")))
    found = _KILLED.fullmatch(text)
    if found is None:
        raise UnreadableRow(text)
    killers = tuple(re.findall(_CODE, found[1]))
    return Fate(killers=killers, not_explored=in_full(found[2]))
