"""Names that a user's file may not have, because it would be imported in place of another."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from hourhand_cdk.packing._errors import PackingError
from hourhand_cdk.packing._source import SourceFiles

MANIFEST = "manifest.json"
_OURS = frozenset({"hourhand", "main"})
_LAMBDAS = frozenset(
    {
        "awslambdaric",
        "boto3",
        "botocore",
        "bootstrap",
        "lambda_runtime_client",
        "lambda_runtime_exception",
        "lambda_runtime_log_utils",
        "lambda_runtime_marshaller",
        "runtime_client",
        "s3transfer",
        "simplejson",
        "snapshot_restore_py",
    }
)
"""What Lambda's own runtime consists of, which it imports after our folder is on the path."""

_PYTHONS = sys.stdlib_module_names | {"sitecustomize", "usercustomize"}
_NOT_CODE = frozenset({".dist-info", ".data", ".libs", ".pth"})


def check_source_names(files: SourceFiles, libraries: Mapping[str, str]) -> None:
    """Refuse a user's file that would shadow something. ``libraries``: name -> its owner."""
    for root in sorted({place.parts[0] for place in files.places}):
        owner = _owner(root, libraries)
        if owner is not None:
            raise PackingError(
                f"{root} would take the place of {owner} in the worker function. "
                "Rename it, or put it into a package."
            )


def check_library_names(ours: Path, theirs: Path) -> None:
    """Refuse an installed distribution of the user's that would shadow something."""
    own = {_import_name(entry.name) for entry in _entries(ours)}
    for entry in _entries(theirs):
        name = _import_name(entry.name)
        if name in own or name in {"boto3", "botocore", "s3transfer"}:
            continue
        owner = _owner(entry.name, {})
        if owner is not None:
            raise PackingError(
                f"The requirements install {entry.name}, which would take the place of {owner} in "
                "the worker function. Leave out what brings it."
            )


def library_names(*trees: Path) -> dict[str, str]:
    """Return the top-level names of installed trees, each with what it is, for messages."""
    return {
        _import_name(entry.name): f"the installed package {_import_name(entry.name)}"
        for tree in trees
        for entry in _entries(tree)
    }


def _owner(root: str, libraries: Mapping[str, str]) -> str | None:
    name = _import_name(root)
    if root == MANIFEST:
        return "the manifest of the handlers"
    if name in _OURS:
        return f"Hourhand's own {name}"
    if name in _LAMBDAS:
        return f"Lambda's own {name}"
    if name in _PYTHONS:
        return f"Python's own module {name}"
    return libraries.get(name)


def _import_name(entry: str) -> str:
    """Return what a file or a folder of the root is imported as."""
    path = PurePosixPath(entry)
    # An extension module is called like fast.cpython-313-aarch64-linux-gnu.so.
    return entry.partition(".")[0] if path.suffix in {".py", ".so"} else entry


def _entries(tree: Path) -> Iterable[Path]:
    if not tree.is_dir():
        return ()
    return (entry for entry in sorted(tree.iterdir()) if entry.suffix not in _NOT_CODE)
