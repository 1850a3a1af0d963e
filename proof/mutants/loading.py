"""Putting a mutant in place of the code: at import, in this process, with nothing on disk changed.

Only for a fresh process: a module that was imported before would stay as it is, so it is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from proof.mutants.mutant import Patch


class _PatchedLoader(SourceFileLoader):
    """Loads a module from its file, with patches applied to the source that is read."""

    def __init__(self, fullname: str, path: str, patches: Sequence[Patch]) -> None:
        super().__init__(fullname, path)
        self._patches = patches

    def get_code(self, fullname: str) -> CodeType:
        """Compile the patched source; no bytecode is read or written."""
        source = self.get_source(fullname)
        assert source is not None
        for patch in self._patches:
            source = patch.apply(source)
        return compile(source, self.path, "exec", dont_inherit=True)


class MutantFinder(MetaPathFinder):
    """Finds the modules of a mutant before anybody else does. ``loaded``: those that came in."""

    def __init__(self, patches: Sequence[Patch]) -> None:
        self.loaded: set[str] = set()
        self._patches = patches

    @property
    def modules(self) -> set[str]:
        """The modules that are to be patched."""
        return {patch.module for patch in self._patches}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module with its patches; ``None`` for every other module."""
        if fullname not in self.modules:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        own = [patch for patch in self._patches if patch.module == fullname]
        spec.loader = _PatchedLoader(fullname, spec.origin, own)
        spec.cached = None
        self.loaded.add(fullname)
        return spec


def install(patches: Sequence[Patch]) -> MutantFinder:
    """Let every later import of the patched modules bring the mutant in.

    Raises `RuntimeError` where one of them was imported already.
    """
    finder = MutantFinder(patches)
    too_late = finder.modules & sys.modules.keys()
    if too_late:
        raise RuntimeError(f"Imported before the mutant could be put in: {sorted(too_late)}.")
    sys.meta_path.insert(0, finder)
    return finder
