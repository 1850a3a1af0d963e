"""Dead letters in groups: of one handler, with one type of error, whose messages differ in values.

The values of a message (numbers, ids, quoted texts, times) are replaced, so that a thousand jobs
that failed for one reason are one group, whatever each names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.history import CUT_MARK, FAILURE_TYPE_BYTES, error_in, shorten
from hourhand.domain.jobs.job import Job, JobStatus

PATTERN_CHARACTERS = 100
"""Of a normalised message. Shorter than what a job keeps of the message, so that one of them that
was cut somewhere else, for the length of its values, has the same pattern."""

GROUP_ID = re.compile(r"[a-z2-7]{12}")

_HEX = "[0-9A-Fa-f]"
_TIME = (
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?"
    r"(?: ?(?:Z|[-+]\d\d:?\d\d))?)?"
)
_VALUES = (
    (re.compile(r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|`[^`\n]*`"), "<value>"),
    (re.compile(_TIME), "<time>"),
    # Before ids: the digits behind the point of a small number may look like one.
    (re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)+(?:[eE][-+]?\d+)?(?!\w)"), "<n>"),
    (re.compile(rf"(?<!\w){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}(?!\w)"), "<id>"),
    (re.compile(rf"(?<!\w)0[xX]{_HEX}+(?!\w)"), "<id>"),
    # Hexadecimal: with a digit and a letter, else it is a number or a word.
    (re.compile(rf"(?<!\w)(?=[A-Fa-f]*\d)(?=\d*[A-Fa-f]){_HEX}{{8,}}(?!\w)"), "<id>"),
    # A long name with a digit, such as a job's id: no word of a sentence is one.
    (re.compile(r"(?<![\w-])(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9][\w-]{11,}"), "<id>"),
    (re.compile(r"(?<!\w)[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?|\d+(?:[.,]\d+)*"), "<n>"),
)
"""What is replaced, in this order, and by what."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetterGroup:
    """Dead jobs that share handler, type of error and pattern of its message.

    ``error_type`` is absent for jobs without an error on record. ``first_at`` and ``last_at``: when
    the first and the last of them ended; ``newest_id`` and ``message`` are those of the last.
    """

    handler: str
    error_type: str | None
    pattern: str
    jobs: int
    first_at: datetime
    last_at: datetime
    newest_id: str
    message: str

    @property
    def id(self) -> str:
        """The name of the group: the same for every page and every time of asking."""
        return _group_id(self.handler, self.error_type, self.pattern)


def normalised(message: str) -> str:
    """Return the beginning of ``message`` with its values replaced: the pattern of its group."""
    if message.endswith(CUT_MARK):
        # The cut may have split the last word or number.
        message = re.sub(r"\S*$", "", message.removesuffix(CUT_MARK)) or message
    for values, mark in _VALUES:
        message = values.sub(mark, message)
    return " ".join(message.split())[:PATTERN_CHARACTERS].rstrip()


def is_of_type(job: Job, error_type: str) -> bool:
    """Whether the last failed attempt of ``job`` had this type of error, and nothing helped."""
    kept_type, _, _ = _failure_of(job)
    return kept_type == shorten(error_type, FAILURE_TYPE_BYTES)


def group_id_of(job: Job) -> str | None:
    """Return the group of ``job``; ``None`` if it is not DEAD."""
    if job.status is not JobStatus.DEAD:
        return None
    error_type, pattern, _ = _failure_of(job)
    return _group_id(job.handler, error_type, pattern)


def grouped(jobs: Iterable[Job]) -> tuple[DeadLetterGroup, ...]:
    """Return dead jobs in groups, the group that ended last first."""
    groups: dict[tuple[str, str | None, str], list[tuple[datetime, str, str]]] = {}
    for job in jobs:
        error_type, pattern, message = _failure_of(job)
        ended_at = job.finished_at or job.created_at
        groups.setdefault((job.handler, error_type, pattern), []).append(
            (ended_at, job.id, message)
        )
    made = [_group(*key, sorted(members)) for key, members in groups.items()]
    return tuple(sorted(made, key=lambda one: (one.last_at, one.id), reverse=True))


def _group(
    handler: str, error_type: str | None, pattern: str, members: list[tuple[datetime, str, str]]
) -> DeadLetterGroup:
    last_at, newest_id, message = members[-1]
    return DeadLetterGroup(
        handler=handler,
        error_type=error_type,
        pattern=pattern,
        jobs=len(members),
        first_at=members[0][0],
        last_at=last_at,
        newest_id=newest_id,
        message=message,
    )


def _failure_of(job: Job) -> tuple[str | None, str, str]:
    """Return the type of a job's error, the pattern of its message, and the message."""
    if job.last_failure is None or job.status is JobStatus.SUCCEEDED:
        return None, "", ""
    error = error_in(job.last_failure)
    return error.type, normalised(error.message), error.message


def _group_id(handler: str, error_type: str | None, pattern: str) -> str:
    has_error = "0" if error_type is None else "1"
    return content_hash("dead letters", handler, has_error, error_type or "", pattern)[:12]
