"""Putting a mutant in place of the code: at import, in this process, with nothing on disk changed.

Only for a fresh process: a module that was imported before would stay as it is, so it is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from proof.mutants.mutant import Change


class _PatchedLoader(SourceFileLoader):
    """Loads a module from its file, with changes of the source that is read."""

    def __init__(self, fullname: str, path: str, changes: Sequence[Change]) -> None:
        super().__init__(fullname, path)
        self._changes = changes

    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed source; no bytecode is read or written."""
        source = self.get_source(fullname)
        assert source is not None
        for change in self._changes:
            source = change.apply(source)
        return compile(source, self.path, "exec", dont_inherit=True)


class MutantFinder(MetaPathFinder):
    """Finds the modules of a mutant before anybody else does. ``loaded``: those that came in."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.loaded: set[str] = set()
        self._changes = changes

    @property
    def modules(self) -> set[str]:
        """The modules that are to be changed."""
        return {change.module for change in self._changes}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module with its changes; ``None`` for every other module."""
        if fullname not in self.modules:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        own = [change for change in self._changes if change.module == fullname]
        spec.loader = _PatchedLoader(fullname, spec.origin, own)
        spec.cached = None
        self.loaded.add(fullname)
        return spec


def install(changes: Sequence[Change]) -> MutantFinder:
    """Let every later import of the changed modules bring the mutant in.

    Raises `RuntimeError` where one of them was imported already.
    """
    finder = MutantFinder(changes)
    too_late = finder.modules & sys.modules.keys()
    if too_late:
        raise RuntimeError(f"Imported before the mutant could be put in: {sorted(too_late)}.")
    sys.meta_path.insert(0, finder)
    return finder
