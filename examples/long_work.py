"""Long work: report progress, and divide work that exceeds the time limit of one attempt.

In the checkout, the first command in a terminal of its own:

    $ .venv/bin/hourhand dev --handlers examples.long_work
    $ .venv/bin/hourhand jobs submit reindex-pages '{"pages": 250}' --watch
    $ .venv/bin/hourhand jobs list --handler reindex-pages

An attempt may take up to 14 minutes. So each job indexes one slice of the pages, and then submits
the job of the next slice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from hourhand import JobContext, job

PAGES_PER_JOB = 100
"""Choose it so that a slice takes a few minutes: a retry repeats at most one slice."""


@dataclass
class Reindex:
    pages: int
    start: int = 0


@job("reindex-pages", timeout=600)
def reindex_pages(ctx: JobContext, payload: Reindex) -> dict[str, int | str]:
    end = min(payload.start + PAGES_PER_JOB, payload.pages)
    for page in range(payload.start, end):
        if ctx.cancelled:
            raise InterruptedError(f"stopped before page {page}")
        index_page(page)
        # Stored with the next heartbeat, so reporting each page costs no request.
        ctx.progress(page + 1, total=payload.pages, message=f"page {page}")
    if end == payload.pages:
        return {"indexed": end}
    # A repeated attempt submits the same payload under the same key: there is one next job.
    following = reindex_pages.submit(
        Reindex(payload.pages, start=end), idempotency_key=f"{ctx.job_id}-next"
    )
    return {"indexed": end, "next": following.id}


def index_page(page: int) -> None:
    """Stand in for the work. Indexing a page again replaces its entry."""
    time.sleep(0.005)
