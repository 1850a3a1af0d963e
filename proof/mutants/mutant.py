"""A mutant: one plausible mistake in the shipped code, the rule it breaks, and who must notice."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

EXPLORER = "explorer: "
"""How the names of killers begin that are scenarios of the explorer."""


class StaleMutant(Exception):
    """A mutant's fragment is not in its function exactly once: the code was changed since."""


class How(StrEnum):
    """What a change does with its fragment; or with its whole line and the block that it heads."""

    REPLACE = "replace"
    BLOCK = "block"
    ADD_AFTER = "add after"
    ADD_BEFORE = "add before"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One place in the code: ``old`` must occur exactly once in ``scope``, and becomes ``new``.

    ``scope`` is a function, a class or an assigned name of ``module``, such as ``Class.method``;
    the whole module if it is empty. ``after``: a fragment that occurs once, where ``old`` does
    not; then its next occurrence is meant.
    """

    module: str
    scope: str
    old: str
    new: str = ""
    how: How = How.REPLACE
    after: str = ""

    def apply(self, source: str) -> str:
        """Return ``source`` with the mistake in it. Raises `StaleMutant`."""
        place = self._place(source)
        end = place + len(self.old)
        line = source.rfind("\n", 0, place) + 1
        indent = source[line : len(source) - len(source[line:].lstrip(" "))]
        new = f"{indent}{self.new}\n" if self.new else ""
        match self.how:
            case How.REPLACE:
                return source[:place] + self.new + source[end:]
            case How.BLOCK:
                return source[:line] + new + source[_end_of_block(source, end, len(indent)) :]
            case How.ADD_BEFORE:
                return source[:line] + new + source[line:]
            case How.ADD_AFTER:
                line_end = source.index("\n", end) + 1
                return source[:line_end] + new + source[line_end:]

    def _place(self, source: str) -> int:
        begin, end = _extent(source, self.scope, f"{self.module} has no `{self.scope}`.")
        where = f"`{self.scope}` of {self.module}" if self.scope else self.module
        if self.after:
            begin = _only(self.after, source, begin, end, where)
            found = source.find(self.old, begin, end)
            if found < 0:
                raise StaleMutant(f"In {where} this does not follow `{self.after}`: `{self.old}`")
            return found
        return _only(self.old, source, begin, end, where)


def _only(fragment: str, source: str, begin: int, end: int, where: str) -> int:
    found = source.count(fragment, begin, end)
    if found != 1:
        raise StaleMutant(f"In {where} this occurs {found} times, not once: `{fragment}`")
    return source.index(fragment, begin, end)


def _extent(source: str, scope: str, absent: str) -> tuple[int, int]:
    """Return where the lines of a scope begin and end."""
    lines = source.splitlines(keepends=True)
    first, last = 1, len(lines)
    body: Sequence[ast.stmt] = ast.parse(source).body
    for name in filter(None, scope.split(".")):
        node = next((each for each in body if name in _names(each)), None)
        if node is None:
            raise StaleMutant(absent)
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        last = node.end_lineno or first
        body = getattr(node, "body", [])
    return len("".join(lines[: first - 1])), len("".join(lines[:last]))


def _names(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [each.id for each in targets if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _end_of_block(source: str, place: int, indent: int) -> int:
    """Return where the lines end that begin at ``place`` and are indented by more than that."""
    end = source.index("\n", place) + 1
    for line in source[end:].splitlines(keepends=True):
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        if line.strip():
            end = source.index(line, end) + len(line)
    return end


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """A mistake and what must become of it.

    ``rule``: what it breaks, and where that is written. ``killers``: the names of those that
    notice it, each by itself (see `proof.mutants.killers`). ``equivalent``: why nothing
    that the rules promise changes with it; then nobody need notice. ``not_explored``: why none of
    its killers is a scenario of the explorer.
    """

    name: str
    rule: str
    changes: tuple[Change, ...]
    killers: tuple[str, ...] = ()
    equivalent: str = ""
    not_explored: str = ""

    def __post_init__(self) -> None:
        """Refuse one that nobody is to notice without a reason."""
        if bool(self.killers) == bool(self.equivalent):
            raise ValueError(f"Say who kills the mutant '{self.name}', or why nobody need.")
        asks_why = bool(self.killers) and not self.is_explored
        if asks_why != bool(self.not_explored):
            raise ValueError(f"Say in which scenario '{self.name}' is explored, or why in none.")

    @property
    def is_explored(self) -> bool:
        """Whether a scenario of the explorer is among the killers."""
        return any(map(is_explorer, self.killers))


def is_explorer(killer: str) -> bool:
    """Whether a killer is a scenario of the explorer."""
    return killer.startswith(EXPLORER)


def mutated_sources(changes: Sequence[Change]) -> dict[str, str]:
    """Return by module the source with all ``changes`` in it. Raises `StaleMutant`."""
    sources: dict[str, str] = {}
    for change in changes:
        source = sources.get(change.module) or source_of(change.module)
        sources[change.module] = change.apply(source)
    return sources


def source_of(module: str) -> str:
    """Return the source of ``module`` as it is on disk. Raises `StaleMutant` if there is none."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        raise StaleMutant(f"There is no module {module}.")
    return Path(spec.origin).read_text()
