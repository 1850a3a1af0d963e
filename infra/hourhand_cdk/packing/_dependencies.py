"""Installed libraries: ours by pins, the user's by his requirements; kept by their hash."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path, PurePosixPath

from hourhand.aws.botocore_versions import OLDEST_TEXT
from hourhand_cdk.packing._aws_libraries import check_aws_libraries
from hourhand_cdk.packing._installer import Installer, Wanted
from hourhand_cdk.packing._parts import distribution_of
from hourhand_cdk.packing._pins import LAMBDA_HAS, Pin
from hourhand_cdk.packing._requirements import Requirements
from hourhand_cdk.packing._target import Target
from hourhand_cdk.packing._trees import copy_file, is_installers_note, settle, tidy

CACHE = Path(".hourhand", "packing")
"""Where the command and the CDK app look, too: what was fetched once is there for later packs."""

FORMAT = 1
"""Part of every hash: raise it when trees are made in another way."""

Say = Callable[[str], None]


class Dependencies:
    """Makes trees, or finds them in ``cache``."""

    def __init__(self, find: Callable[[], Installer], cache: Path, say: Say) -> None:
        """``find``: called only when something must be installed."""
        self._find = find
        # The installer runs in a folder of its own.
        self._cache = cache.absolute()
        self._say = say

    def ours(self, pins: tuple[Pin, ...], target: Target) -> Path:
        """Return the tree of ``pins``, whose closure they are."""
        lines = tuple(str(pin) for pin in pins)

        def make(folder: Path) -> None:
            if target.is_this_machine and _copy_installed((pin.name for pin in pins), folder):
                return
            self._say(f"Fetching Hourhand's {len(pins)} libraries for {target}")
            self._find().install(Wanted(lines=lines, is_complete=True), target, folder)

        return self._kept({"ours": lines, "target": str(target)}, make)

    def theirs(
        self, requirements: Requirements, pins: tuple[Pin, ...], target: Target
    ) -> Path | None:
        """Return the tree of the user's requirements, which may not move ``pins``.

        ``None`` where there are none. Raises `PackingError` where they bring a boto3, or a part of
        it, that would not work in the worker.
        """
        if not requirements.lines:
            return None
        wanted = Wanted(
            lines=tuple(line.text for line in requirements.lines),
            constraints=(
                *(str(pin) for pin in pins),
                *(line.text for line in requirements.constraints),
            ),
            options=requirements.options,
        )

        def make(folder: Path) -> None:
            self._say(f"Fetching {len(wanted.lines)} requirements of the handlers for {target}")
            self._find().install(wanted, target, folder)
            check_aws_libraries(folder, requirements, target)
            applying = (line for line in requirements.lines if line.applies(target.markers))
            if not LAMBDA_HAS & {line.name for line in applying}:
                _remove(LAMBDA_HAS, folder)

        key = {
            "lines": wanted.lines,
            "constraints": wanted.constraints,
            "options": wanted.options,
            "target": str(target),
            # What is kept was checked: by this version's minimum.
            "oldest_boto3": OLDEST_TEXT,
        }
        return self._kept(key, make)

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
                # The other one was quicker, and made the same.
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


def _remove(distributions: frozenset[str], folder: Path) -> None:
    for entry in sorted(folder.iterdir()):
        if distribution_of(PurePosixPath(entry.name)) in distributions:
            shutil.rmtree(entry)
