"""What each function carries: only what it imports, however late.

The evidence is `tests/infra/packing/test_functions_packed.py`: it wires each packed function in a
bare process, and looks for every import that is written in a packed module.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath

import hourhand
from hourhand.local.entry_points import functions_folder
from hourhand_cdk.packing._trees import (
    copy_file,
    copy_tree,
    files_below,
    is_installers_note,
)

API, SCHEDULER, WORKER = FUNCTIONS = ("api", "scheduler", "worker")

_NO_FUNCTIONS = frozenset(
    {
        *("_examples", "_functions", "_project"),
        *("cli", "console", "local", "loopback", "memory", "testing"),
    }
)
_LEFT_OUT = {
    API: _NO_FUNCTIONS | {"client", "handlers", "worker"},
    SCHEDULER: _NO_FUNCTIONS | {"answers", "api", "client", "handlers", "worker"},
    WORKER: _NO_FUNCTIONS | {"api"},
}
"""Parts of Hourhand. Named by what stays away: a new module that is forgotten here costs a few
kilobytes, one forgotten in a list of what goes along would cost the function."""

_KEPT = {API: (), SCHEDULER: (), WORKER: ("api/__init__.py", "api/requests")}
"""What is carried of a part that is left out: a run's child is read as a submission is."""

_UNUSED = (
    # Routing, validation and OpenAPI for APIs: we have our own.
    "aws_lambda_powertools/event_handler",
    "aws_lambda_powertools/middleware_factory",
    # For models of pydantic 1, and a plugin of mypy.
    "pydantic/v1",
    "pydantic/mypy.py",
)
_UNUSED_BY_SCHEDULER = ("annotated_types", "pydantic", "pydantic_core", "typing_inspection")
"""It reads no requests and runs no handlers, so it validates nothing."""

_UTILITIES = "aws_lambda_powertools/utilities"
_USED_UTILITIES = frozenset({"__init__.py", "jmespath_utils"})
"""Powertools' logging filters by it; the other utilities are for handlers."""

TRACING = frozenset({"aws_xray_sdk", "wrapt"})
"""What HOURHAND_TRACING needs in every function; it comes with the user's requirements."""


def copy_hourhand(function: str, to: Path) -> None:
    """Copy the function's ``main.py`` and its parts of Hourhand."""
    copy_file(functions_folder() / function / "main.py", to / "main.py")
    left_out = _LEFT_OUT[function]

    def keeps(place: PurePosixPath) -> bool:
        is_kept = any(place.is_relative_to(kept) for kept in _KEPT[function])
        is_part = is_kept or place.parts[0].removesuffix(".py") not in left_out
        return is_part and not is_installers_note(place)

    copy_tree(Path(hourhand.__file__).parent, to / "hourhand", keeps)


def copy_libraries(function: str, ours: Path, theirs: Path, to: Path) -> None:
    """Copy the installed libraries: whole for the worker, since a handler may use any part."""
    if function == WORKER:
        copy_tree(ours, to)
        copy_tree(theirs, to, _missing_in(ours))
        return
    unused = {*_UNUSED_BY_SCHEDULER} if function == SCHEDULER else set[str]()
    copy_tree(ours, to, lambda place: distribution_of(place) not in unused and _is_used(place))
    copy_tree(theirs, to, lambda place: distribution_of(place) in TRACING)


def distribution_of(place: PurePosixPath) -> str:
    """Return the name below which a file is installed, whether it is code or metadata."""
    root = place.parts[0]
    return root.partition("-")[0] if root.endswith(".dist-info") else root


def _missing_in(ours: Path) -> Callable[[PurePosixPath], bool]:
    # Both have the same versions of what they share; one copy is enough.
    places = {place for place, _ in files_below(ours)}
    return lambda place: place not in places


def _is_used(place: PurePosixPath) -> bool:
    if place.is_relative_to(_UTILITIES):
        return place.relative_to(_UTILITIES).parts[0] in _USED_UTILITIES
    return not any(place.is_relative_to(unused) for unused in _UNUSED)
