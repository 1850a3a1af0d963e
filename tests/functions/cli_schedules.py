"""What tests of ``hourhand schedules`` have in common."""

from __future__ import annotations

import json
from typing import Any

from tests.functions.cli_rig import Shell

HOURLY = ("-x", "0 * * * *", "--handler", "greet")
PAST = ("--from", "2026-01-05T00:00Z", "--to", "2026-01-05T05:00Z")


def put(shell: Shell, schedule_id: str = "nightly", *flags: str) -> Any:
    """Put a schedule, an hourly one unless told otherwise, and return it."""
    ran = shell.type("schedules", "put", schedule_id, *(flags or HOURLY), "--json")
    assert ran.code == 0, ran.err
    return ran.objects[0]


def asked(shell: Shell) -> Any:
    """Return the body of the last request."""
    return json.loads(shell.requests[-1].content)
