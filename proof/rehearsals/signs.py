"""What a rehearsal and its handlers, in processes of their own, both know."""

from __future__ import annotations

FOLDER = "HOURHAND_REHEARSAL_FOLDER"
"""The variable that names the folder of signs: files by which a rehearsal breaks a handler."""

DOWN, BUG, POISON, HANG = "down", "bug", "poison", "hang"
OVERLAP = "overlap"
"""The file in which a handler notes that it began while another handler of its job still ran."""

DRIFT = "drift"
"""By how many seconds the scheduler's clock gains in each, while it is there."""

HANDLERS = "proof.rehearsals.handlers"
"""Not to be imported beside other handlers: names are unique in a process."""
