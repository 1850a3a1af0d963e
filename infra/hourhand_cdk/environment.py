"""Which names the user's handlers may have in the worker's environment."""

from __future__ import annotations

import re
from collections.abc import Iterable

OURS = "HOURHAND_"

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
"""What Lambda accepts as a name (Lambda API, Environment)."""

_LAMBDAS_OWN = frozenset(
    {
        "AWS_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_DEFAULT_REGION",
        "AWS_EXECUTION_ENV",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "LAMBDA_RUNTIME_DIR",
        "LAMBDA_TASK_ROOT",
    }
)
_LAMBDAS_OWN_BEGIN = "AWS_LAMBDA_"
EXEC_WRAPPER = "AWS_LAMBDA_EXEC_WRAPPER"
"""The one reserved name that users may set: the program of a layer that starts Python."""


def check_names(names: Iterable[str]) -> None:
    """Raise `ValueError` for the first name that Lambda refuses, or that could be one of ours.

    The reserved ones are those of the Lambda developer guide, "Defined runtime environment
    variables"; Lambda accepts no name like ``_HANDLER`` or ``_X_AMZN_TRACE_ID``.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is not a name that Lambda accepts: use two or more of a-z, A-Z, 0-9 "
                "and _, a letter first"
            )
        if name.startswith(OURS):
            raise ValueError(
                f"{name} is refused: names that begin with {OURS} are reserved for Hourhand"
            )
        begins_as_lambdas = name.startswith(_LAMBDAS_OWN_BEGIN) and name != EXEC_WRAPPER
        if begins_as_lambdas or name in _LAMBDAS_OWN:
            raise ValueError(f"{name} is refused: Lambda sets it")
