"""The end of a child whose parent is gone, although a handler holds the interpreter's lock in it.

A child reads its standard input and ends when that does, but only between two bytecodes of a
handler. On Linux the kernel kills it with its parent. Elsewhere the parent kills its children when
it ends in good order; if it is killed itself, a worker that holds the lock ends with the lease of
its job (`hourhand.worker`).
"""

from __future__ import annotations

import ctypes
import signal
import sys

PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal that a process gets when the thread that started it ends."""


def end_with_parent() -> None:
    """Let the kernel kill this process when its parent ends, however that comes about.

    More exactly: when the thread ends that started it, which `ChildProcess` keeps for as long.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
