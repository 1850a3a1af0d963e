"""The API: an event of API Gateway (HTTP API, payload format 2.0) in, its answer out.

No request raises an error here; see `hourhand.api`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from hourhand.api.app import App, create_app
from hourhand.aws.lambda_init import LambdaInit
from hourhand.ports.telemetry import Telemetry
from hourhand.settings import API_NEEDS, read_settings
from hourhand.wiring.functions import wire_api


def wire() -> tuple[App, Telemetry]:
    wired = wire_api(read_settings(os.environ, API_NEEDS))
    return create_app(wired), wired.telemetry


services = LambdaInit(wire, os.environ)


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    app, telemetry = services()
    try:
        return app(event, context)
    finally:
        telemetry.flush()
