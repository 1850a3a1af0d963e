"""Python imports this by itself as it starts, wherever this folder is on ``PYTHONPATH``.

It lets the clock of a scheduler's process run too quickly, from outside and while it runs.
"""

from __future__ import annotations

import os
import sys

CLOCK_FILE = "HOURHAND_REHEARSAL_CLOCK"

if os.environ.get(CLOCK_FILE) and "hourhand.local.scheduler_process" in sys.orig_argv:
    from proof.rehearsals.clocks import let_it_drift

    let_it_drift(os.environ[CLOCK_FILE])
