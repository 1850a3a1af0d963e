"""The jobs table in DynamoDB: plain conditional writes, each judged on the base item.

A refused write may be one's own whose answer was lost: with ``ALL_OLD`` DynamoDB returns the item
that stood in the way, and `Move.made_by_me` tells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hourhand.aws.batches import (
    Answered,
    Bulk,
    Verdict,
    insert_of,
    read_in_batches,
    write_in_batches,
)
from hourhand.aws.failures import ConditionRefused, required
from hourhand.aws.job_indexes import JobIndexes
from hourhand.aws.layout import side_items
from hourhand.aws.layout.jobs import HOT_ITEM, hot_key, job_from_item, job_id_of, job_to_item
from hourhand.aws.layout.values import Item, Value, expiry_seconds, number, read_text, text
from hourhand.aws.layout.versions import (
    NOT_NEWER,
    WRITTEN,
    Kind,
    found_in,
    in_its_version,
    known_value,
    other_known_version,
)
from hourhand.aws.records import Position, Records
from hourhand.aws.transitions import Statements, update_arguments
from hourhand.domain.errors import HourhandError, PutOff, WrittenByNewer, or_error
from hourhand.domain.jobs.job import Attempt, Job
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports import Found
from hourhand.ports.job_store import (
    Applied,
    JobDetails,
    Refused,
    WriteResult,
)
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import log_newer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_ENDS_SOONER = "(attribute_not_exists(x) OR x < :until)"

MAX_DETAIL_PAGES = 32
"""Megabytes read of what is kept beside one job; older failures beyond them are left out."""


class DynamoJobStore(JobIndexes):
    """Implements the port `JobStore` on one table.

    ``batch_marks``: make many moves, and many puts, by PartiQL batches. It needs a store that
    judges each statement's condition, as DynamoDB does; some emulators answer "done" and do
    nothing.
    ``bulk``: how batches, and pages of the ``run_at`` index, are asked for. ``telemetry`` receives
    what is left to a newer version.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        table_name: str,
        *,
        batch_marks: bool = False,
        bulk: Bulk[DynamoDBClient] | None = None,
        telemetry: Telemetry | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Call nothing yet. ``sleep`` waits between the tries of a batch, in seconds."""
        super().__init__(bulk or Bulk(client), table_name)
        self._records = Records(client, table_name)
        self._batch_marks = batch_marks
        self._telemetry = telemetry
        self._sleep = sleep

    # --- the base items ---

    def put(self, job: Job) -> WriteResult:
        """Write a new job, if no item of that id exists."""
        answer = self._records.write(
            "PutItem",
            Item=job_to_item(job),
            ConditionExpression="attribute_not_exists(p)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        if isinstance(answer, ConditionRefused):
            return Refused(self._current(job.id, answer.item))
        return Applied(job)

    def put_many(self, jobs: Sequence[Job]) -> list[WriteResult | HourhandError]:
        """Write new jobs as `put` does, each judged alone; results in the order of ``jobs``."""
        if not self._batch_marks:
            return [or_error(partial(self.put, job)) for job in jobs]
        puts = [(job.id, insert_of(job_to_item(job), self.table)) for job in jobs]
        answers = write_in_batches(self.bulk, self.table, puts, attempts=1)
        results = [
            or_error(partial(self._as_put, job, answer))
            for job, answer in zip(jobs, answers, strict=True)
        ]
        returns_at = time.monotonic()
        return [
            Applied(job, returns_at - answer.answered_at)
            if isinstance(answer, Answered) and answer.verdict is Verdict.APPLIED
            else result
            for job, answer, result in zip(jobs, answers, results, strict=True)
        ]

    def _as_put(self, job: Job, answer: Answered | HourhandError) -> WriteResult:
        """Return what `put` would; put the job now, if a batch left that open.

        What stands under its id is read one by one: few of a batch are repeated.
        """
        if isinstance(answer, PutOff):
            raise PutOff(answer.detail, stored=answer.stored, job_id=job.id)
        if isinstance(answer, HourhandError):
            raise answer
        if answer.verdict.may_help:
            stored = False if answer.verdict is Verdict.PUT_OFF else None
            call = self._records.call("BatchExecuteStatement")
            detail = f"{call} is throttled; try again in a moment."
            raise PutOff(detail, stored=stored, job_id=job.id)
        if answer.verdict is Verdict.APPLIED:
            return Applied(job)
        return self.put(job) if answer.verdict is Verdict.OPEN else Refused(self.get(job.id))

    def transition(self, move: Transition) -> WriteResult:
        """Make one conditional write; `Applied` too where it was ours already.

        One more for a job that is kept in another version than the one that is written now.
        """
        answer = in_its_version(Kind.JOB, lambda version: self._update(move, version))
        if isinstance(answer, ConditionRefused):
            return self._refused(move, self._current(move.job_id, answer.item))
        return Applied(
            job_from_item(required(self._records.call("UpdateItem"), answer, "Attributes"))
        )

    def _update(self, move: Transition, version: int) -> Any | ConditionRefused:
        return self._records.write(
            "UpdateItem",
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **update_arguments(move, version),
        )

    def transition_many(self, moves: Sequence[Transition]) -> list[bool]:
        """Make many, each under its own condition; whether it was, in the order of ``moves``."""
        if not self._batch_marks:
            return self._made(partial(self._is_made, move) for move in moves)
        made = Statements(self.table)
        answers: list[Answered] = []
        for answer in write_in_batches(
            self.bulk, self.table, [(move.job_id, made.of(move)) for move in moves]
        ):
            if isinstance(answer, HourhandError):
                raise answer
            answers.append(answer)
        return self.settled(moves, answers)

    def settled(self, moves: Sequence[Transition], answers: Sequence[Answered]) -> list[bool]:
        """Return as `transition_many` what became of moves that batches answered so."""
        untold = [
            move.job_id
            for move, answer in zip(moves, answers, strict=True)
            if answer.verdict is Verdict.REFUSED and answer.item is None
        ]
        found = {job_id_of(item): item for item in self._read_many(untold)}
        told = [
            replace(answer, item=answer.item or found.get(move.job_id))
            for move, answer in zip(moves, answers, strict=True)
        ]
        return self._made(
            partial(self._is_settled, move, answer)
            for move, answer in zip(moves, told, strict=True)
        )

    def _made(self, writes: Iterable[Callable[[], bool]]) -> list[bool]:
        """Make each of ``writes``; whether it was made. What is left to a newer version was not."""
        made: list[bool] = []
        left: list[WrittenByNewer] = []
        for write in writes:
            try:
                made.append(write())
            except WrittenByNewer as newer:
                made.append(False)
                left.append(newer)
        if left and self._telemetry is not None:
            ids = frozenset[str]().union(*(newer.ids for newer in left))
            log_newer(self._telemetry, WrittenByNewer(left[0].detail, ids=ids))
        return made

    def get(self, job_id: str) -> Job | None:
        """Read one job's hot item, strongly consistent."""
        item = self._records.read(hot_key(job_id))
        return job_from_item(item) if item else None

    def get_many(self, job_ids: Sequence[str]) -> Found[str, Job]:
        """Read many hot items, strongly consistent; ids without a job are left out."""
        return self.jobs_in(self._read_many(job_ids))

    def jobs_in(self, items: Sequence[Item]) -> Found[str, Job]:
        """Return the jobs of hot items that were read."""
        return found_in(Kind.JOB, items, job_id_of, job_from_item, self._telemetry)

    def _read_many(self, job_ids: Sequence[str]) -> list[Item]:
        keys = [hot_key(job_id) for job_id in dict.fromkeys(job_ids)]
        return read_in_batches(self.bulk, self.table, keys, self._sleep)

    def _is_made(self, move: Transition) -> bool:
        return isinstance(self.transition(move), Applied)

    def _is_settled(self, move: Transition, answer: Answered) -> bool:
        """Whether a move is made that a batch answered; make it now, if that is still open."""
        if answer.verdict is Verdict.APPLIED:
            return True
        if answer.verdict is not Verdict.REFUSED or _is_of_other_version(answer):
            return self._is_made(move)
        current = job_from_item(answer.item) if answer.item else None
        return current is not None and move.made_by_me(current)

    def _refused(self, move: Transition, current: Job | None) -> WriteResult:
        is_mine = current is not None and move.made_by_me(current)
        return Applied(current) if is_mine and current is not None else Refused(current)

    def _current(self, job_id: str, item: Item | None) -> Job | None:
        """Return the job that refused a write; read it where the store did not say."""
        return job_from_item(item) if item else self.get(job_id)

    # --- beside them ---

    def get_details(self, job_id: str, *, with_texts: bool = True) -> JobDetails | None:
        """Read a job and everything that is kept beside it, newest failures first.

        ``with_texts``: payload and result, too, which may be most of what is read.
        """
        job: Job | None = None
        texts: dict[str, str] = {}
        failures: dict[int, Attempt] = {}
        for item in self._query_partition(job_id, with_texts=with_texts):
            name, token = side_items.text_name(item), side_items.failure_token(item)
            if name is not None:
                texts[name] = side_items.read_kept_text(item)
            elif token is not None:
                failures[token] = side_items.read_failure(token, item)
            elif read_text(item["s"]) == HOT_ITEM:
                job = job_from_item(item)
        return JobDetails(job=job, texts=texts, failures=failures) if job is not None else None

    def put_text(self, job_id: str, item: str, text: str, keep_until: datetime) -> None:
        """Keep a payload or result beside its job, under ``item``; never shorter than it is kept.

        Its name is a hash of the text, so that what is there already is the same text.
        """
        self._put_beside(
            Kind.TEXT,
            side_items.text_item(job_id, item, text, keep_until),
            f"{NOT_NEWER} AND {_ENDS_SOONER}",
            {":until": number(expiry_seconds(keep_until))},
        )

    def get_text(self, job_id: str, item: str) -> str | None:
        """Read a text kept beside a job, or ``None`` where it is gone."""
        kept = self._records.read(side_items.text_key(job_id, item))
        return side_items.read_kept_text(kept) if kept else None

    def extend_text(self, job_id: str, item: str, keep_until: datetime) -> None:
        """Keep it longer. Does nothing where it is gone, or kept so long already."""
        self._records.write(
            "UpdateItem",
            Key=side_items.text_key(job_id, item),
            UpdateExpression="SET x = :until",
            ConditionExpression=f"attribute_exists(p) AND x < :until AND {NOT_NEWER}",
            ExpressionAttributeValues={
                ":until": number(expiry_seconds(keep_until)),
                ":known": known_value(Kind.TEXT),
            },
        )

    def put_failure(self, job_id: str, attempt: Attempt, keep_until: datetime) -> None:
        """Keep a failed attempt with its error beside its job, under its fencing token.

        It replaces what a deleted job of the same id left there.
        """
        self._put_beside(Kind.FAILURE, side_items.failure_item(job_id, attempt, keep_until))

    def _put_beside(
        self,
        kind: Kind,
        item: Item,
        condition: str = NOT_NEWER,
        values: Mapping[str, Value] = MappingProxyType({}),
    ) -> None:
        """Keep it where the condition holds: at least, that no newer version keeps it already."""
        self._records.write(
            "PutItem",
            Item=item,
            ConditionExpression=condition,
            ExpressionAttributeValues={":known": known_value(kind), **values},
        )

    def _query_partition(self, job_id: str, *, with_texts: bool) -> Iterator[Item]:
        """Yield the hot item of a job, then its failures, newest first, then its texts.

        The journal and the signals of a durable run sort behind the hot item. They may be
        megabytes.
        """
        of_job = "p = :job AND s BETWEEN :first AND :last"
        first = side_items.TEXT_PREFIX if with_texts else side_items.FAILURE_PREFIX
        values = {":job": text(job_id), ":first": text(first), ":last": text(HOT_ITEM)}
        position: Position | None = None
        for _ in range(MAX_DETAIL_PAGES):
            page = self._records.query(
                position,
                KeyConditionExpression=of_job,
                ExpressionAttributeValues=values,
                ScanIndexForward=False,
                ConsistentRead=True,
            )
            yield from page.items
            position = page.position
            if position is None:
                return


def _is_of_other_version(answer: Answered) -> bool:
    """Whether a move was refused since its job is kept in another version that is known."""
    if answer.verdict is not Verdict.REFUSED or answer.item is None:
        return False
    return other_known_version(Kind.JOB, answer.item, WRITTEN[Kind.JOB]) is not None
