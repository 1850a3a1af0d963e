"""The rehearsal of a table that refuses calls."""

from __future__ import annotations

from proof.rehearsals.stage import Stage, asks_again
from proof.rehearsals.throttling import OF

REFUSES = 6
JOBS = 12
MOST_TRIES = 12


def throttled_table(stage: Stage) -> None:
    """DynamoDB refuses most calls: jobs are slow, callers may get 503, each job exists once."""
    backend = stage.backend
    assert backend is not None
    stage.submit(10, "work", 0.05)
    stage.wait_for_the_end()
    backend.refuses = REFUSES
    stage.tell("breaks", f"DynamoDB refuses {REFUSES} of {OF} calls (ThrottledRequests)")
    tries = [_submit(stage, number) for number in range(JOBS)]
    stage.tell(
        "seen",
        f"{JOBS} jobs took {sum(tries)} requests: {sum(tries) - JOBS} were answered "
        "with 503 and asked again under the same idempotency key",
    )
    stage.check("calls were refused", backend.refused > 30, backend.refused)
    stage.check("each job exists once", len(set(stage.jobs)) == len(stage.jobs), len(stage.jobs))
    stage.repair("the table accepts all calls again", lambda: setattr(backend, "refuses", 0))
    stage.wait_for_the_end()
    stage.check("no more jobs than were submitted", len(stage.list_jobs()) == len(stage.jobs))
    again = max(job["attempt"] for job in stage.list_jobs())
    stage.tell("seen", f"the most attempts that one job took: {again}")


def _submit(stage: Stage, number: int) -> int:
    body = {"handler": "work", "payload": 0.05, "idempotency_key": f"order-{number}"}
    answer, tries = asks_again(stage, "/v1/jobs", body, MOST_TRIES)
    stage.jobs.append(answer.body["id"])
    return tries
