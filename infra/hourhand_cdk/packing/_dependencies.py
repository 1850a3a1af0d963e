"""Installed libraries: Hourhand's by pins, the user's by requirements.txt; kept by their hash."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path, PurePosixPath

from hourhand_cdk.packing._errors import InstallFailed, PackingError
from hourhand_cdk.packing._parts import distribution_of
from hourhand_cdk.packing._pins import HOURHAND, LAMBDA_HAS, Limit, limits, our_pins
from hourhand_cdk.packing._requirements import Requirements
from hourhand_cdk.packing._source import listed
from hourhand_cdk.packing._target import Target
from hourhand_cdk.packing._trees import copy_file, is_installers_note, settle, tidy
from hourhand_cdk.packing._uv import Wanted, install

CACHE = Path(".hourhand", "packing")
"""Where the command and the CDK app look, too: what was fetched once is there for later packs."""

FORMAT = 2
"""Part of every hash: increase it when trees are created in another way."""

WHEELS_ONLY = (
    "Packing installs wheels alone, so that no build runs. Build a requirement that has no wheel "
    "for this platform, and put its wheel on an index or into a folder that --find-links names."
)

Say = Callable[[str], None]


class Dependencies:
    """Installs trees, or finds them in ``cache``."""

    def __init__(self, cache: Path, say: Say) -> None:
        """``cache``: a folder, which is created if need be."""
        # uv runs in another folder.
        self._cache = cache.absolute()
        self._say = say
        self._pins = our_pins()

    def ours(self, target: Target) -> Path:
        """Return the tree of Hourhand's dependencies. Raises `InstallFailed`."""

        def make(folder: Path) -> None:
            names = (pin.partition("==")[0] for pin in self._pins)
            if target.is_this_machine and _copy_installed(names, folder):
                return
            self._say(f"Fetching Hourhand's {len(self._pins)} libraries for {target}")
            wanted = Wanted(lines=self._pins, excludes=(HOURHAND, *sorted(LAMBDA_HAS)))
            try:
                install(wanted, target, folder, self._uv_cache)
            except InstallFailed as error:
                raise InstallFailed(
                    f"Hourhand's libraries cannot be installed for {target}.\n{error.detail}"
                ) from error

        return self._kept({"ours": self._pins, "target": str(target)}, make)

    def theirs(self, requirements: Requirements, target: Target) -> Path:
        """Return the tree of the user's requirements, which cannot change Hourhand's versions.

        Raises `InstallFailed`, whose detail names the lines that are the reason, and the fix.
        """
        _require_this_hourhand(requirements)
        asked = {line.name for line in requirements.lines if not line.is_constraint}
        limited = limits(self._pins)
        wanted = Wanted(
            file=requirements.path,
            # A botocore alone would run with Lambda's own boto3, and the two may not fit.
            lines=("boto3",) if LAMBDA_HAS & asked else (),
            constraints=tuple(limit.text for limit in limited),
            excludes=(HOURHAND,),
        )

        def make(folder: Path) -> None:
            self._say(f"Fetching the requirements of the handlers for {target}")
            try:
                install(wanted, target, folder, self._uv_cache)
            except InstallFailed as error:
                explained = _explained(error.detail, requirements, limited, target)
                raise InstallFailed(explained) from error
            if not LAMBDA_HAS & asked:
                _remove(LAMBDA_HAS, folder)

        key = {
            "requirements": requirements.digest,
            "constraints": wanted.constraints,
            "target": str(target),
        }
        return self._kept(key, make)

    @property
    def _uv_cache(self) -> Path:
        # Not the user's: it may hold what was built elsewhere, and this pack would differ.
        return self._cache / "uv"

    def _kept(self, key: Mapping[str, object], make: Callable[[Path], None]) -> Path:
        text = json.dumps({"format": FORMAT, **key}, sort_keys=True)
        kept = self._cache / hashlib.sha256(text.encode()).hexdigest()[:32]
        if kept.is_dir():
            return kept
        self._cache.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: two packs may fill one cache at the same time.
        with tempfile.TemporaryDirectory(dir=self._cache, prefix=".part-") as part:
            tree = Path(part) / "tree"
            tree.mkdir()
            make(tree)
            tidy(tree)
            settle(tree)
            try:
                tree.rename(kept)
            except OSError:
                # Another pack was quicker, and its tree is the same.
                if not kept.is_dir():
                    raise
        return kept


@functools.cache
def installed_files(name: str) -> tuple[tuple[PurePosixPath, Path], ...]:
    """Return the files of a distribution of this environment; none where it is not recorded."""
    found = metadata.distribution(name).files or []
    return tuple(
        (PurePosixPath(file), Path(str(file.locate())))
        for file in found
        # Scripts lie outside of the folder of libraries.
        if ".." not in file.parts and not is_installers_note(PurePosixPath(file))
    )


def _copy_installed(names: Iterable[str], to: Path) -> bool:
    """Copy distributions of this environment; whether all of them could be."""
    found = {name: installed_files(name) for name in names}
    if not all(found.values()):
        return False
    for files in found.values():
        for place, path in files:
            copy_file(path, to / place)
    return True


def _require_this_hourhand(requirements: Requirements) -> None:
    """Refuse a line that asks for another Hourhand than the one that is packed."""
    version = metadata.version(HOURHAND)
    for line in requirements.lines:
        specifier = line.requirement.specifier
        if line.name == HOURHAND and not specifier.contains(version, prereleases=True):
            raise PackingError(
                f"{line} excludes hourhand {version}, which is packed. Change the line, or pack "
                "with the version that it asks for."
            )


def _explained(
    said: str, requirements: Requirements, limited: Iterable[Limit], target: Target
) -> str:
    """Return what uv printed, with the lines that it names, and the reasons for limits."""

    def is_named(name: str) -> bool:
        return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", said) is not None

    blamed = listed([str(line) for line in requirements.lines if is_named(line.name)])
    whys = dict.fromkeys(limit.why for limit in limited if is_named(limit.name))
    subject = blamed or requirements.path.name
    return "\n".join(
        [f"{subject} cannot be installed for {target}.", said, *(whys or [WHEELS_ONLY])]
    )


def _remove(distributions: frozenset[str], folder: Path) -> None:
    for entry in sorted(folder.iterdir()):
        if distribution_of(PurePosixPath(entry.name)) in distributions:
            shutil.rmtree(entry)
