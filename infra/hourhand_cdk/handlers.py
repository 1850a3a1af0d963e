"""The user's handlers, packed as a deployment's config asks for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from hourhand_cdk.config import Config
from hourhand_cdk.packing import CACHE, HandlerSource, Packed, PackingError, Target, pack

TRACER = "aws_xray_sdk"


def packed_handlers(
    config: Config,
    to: Path,
    *,
    source: HandlerSource | None = None,
    environment: Mapping[str, str] | None = None,
) -> Packed:
    """Pack the functions and the handlers that ``config`` names, or those of ``source``.

    ``environment``: of the worker, for handlers that read it when imported. Raises
    `PackingError`.
    """
    target = (
        Target.this_machine()
        if config.pack_for == "this-machine"
        else Target.for_lambda(config.python, config.architecture)
    )
    packed = pack(
        source or HandlerSource(path=Path(config.handlers), module=config.handlers_module),
        target,
        to,
        cache=CACHE,
        environment=config.handlers_environment if environment is None else environment,
        say=report,
    )
    report(packed.report.text())
    if config.require_bytecode and packed.report.uncompiled:
        raise PackingError(
            f"require_bytecode=true, and {', '.join(packed.report.uncompiled)} would have no "
            "bytecode. The notes above say why, and how to change it."
        )
    if config.tracing == "xray" and not (packed.api / TRACER).is_dir():
        raise PackingError(
            "tracing=xray needs aws-xray-sdk, which all three functions then import at their "
            "start: add it to the requirements.txt of the handlers."
        )
    return packed


def report(text: str) -> None:
    """Print to standard error: some CDK command lines hide what an app prints to stdout."""
    sys.stderr.write(text + "\n")
