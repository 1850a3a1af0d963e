"""Python imports this as it starts, in each process that has this folder on its ``PYTHONPATH``.

It calls the function that `proof.rig.HOOK` names. So a part of the proof reaches into the processes
that are shipped, and they contain nothing of it.
"""

from __future__ import annotations

import os
import traceback
from importlib import import_module

from proof.rig import HOOK

if os.environ.get(HOOK):
    module, _, function = os.environ[HOOK].partition(":")
    try:
        getattr(import_module(module), function)()
    except BaseException:  # noqa: BLE001 - Python would print one line and go on without the hook
        traceback.print_exc()
        os._exit(1)
