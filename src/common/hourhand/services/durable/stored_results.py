"""Large results in the payloads of a graph: a worker reads them before it calls a handler."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hourhand.domain.durable.calls import RunEnds
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, Job
from hourhand.domain.jobs.parents import ParentLink, child_id, with_results
from hourhand.services.durable.children import READ_TOGETHER, Children


@dataclass(frozen=True, slots=True)
class StoredResults:
    """Replaces what stands for results of other children of the same run."""

    children: Children

    def resolve(self, job: Job, payload_text: str) -> str:
        """Return the payload of a child with the results in it.

        Raises `RunEnds` if a result is gone, or the payload is too large with them; `Unavailable`.
        """
        assert job.parent is not None, "only a child reads results"
        reading = _Reading(self.children, job.parent)
        text = canonical_json(with_results(json.loads(payload_text), reading.result))
        _require_size(len(text.encode()))
        return text


@dataclass(slots=True)
class _Reading:
    """Reads results, until they are more than a payload may have."""

    children: Children
    link: ParentLink
    size: int = 0

    def result(self, stored: Mapping[str, Any]) -> Any:
        """Return a result of children, or the list of their results."""
        ids = [
            child_id(self.link.run_id, self.link.segment, stored["key"], index)
            for index in range(stored["total"])
        ]
        values = []
        for start in range(0, len(ids), READ_TOGETHER):
            some = ids[start : start + READ_TOGETHER]
            found = self.children.read(some)
            values += [self._value(found.get(job_id)) for job_id in some]
        return values if stored["is_list"] else values[0]

    def _value(self, job: Job | None) -> Any:
        text = self.children.result_or_null(job)
        self.size += len(text.encode())
        _require_size(self.size)
        return json.loads(text)


def _require_size(size: int) -> None:
    if size > MAX_CONTENT_BYTES:
        raise RunEnds(
            "PayloadTooLarge",
            f"The payload has {size:,} bytes of JSON or more with the results that it names; at "
            f"most {MAX_CONTENT_BYTES:,} are allowed.",
        )
