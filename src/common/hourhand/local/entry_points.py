"""Where the three functions lie, how one is loaded (by path, as Lambda does), and its context.

An editable checkout has them in ``functions/`` at its root, an installed wheel in
``hourhand/_functions``.
"""

from __future__ import annotations

import functools
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hourhand
from hourhand.domain.errors import NotFound

MEMORY_VARIABLE = "HOURHAND_LOCAL_MEMORY"
"""Set where the memory of the local cloud stands in for AWS: how a process reaches it."""

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


def load_entry_point(function: str, services: Callable[[], Any] | None = None) -> Handler:
    """Import ``functions/<function>/main.py`` and return its ``handler``.

    ``services`` replaces those of AWS. It is called once, by the first event.
    """
    path = functions_folder() / function / "main.py"
    spec = importlib.util.spec_from_file_location(f"hourhand_functions_{function}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise NotFound(f"There is no function at {path}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if services is not None:
        vars(module)["services"] = functools.cache(services)
    handler: Handler = module.handler
    return handler


def _existing(*places: Path) -> Path:
    for place in places:
        if place.is_dir():
            return place
    raise NotFound(f"Nothing is at {' or '.join(map(str, places))}; is the installation whole?")


FUNCTION_SECONDS = 900
"""How long one invocation may take: Lambda's own limit, which the worker is deployed with."""


@dataclass(kw_only=True, slots=True)
class LocalContext:
    """Lambda's ``context``: the function's name, the invocation's id, and the time left.

    ``aws_request_id`` must be unique to the invocation: the scheduler takes its lease under it.
    """

    function_name: str
    aws_request_id: str
    limit_seconds: float = FUNCTION_SECONDS
    memory_limit_in_mb: int = 1024
    function_version: str = "$LATEST"
    invoked_function_arn: str = ""
    log_group_name: str = ""
    log_stream_name: str = ""
    monotonic: Callable[[], float] = time.monotonic
    _started_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._started_at = self.monotonic()
        self.invoked_function_arn = self.invoked_function_arn or (
            f"arn:aws:lambda:local:000000000000:function:{self.function_name}"
        )
        self.log_group_name = self.log_group_name or f"/aws/lambda/{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Return what is left of the invocation's time, in ms; 0 at its end."""
        left = self._started_at + self.limit_seconds - self.monotonic()
        return max(0, int(left * 1000))
