"""Flags that may be given several times, and what their twins in the environment hold."""

from __future__ import annotations

import typer

BETWEEN = ";"
ENVIRONMENT = "ENVIRONMENT"
"""Where a value comes from (Click's `ParameterSource`, which Typer has as its own, too)."""

SEVERAL = f"may be given several times, in the environment with {BETWEEN} between"


def listed(
    context: typer.Context, parameter: typer.CallbackParam, value: list[str] | None
) -> list[str] | None:
    """Return the texts of a flag; those of the environment are taken apart at `BETWEEN`.

    Without it they are taken apart at each blank, of which an expression has several.
    """
    source = context.get_parameter_source(parameter.name or "")
    if not value or source is None or source.name != ENVIRONMENT:
        return value
    return [part.strip() for part in " ".join(value).split(BETWEEN) if part.strip()]
