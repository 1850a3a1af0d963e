"""Addresses of the trap in jobs that really run: sent without a delay, and waited for."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from hourhand.domain.jobs.job import JobStatus
from proof.api.hostile_texts import FIELDS, WORDS, Field, send_text
from proof.api.wire import Reply, Target

TRAPS = frozenset(name for name, text in WORDS.items() if "{trap}" in text)
"""The words that name an address which nobody may call."""

HANDLERS = ("echo", "report", "complain", "give-up")
"""What repeats a payload: in a result, as progress, in an error, in a dead letter."""

DRAIN_SECONDS = 180.0
SECONDS_BETWEEN_LOOKS = 0.2


def texts_that_run(
    target: Target, words: frozenset[str], trap: str, handlers: Sequence[str] = HANDLERS
) -> Iterator[tuple[str, Reply | None, list[str]]]:
    """Send the texts of these names in every field of jobs that are due at once."""
    fields = [
        *(field for field in FIELDS if field.name.startswith("a job's ")),
        *(_payload_for(handler) for handler in handlers),
    ]
    for word in sorted(words):
        text = WORDS[word].replace("{trap}", trap)
        for field in fields:
            yield send_text(target, field, word, text, is_due=True)


def unfinished(target: Target, job_ids: Iterable[str]) -> list[str]:
    """Wait until jobs have run to their end; return those that did not in `DRAIN_SECONDS`."""
    left = sorted(job_ids)
    until = time.monotonic() + DRAIN_SECONDS
    while left and time.monotonic() < until:
        time.sleep(SECONDS_BETWEEN_LOOKS)
        left = [job_id for job_id in left if not _is_final(target, job_id)]
    return left


def _is_final(target: Target, job_id: str) -> bool:
    reply = target.request("GET", f"/v1/jobs/{job_id}")
    return reply.status == 200 and JobStatus(reply.json["status"]).is_final


def _payload_for(handler: str) -> Field:
    return Field(
        f"the payload of {handler}",
        lambda text: ("POST", "/v1/jobs", {"handler": handler, "payload": text}),
        lambda job: job["payload"],
    )
