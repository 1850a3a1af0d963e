"""The API: an event of API Gateway (HTTP API, payload format 2.0) in, its answer out.

Nothing that a caller sends raises an error here; see `hourhand.http_api`.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Mapping
from typing import Any

from hourhand.bootstrap import ApiServices, wire_api
from hourhand.http_api import App, create_app
from hourhand.settings import API_NEEDS, read_settings

# The local server calls the handler from several threads; the first of them wires for all.
_wiring = threading.Lock()


@functools.cache
def services() -> ApiServices:
    # Wired by the first invocation: importing this file reads and connects nothing.
    return wire_api(read_settings(os.environ, API_NEEDS))


@functools.cache
def app() -> App:
    return create_app(services())


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    with _wiring:
        answer = app()
        telemetry = services().telemetry
    try:
        return answer(event, context)
    finally:
        telemetry.flush()
