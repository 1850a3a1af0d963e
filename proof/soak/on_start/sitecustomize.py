"""Python imports this by itself as it starts, wherever this folder is on ``PYTHONPATH``.

So the probe runs within the very processes that we ship, and nothing in them knows of it.
"""

from __future__ import annotations

import os

FOLDER = "HOURHAND_SOAK_FOLDER"

if os.environ.get(FOLDER):
    from proof.soak.probe import start

    start(os.environ[FOLDER])
