"""Large results in the payloads of a graph: a worker reads them before it calls a handler."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hourhand.domain.durable.calls import RunEnds
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, Job
from hourhand.domain.jobs.parents import STORED, ParentLink, child_id
from hourhand.services.durable.children import Children


@dataclass(frozen=True, slots=True)
class StoredResults:
    """Replaces what stands for results of other children of the same run."""

    children: Children

    def resolve(self, job: Job, payload_text: str) -> str:
        """Return the payload of a child with the results in it.

        Raises `RunEnds` if a result is gone, or the payload is too large with them; `Unavailable`.
        """
        assert job.parent is not None, "only a child reads results"
        text = canonical_json(self._resolved(job.parent, json.loads(payload_text)))
        size = len(text.encode())
        if size > MAX_CONTENT_BYTES:
            raise RunEnds(
                "PayloadTooLarge",
                f"The payload is {size:,} bytes of JSON with the results that it names; at most "
                f"{MAX_CONTENT_BYTES:,} are allowed.",
            )
        return text

    def _resolved(self, link: ParentLink, value: Any) -> Any:
        if isinstance(value, dict):
            if value.keys() == {STORED}:
                return self._read(link, value[STORED])
            return {name: self._resolved(link, each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._resolved(link, each) for each in value]
        return value

    def _read(self, link: ParentLink, stored: dict[str, Any]) -> Any:
        ids = [
            child_id(link.run_id, link.segment, stored["key"], index)
            for index in range(stored["total"])
        ]
        found = self.children.read(ids)
        values = [json.loads(self.children.result_or_null(found.get(job_id))) for job_id in ids]
        return values if stored["is_list"] else values[0]
