"""Children and join records, as large as they become: of them, bytes are counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bench.small_jobs import FAR, small_job
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.parents import (
    CHUNK,
    ParentLink,
    child_id,
    join_key,
    midnight_after,
)
from hourhand.domain.limits.job_limits import MAX_STORED_KEYS_BYTES
from hourhand.domain.runs.joins import ChildrenCall, join_of
from hourhand.domain.runs.writes import (
    Scope,
    put_join,
    report_failure,
    report_success,
    require_rounds,
)
from hourhand.domain.side_items import SideItem
from hourhand.domain.times import to_ms
from hourhand.memory import START

RUN_ID = "r" * 34
"""As long as the id of a child: the run may be a child itself."""

CHILD = ParentLink(
    run_id=RUN_ID,
    segment=0,
    join_key=join_key("jobs", 0, to_ms(START)),
    index=9_999,
    kept_until=midnight_after(START + timedelta(days=30)),
)
"""The link of the last of ten thousand children."""


def child_job() -> Job:
    """Return the largest child of a map that still counts as small. It has the trace of its run."""
    job = small_job(with_key=False)
    return replace(job, id=child_id(RUN_ID, 0, CHILD.join_key, CHILD.index), parent=CHILD)


def join_records() -> dict[str, SideItem]:
    """Return the join record of a hundred children at its put, full, and after a redrive."""
    scope = Scope(
        run_id=RUN_ID,
        created_ms=to_ms(START),
        segment=0,
        round=1,
        token=3,
        keep_until=CHILD.kept_until,
    )
    call = ChildrenCall(total=10_000, handler="send-welcome-email", is_map=True, tolerate=0)
    key, now_ms = CHILD.join_key, to_ms(START)
    put = put_join(scope, "jobs", key, CHILD.record_number, call, order=9, now_ms=now_ms)
    empty = full = again = put.apply(None)
    assert empty is not None
    for position in range(CHUNK):
        link = replace(CHILD, index=CHILD.record_number * CHUNK + position)
        full = report_success(link, None).apply(full)
        again = report_failure(link, 1).apply(again)
    assert full is not None
    assert again is not None
    rounds = dict.fromkeys(range(CHUNK), 2)
    required = require_rounds(replace(scope, round=2), join_of(again), rounds).apply(again)
    assert required is not None
    return {"at its put": empty, "full": full, "after a redrive of all children": required}


def children() -> dict[str, Job]:
    """Return the kinds of children by the columns of the table."""
    child = child_job()
    return {
        "a child": child,
        "a child with three limits": replace(child, limit_keys=b"k" * MAX_STORED_KEYS_BYTES),
        "a child that is a run": replace(child, run_deadline=START + 2 * FAR),
    }
