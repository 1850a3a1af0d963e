"""Where the three functions lie, and how one is loaded: by path, as Lambda does.

An editable checkout has them in ``functions/`` at its root, an installed wheel in
``hourhand/_functions``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hourhand
from hourhand.domain.errors import NotFound

Handler = Callable[[Any, Any], Any]
"""A Lambda function's entry point: ``handler(event, context)``."""

_PACKAGE = Path(hourhand.__file__).parent


def functions_folder(package: Path = _PACKAGE) -> Path:
    """Return the folder that holds ``api/``, ``scheduler/`` and ``worker/``.

    Raises `NotFound` naming the places that were looked at.
    """
    return _existing(package / "_functions", package.parents[2] / "functions")


def examples_path(package: Path = _PACKAGE) -> Path:
    """Return the folder to put on the module search path for ``examples.*`` to be importable.

    Raises `NotFound` naming the places that were looked at.
    """
    inside = package / "_examples" / "examples"
    return _existing(inside, package.parents[2] / "examples").parent


def load_entry_point(function: str) -> Handler:
    """Import ``functions/<function>/main.py`` and return its ``handler``."""
    path = functions_folder() / function / "main.py"
    spec = importlib.util.spec_from_file_location(f"hourhand_functions_{function}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise NotFound(f"There is no function at {path}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handler: Handler = module.handler
    return handler


def _existing(*places: Path) -> Path:
    for place in places:
        if place.is_dir():
            return place
    raise NotFound(f"Nothing is at {' or '.join(map(str, places))}; is the installation whole?")
