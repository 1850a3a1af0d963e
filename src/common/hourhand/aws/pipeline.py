"""The calls of a sweep, of several pages at once, over two lean clients.

Each call that is put off waits alone: the others of its page go on, and so do those of further
pages. So does each part of a batch: after its wait it joins the next batch, of whichever page. A
job's message is sent before its mark is made, since only what ended begins the next.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from hourhand.aws.batches import (
    KEYS_PER_BATCH,
    MAX_BATCH_TRIES,
    STATEMENTS_PER_BATCH,
    Answered,
    Statement,
    Verdict,
    answers_of,
    given_up,
    judged,
    wait_seconds,
)
from hourhand.aws.failures import Call, required, settled
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.jobs import hot_key
from hourhand.aws.lean import Failure, Flight, LeanClient
from hourhand.aws.queues import (
    MESSAGES_PER_BATCH,
    Entry,
    SqsQueues,
    batches_of,
    entry_of,
    put_off,
)
from hourhand.aws.transitions import Statements
from hourhand.domain.errors import HourhandError
from hourhand.domain.jobs.job import Job, Priority
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports.queues import Outgoing

Read = Callable[[Sequence[str], Mapping[str, Job] | Exception], None]
Sent = Callable[[Mapping[int, str | None]], None]
Made = Callable[[Sequence[bool] | Exception], None]
Key = Mapping[str, Any]
T = TypeVar("T")

MAX_PART_TRIES = 8
"""Batches that a message or a mark is part of, before it is sent or made alone.

The waits between them are at most four seconds in all.
"""


@dataclass(slots=True)
class _Sending:
    """Messages that were asked for together; the results of several are reported together.

    ``left``: how many have no reported result yet; ``put_off``: how many of them wait.
    """

    ended: Sent
    left: int
    put_off: int = 0
    told: dict[int, str | None] = field(default_factory=dict)


# Not frozen, as there is one for each job: that would cost three times as much to make.
@dataclass(slots=True)
class _Message:
    """A message of a `_Sending`, at its ``place`` there."""

    entry: Entry
    place: int
    sending: _Sending
    tries: int = 1


@dataclass(slots=True)
class _Mark:
    """A move that is to be made with others; ``ended`` receives the result."""

    move: Transition
    statement: Statement
    ended: Made
    tries: int = 1


class LeanPipeline:
    """Implements the port `Pipeline`, for one thread.

    ``dynamodb`` and ``sqs`` are those of ``jobs`` and ``queues``, which do what a batch leaves.
    """

    def __init__(
        self,
        jobs: DynamoJobStore,
        queues: SqsQueues,
        *,
        dynamodb: LeanClient,
        sqs: LeanClient,
    ) -> None:
        """Call nothing yet."""
        self._jobs = jobs
        self._queues = queues
        self._dynamodb = dynamodb
        self._sqs = sqs
        self._flight: Flight | None = None
        self._left = 0
        self._raised: list[Exception] = []
        self._numbers = itertools.count()
        self._messages: dict[Priority, list[_Message]] = defaultdict(list)
        self._sendings: dict[int, _Sending] = {}
        self._marks: dict[str, _Mark] = {}

    # --- what is begun ---

    def read(self, job_ids: Sequence[str], ended: Read) -> None:
        """Read hot items, a hundred to a call; ``ended`` is called once for each of them."""
        ids = list(dict.fromkeys(job_ids))
        self._left += len(ids)
        for at in range(0, len(ids), KEYS_PER_BATCH):
            some = ids[at : at + KEYS_PER_BATCH]
            self._read([hot_key(job_id) for job_id in some], ended, tries=1)

    def send(self, outgoing: Sequence[Outgoing], ended: Sent) -> None:
        """Send messages, ten to a call, also of what is sent by several calls of this."""
        sending = _Sending(ended, len(outgoing))
        self._left += len(outgoing)
        for place, one in enumerate(outgoing):
            entry = entry_of(next(self._numbers), one)
            if isinstance(entry, Entry):
                self._messages[one.queue].append(_Message(entry, place, sending))
            else:
                sending.told[place] = entry
        self._sendings[id(sending)] = sending
        self._tell_if_all(sending)
        self._send_batches(rest=False)

    def mark(self, moves: Sequence[Transition], ended: Made) -> None:
        """Make moves, twenty-five to a call, also of what is marked by several calls of this."""
        made = Statements(self._jobs.table)
        self._left += len(moves)
        for move in moves:
            statement = made.of(move)
            if statement is None:
                self._make_alone(move, ended)
            else:
                self._put_in_batch(_Mark(move, statement, ended))

    def go_on(self, most_left: int) -> None:
        """Go on until nothing but retries is waited for, of at most so many jobs.

        What then fills no batch is sent at once, and its answers are read by the next call.
        """
        while self._left > 0:
            flight = self._under_way()
            if flight.is_quiet:
                has_begun = self._begin_rest()
                if self._left <= most_left:
                    # The answers are read beside those of the next page.
                    flight.send()
                    break
                if not has_begun and flight.is_over:
                    break
            flight.step()
        if self._left == 0 and self._flight is not None:
            self._flight.close()
            self._flight = None
        if self._raised:
            raise self._raised.pop(0)

    def _under_way(self) -> Flight:
        if self._flight is None:
            self._flight = self._dynamodb.flight()
        return self._flight

    def _begin_rest(self) -> bool:
        """Begin what filled no batch, and tell what ended of sendings; whether there was any."""
        sendings = [sending for sending in self._sendings.values() if sending.told]
        if not sendings and not self._marks and not any(self._messages.values()):
            return False
        for sending in sendings:
            self._tell_sent(sending)
        self._send_batches(rest=True)
        if self._marks and not sendings:
            self._make_marks()
        return True

    # --- reads ---

    def _read(self, keys: Sequence[Key], ended: Read, *, tries: int) -> None:
        request = {self._jobs.table: {"Keys": keys, "ConsistentRead": True}}
        self._dynamodb.begin(
            self._under_way(),
            "BatchGetItem",
            {"RequestItems": request},
            partial(self._note_read, keys, ended, tries),
            wait_seconds=wait_seconds(tries - 1) if tries > 1 else 0.0,
        )

    def _note_read(self, keys: Sequence[Key], ended: Read, tries: int, answer: Any) -> None:
        call, table = Call("BatchGetItem", f"table {self._jobs.table}"), self._jobs.table
        ids = [_id_of(key) for key in keys]
        found: Mapping[str, Job] | Exception
        unread: Sequence[Key] = ()
        try:
            read = settled(call, answer)
            unread = read.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            if unread and tries == MAX_BATCH_TRIES:
                raise given_up(call, len(unread))
            found = self._jobs.jobs_in(required(call, read, "Responses").get(table, []))
        except Exception as error:  # noqa: BLE001 - reported to the caller
            found, unread = error, ()
        if unread:
            left = {_id_of(key) for key in unread}
            ids = [job_id for job_id in ids if job_id not in left]
            self._read(unread, ended, tries=tries + 1)
        self._left -= len(ids)
        self._guarded(ended, ids, found)

    # --- sends ---

    def _send_batches(self, *, rest: bool) -> None:
        """Send what fills batches, and the ``rest``."""
        for queue, messages in self._messages.items():
            by_number = {message.entry.index: message for message in messages}
            batches = list(batches_of([message.entry for message in messages]))
            kept: list[_Message] = []
            if batches and not rest and len(batches[-1]) < MESSAGES_PER_BATCH:
                kept = [by_number[entry.index] for entry in batches.pop()]
            messages[:] = kept
            for batch in batches:
                self._send_batch(queue, [by_number[entry.index] for entry in batch])

    def _send_batch(self, queue: Priority, batch: Sequence[_Message]) -> None:
        self._sqs.begin(
            self._under_way(),
            "SendMessageBatch",
            self._queues.batch_arguments(queue, [message.entry for message in batch]),
            partial(self._note_batch, queue, batch),
        )

    def _note_batch(self, queue: Priority, batch: Sequence[_Message], answer: Any) -> None:
        ids = put_off(answer)
        again: list[_Message] = []
        ended: list[_Message] = []
        for message in batch:
            may_help = str(message.entry.index) in ids and message.tries < MAX_PART_TRIES
            (again if may_help else ended).append(message)
        if again:
            for message in again:
                message.sending.put_off += 1
            self._wait(again, partial(self._send_again, queue, again))
        reasons = self._queues.reasons(queue, [message.entry for message in ended], answer)
        for message, reason in zip(ended, reasons, strict=True):
            message.sending.told[message.place] = reason
        for sending in {id(message.sending): message.sending for message in batch}.values():
            self._tell_if_all(sending)

    def _send_again(self, queue: Priority, messages: Sequence[_Message]) -> None:
        """Let messages that were put off join the next batch."""
        for message in messages:
            message.tries += 1
            message.sending.put_off -= 1
        self._messages[queue] += messages
        self._send_batches(rest=False)

    def _wait(self, parts: Sequence[_Message | _Mark], ended: Callable[[], None]) -> None:
        """Wait for parts of one batch, as long as the one that was tried most often needs."""
        tries = max(part.tries for part in parts)
        self._under_way().wait(wait_seconds(tries), ended)

    def _tell_if_all(self, sending: _Sending) -> None:
        """Tell what became of all, but for what was put off."""
        is_all = len(sending.told) == sending.left - sending.put_off
        if is_all and (sending.told or sending.left == 0):
            self._tell_sent(sending)

    def _tell_sent(self, sending: _Sending) -> None:
        """Tell what became of some, so that it is marked while the others wait."""
        ended, sending.told = sending.told, {}
        sending.left -= len(ended)
        self._left -= len(ended)
        if sending.left == 0:
            self._sendings.pop(id(sending), None)
        self._guarded(sending.ended, ended)

    # --- marks ---

    def _put_in_batch(self, mark: _Mark) -> None:
        """Make a mark with the next ones; alone, where one of its job is among these."""
        if mark.move.job_id in self._marks:
            # DynamoDB takes an item once in a batch.
            self._make_alone(mark.move, mark.ended)
            return
        self._marks[mark.move.job_id] = mark
        if len(self._marks) == STATEMENTS_PER_BATCH:
            self._make_marks()

    def _make_alone(self, move: Transition, ended: Made) -> None:
        self._left -= 1
        self._call(ended, partial(self._jobs.settled, [move], [Answered(Verdict.OPEN)]))

    def _make_marks(self) -> None:
        marks, self._marks = list(self._marks.values()), {}
        self._dynamodb.begin(
            self._under_way(),
            "BatchExecuteStatement",
            {"Statements": [mark.statement for mark in marks]},
            partial(self._note_marks, marks),
        )

    def _note_marks(self, marks: Sequence[_Mark], answer: Any | Failure) -> None:
        call = Call("BatchExecuteStatement", f"table {self._jobs.table}")
        try:
            answers = answers_of(call, settled(call, answer), len(marks))
        except Exception as error:  # noqa: BLE001 - reported to the caller
            self._left -= len(marks)
            for ended in {id(mark.ended): mark.ended for mark in marks}.values():
                self._guarded(ended, error)
            return
        again: list[_Mark] = []
        by_asker: dict[int, list[tuple[_Mark, Answered]]] = defaultdict(list)
        for mark, each in zip(marks, answers, strict=True):
            answered = judged(each)
            if answered.verdict.may_help and mark.tries < MAX_PART_TRIES:
                again.append(mark)
            else:
                by_asker[id(mark.ended)].append((mark, answered))
        if again:
            self._wait(again, partial(self._mark_again, again))
        self._left -= len(marks) - len(again)
        for made in by_asker.values():
            moves = [mark.move for mark, _ in made]
            self._call(
                made[0][0].ended,
                partial(self._jobs.settled, moves, [verdict for _, verdict in made]),
            )

    def _mark_again(self, marks: Sequence[_Mark]) -> None:
        """Let marks that were put off join the next batch."""
        for mark in marks:
            mark.tries += 1
            self._put_in_batch(mark)

    # --- callbacks ---

    def _call(self, ended: Made, settle: Callable[[], list[bool]]) -> None:
        try:
            results: list[bool] | Exception = settle()
        except HourhandError as error:
            results = error
        self._guarded(ended, results)

    def _guarded(self, ended: Callable[..., None], *results: Any) -> None:
        """Tell whoever asked; what that raises ends nothing else, and is raised by `go_on`."""
        try:
            ended(*results)
        except Exception as error:  # noqa: BLE001 - it is raised once the others have ended
            self._raised.append(error)


def lean_pipeline(jobs: DynamoJobStore, queues: SqsQueues) -> LeanPipeline | None:
    """Return the pipeline over their lean clients; ``None`` where they have none."""
    dynamodb, sqs = jobs.bulk.client, queues.bulk.client
    if isinstance(dynamodb, LeanClient) and isinstance(sqs, LeanClient):
        return LeanPipeline(jobs, queues, dynamodb=dynamodb, sqs=sqs)
    return None


def _id_of(key: Key) -> str:
    job_id: str = key["p"]["S"]
    return job_id
