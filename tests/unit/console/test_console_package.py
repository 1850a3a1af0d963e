"""What `hourhand.console` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hourhand.console
from hourhand.console import proxy


def test_serving_for_a_deployed_api_is_offered() -> None:
    assert hourhand.console.serve_console is proxy.serve_console
    assert hourhand.console.RunningConsole is proxy.RunningConsole


def test_nothing_else_is_made_up() -> None:
    with pytest.raises(AttributeError, match="no attribute 'serve_it_all'"):
        _ = hourhand.console.serve_it_all


def test_the_local_server_needs_no_http_client() -> None:
    look = "import sys, hourhand.local.http_server; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0
