"""What a rehearsal and its handlers, in processes of their own, both know."""

from __future__ import annotations

FOLDER = "HOURHAND_REHEARSAL_FOLDER"
"""The variable that names the folder of signs: files by which a rehearsal breaks a handler."""

DOWN, BUG, POISON = "down", "bug", "poison"
DRIFT = "drift"
"""By how many seconds the scheduler's clock gains in each, while it is there."""

HANDLERS = "tests.proof.rehearsals.handlers"
"""Not to be imported beside other handlers: names are unique in a process."""
