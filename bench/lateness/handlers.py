"""The handler of the load on the local cloud: it does nothing."""

from __future__ import annotations

from hourhand import JobContext, job


@job("nothing", timeout=30)
def nothing(_: JobContext, __: None) -> None:
    """Return at once."""
