"""Where a run spends its CPU: now and then, by a timer of CPU time, which function is at work."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

EVERY_SECONDS = 0.001
"""Asked for; a kernel that counts in larger steps gives fewer."""

REST = "all else: the loops of sweep and dispatch, and what they keep"


@contextmanager
def sampled(parts: Mapping[tuple[str, str], str]) -> Iterator[Counter[str]]:
    """Count, while the block lasts, in which of ``parts`` the program is found.

    ``parts``: by (file, function). The innermost that is on the stack counts.
    """
    found: Counter[str] = Counter()

    def note(_: int, frame: FrameType | None) -> None:
        while frame is not None:
            code = frame.f_code
            part = parts.get((Path(code.co_filename).name, code.co_name))
            if part is not None:
                found[part] += 1
                return
            frame = frame.f_back
        found[REST] += 1

    before = signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)
    try:
        yield found
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
