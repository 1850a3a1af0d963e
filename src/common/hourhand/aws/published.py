"""How a published version of a function is described, and the alias that callers use.

The deployment writes the description (`hourhand_cdk.versions`); ``hourhand rollback`` and
``hourhand doctor`` read it to find the versions that one deployment published together.
"""

from __future__ import annotations

import re

ALIAS = "live"
"""Every trigger calls a function by this alias."""

UNCOMPILED = ", without bytecode"
"""Ends the description of a function whose package has none, for `hourhand doctor`."""

MAX_DESCRIPTION = 256
"""Characters (Lambda API, PublishVersion and UpdateAlias)."""

_DEPLOYMENT = re.compile(r"^Hourhand (?P<release>\S+), deployment (?P<deployment>[0-9a-f]{12}):")
_ROLLBACK = re.compile(r"^Moved to deployment [0-9a-f]{12} at (?P<at>\S+) by hourhand rollback$")


def version_description(function: str, installation: str, release: str, deployment: str) -> str:
    """Return the description of the version of ``function`` that ``deployment`` publishes.

    ``release`` is Hourhand's version. ``deployment`` is 12 hexadecimal digits, which the versions
    of all three functions share.
    """
    return f"Hourhand {release}, deployment {deployment}: {function} of {installation}"


def read_description(description: str) -> tuple[str, str] | None:
    """Return release and deployment from a description; ``None`` if it is not one of ours."""
    match = _DEPLOYMENT.match(description)
    return None if match is None else (match["release"], match["deployment"])


def rollback_description(deployment: str, at: str) -> str:
    """Return the description of an alias that `hourhand rollback` moved to ``deployment``.

    ``at`` is the time of the move, RFC 3339.
    """
    return f"Moved to deployment {deployment} at {at} by hourhand rollback"


def read_rollback(description: str) -> str | None:
    """Return when `hourhand rollback` moved an alias; ``None`` if a deployment moved it."""
    match = _ROLLBACK.match(description)
    return None if match is None else match["at"]
