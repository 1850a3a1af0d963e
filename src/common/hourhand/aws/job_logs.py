"""The logs of jobs in CloudWatch Logs: the worker's log group, searched by the id of the job.

FilterLogEvents searches from the oldest event on, in time that grows with all that every job
logged in the span. (Newer versions of botocore can ask for the newest first; a function may find
an older one.) So a span is read whole or not at all, with few calls, and whoever asks takes a
shorter one where that was not enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from hourhand.aws.failures import Call, Expected, ask_expecting, required
from hourhand.domain.jobs.log import LogLine, Span, read_log_line
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.job_logs import ReadLines

MAX_CALLS_A_READ = 3
"""CloudWatch allows an account few of these calls a second."""

_NO_GROUP = "ResourceNotFoundException"


class LogsClient(Protocol):
    """What is called of CloudWatch Logs."""

    def filter_log_events(self, **arguments: Any) -> Any:
        """Return a page of events."""


@dataclass(frozen=True, slots=True)
class CloudWatchJobLogs:
    """Implements the port `JobLogs`."""

    client: LogsClient
    log_group: str

    def read(self, job_id: str, span: Span) -> ReadLines:
        """Return the lines of a job in ``span``, with at most `MAX_CALLS_A_READ` calls."""
        # Ids of jobs hold no character that has a meaning in a pattern.
        asked: dict[str, Any] = {
            "logGroupName": self.log_group,
            "filterPattern": f'{{ $.job_id = "{job_id}" }}',
            "startTime": to_ms(span.start),
            # The end counts, too.
            "endTime": to_ms(span.end) - 1,
        }
        lines: list[LogLine] = []
        for _ in range(MAX_CALLS_A_READ):
            answer = self._page(asked)
            if isinstance(answer, Expected):
                # No worker has run yet.
                return ReadLines((), True)
            found = (_line(event, job_id) for event in required(self._call, answer, "events"))
            lines += [line for line in found if line is not None]
            token = answer.get("nextToken")
            if token is None:
                return ReadLines(tuple(lines), True)
            asked["nextToken"] = token
        return ReadLines(tuple(lines), False)

    def _page(self, asked: Mapping[str, Any]) -> Any | Expected:
        return ask_expecting({_NO_GROUP}, self._call, self.client.filter_log_events, **asked)

    @property
    def _call(self) -> Call:
        return Call("FilterLogEvents", f"log group {self.log_group}")


def _line(event: Mapping[str, Any], job_id: str) -> LogLine | None:
    """Return an event as a line, if it is one of this job: emulators find more than was asked."""
    at = from_ms(int(event.get("timestamp", 0)))
    found = read_log_line(str(event.get("message", "")), place=str(event.get("eventId", "")), at=at)
    return found[1] if found is not None and found[0] == job_id else None
