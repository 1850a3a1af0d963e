"""The user's handlers: which files they are, where they go, and which module registers them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hourhand_cdk.packing._errors import PackingError

MAX_FILES = 20_000
"""More than this is a folder that was given by mistake."""

SHOWN_MODULES = 20
REQUIREMENTS = "requirements.txt"
_SKIPPED_NAMES = frozenset({"__pycache__", "cdk.out", "node_modules"})
_SKIPPED_SUFFIXES = frozenset({".egg-info", ".pyc", ".pyo"})
HOW_TO_NAME_IT = "MODULE=NAME (make), -c handlers_module=NAME (cdk) or --module NAME (packing)"
"""The same setting, for each of the tools that pack."""

_REGISTERS = re.compile(rb"^\s*@(\w+\.)?job\(", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class HandlerSource:
    """``path``: a folder or a ``.py`` file. ``module``: what registers the handlers, if given."""

    path: Path
    module: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFiles:
    """The files of a source by their place in the worker's asset.

    ``package``: the name of the folder, where it is a package. ``requirements``: the file that
    says what is to be installed with them, if there is one.
    """

    places: Mapping[PurePosixPath, Path]
    package: str | None
    requirements: Path | None
    notes: tuple[str, ...] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """Every module that the files make, by name."""
        return tuple(sorted({_module_name(place) for place in self.places if _is_module(place)}))

    @property
    def registering_modules(self) -> tuple[str, ...]:
        """Those in which ``@job(`` is written."""
        writing = {
            _module_name(place)
            for place, file in self.places.items()
            if _is_module(place) and _registers(file)
        }
        return tuple(sorted(writing))

    @property
    def candidates(self) -> tuple[str, ...]:
        """Modules that may be the one to name, as far as their text shows."""
        return self.registering_modules or self.modules


def read_source(source: HandlerSource) -> SourceFiles:
    """Find the files of ``source``. Reads no code and runs none.

    Raises `PackingError` for a path that is neither, and for a link that leads out of it.
    """
    path = source.path.expanduser().resolve()
    if path.is_file() and path.suffix == ".py":
        return SourceFiles(
            places={PurePosixPath(path.name): path},
            package=None,
            requirements=_existing(path.with_name(REQUIREMENTS)),
        )
    if not path.is_dir():
        raise PackingError(
            f"Handlers are a folder or a .py file, and {source.path} is "
            f"{'neither' if path.exists() else 'not there'}."
        )
    package = path.name if (path / "__init__.py").is_file() else None
    if package is not None and not package.isidentifier():
        raise PackingError(
            f"{source.path} has an __init__.py, so it is a package, and {package!r} is not a name "
            "that Python can import. Rename the folder or remove its __init__.py."
        )
    root = PurePosixPath(package or ".")
    places: dict[PurePosixPath, Path] = {}
    for place, file in _walk(path, path, (path,)):
        if len(places) >= MAX_FILES:
            raise PackingError(f"{source.path} holds more than {MAX_FILES} files.")
        places[root / place] = file
    return SourceFiles(
        places=dict(sorted(places.items())),
        package=package,
        requirements=_existing(path / REQUIREMENTS),
        notes=_notes(path),
    )


def choose_module(files: SourceFiles, given: str | None) -> str:
    """Return the module that registers the handlers.

    Raises `PackingError` listing what there is where several may be meant, or none can be.
    """
    if given is not None:
        return given
    if files.package is not None:
        return files.package
    roots = sorted({module.partition(".")[0] for module in files.modules})
    if "handlers" in roots:
        return "handlers"
    registering = files.registering_modules
    if not registering:
        _require_importable(files)
    if len(roots) == 1:
        return roots[0]
    # Others, below folders, may be parts of what it brings together, or tests.
    at_root = [module for module in registering if module in roots]
    if len(at_root) == 1:
        return at_root[0]
    found = f"There are {listed(files.candidates)}" if roots else "There is no Python file"
    raise PackingError(f"Which module registers the handlers? {found}. Name it: {HOW_TO_NAME_IT}.")


def listed(names: Sequence[str]) -> str:
    """Return names as a text of bounded length."""
    more = len(names) - SHOWN_MODULES
    shown = ", ".join(names[:SHOWN_MODULES])
    return f"{shown} and {more} more" if more > 0 else shown


def _require_importable(files: SourceFiles) -> None:
    """Refuse files of which none can be imported that registers, or none at all."""
    scripts = {
        place: file
        for place, file in files.places.items()
        if place.suffix == ".py" and not _is_module(place)
    }
    for place, file in scripts.items():
        if not files.modules or _registers(file):
            raise PackingError(
                f"{place} has a name that Python cannot import. Rename it to {_importable(place)}."
            )


def _importable(place: PurePosixPath) -> PurePosixPath:
    """Return the nearest place whose every part is an identifier."""
    parts = (re.sub(r"\W", "_", part) for part in place.with_suffix("").parts)
    named = PurePosixPath(*(part if part.isidentifier() else f"_{part}" for part in parts))
    return named.with_suffix(".py")


def _walk(
    root: Path, folder: Path, parents: tuple[Path, ...]
) -> Iterator[tuple[PurePosixPath, Path]]:
    """Yield each file's place below ``root`` and itself. ``parents``: where links may not lead."""
    for entry in sorted(folder.iterdir()):
        if _is_skipped(entry):
            continue
        place = PurePosixPath(entry.relative_to(root).as_posix())
        real = entry.resolve()
        if entry.is_symlink():
            _require_inside(root, place, real, parents)
        if entry.is_dir():
            yield from _walk(root, entry, (*parents, real))
        elif entry.is_file():
            yield place, real
        else:
            raise PackingError(f"{place} is neither a file nor a folder.")


def _require_inside(
    root: Path, place: PurePosixPath, real: Path, parents: tuple[Path, ...]
) -> None:
    if not real.is_relative_to(root):
        raise PackingError(
            f"{place} is a link that leads out of {root.name}, so it is not packed: "
            "copy what it points to."
        )
    if real in parents:
        raise PackingError(f"{place} is a link to a folder that it is in.")


def _is_skipped(entry: Path) -> bool:
    return (
        entry.name.startswith(".")
        or entry.name in _SKIPPED_NAMES
        or entry.suffix in _SKIPPED_SUFFIXES
        # A virtual environment, whatever its name.
        or (entry / "pyvenv.cfg").is_file()
    )


def _notes(folder: Path) -> tuple[str, ...]:
    if (folder / "pyproject.toml").is_file() and not (folder / REQUIREMENTS).is_file():
        return (f"pyproject.toml is not read: what to install is taken from {REQUIREMENTS}.",)
    return ()


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None


def _registers(file: Path) -> bool:
    return _REGISTERS.search(file.read_bytes()) is not None


def _is_module(place: PurePosixPath) -> bool:
    return place.suffix == ".py" and all(
        part.isidentifier() for part in place.with_suffix("").parts
    )


def _module_name(place: PurePosixPath) -> str:
    parts = place.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
