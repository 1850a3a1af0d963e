"""Submits any number of jobs: in batches, several at once, with results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field
from typing import Any

from hourhand.client._operations._asking import whole_number
from hourhand.client._operations._batches import (
    BETWEEN,
    ENVELOPE_BYTES,
    MAX_BATCH_BYTES,
    MAX_BATCH_JOBS,
    Sending,
    refuse_too_large,
    send_batch,
)
from hourhand.client._steps import (
    Begun,
    Emit,
    Join,
    Operation,
    Session,
    Start,
    StopPauses,
    Stream,
)
from hourhand.client._values import (
    Invalid,
    NotSent,
    SubmitProgress,
    Submitted,
    invalid,
    submission_of,
)

MAX_PARALLEL = 64

_BEFORE = "hourhand_submitted"

SubmitProgressed = Callable[[SubmitProgress], object]
"""Called with the progress of `submit_many` after each batch."""


@dataclass(slots=True)
class Submissions:
    """Submissions on their way, in order.

    ``pending`` holds all that was read and not emitted, so nothing is lost whenever the work
    is broken off; of it, ``gathered`` is for the next batch. Its size is bounded: after as many
    as a batch holds, a batch is sent or awaited.
    """

    session: Session
    source: Iterator[Any]
    parallel: int
    read: int = 0
    read_since_send: int = 0
    pending: deque[Sending] = field(default_factory=deque)
    gathered: list[Sending] = field(default_factory=list)
    gathered_bytes: int = ENVELOPE_BYTES
    under_way: deque[tuple[list[Sending], Begun]] = field(default_factory=deque)

    def run(self) -> Stream[Submitted]:
        """Submit all that the source gives, and emit what became of each.

        An error of the source is raised after the results of all that was read before it.
        """
        try:
            for given in self.source:
                sending = self._taken(given)
                if not self._fits(sending):
                    yield from self._send()
                self._gather(sending)
                yield from self._emit_settled()
        except Exception:
            yield from self.drain()
            raise
        yield from self._send()
        yield from self._join_until(0)

    def drain(self) -> Stream[Submitted]:
        """Read and send no more; emit what became of all that was read."""
        yield StopPauses()
        while self.under_way:
            yield from self._join_first()
        for sending in self.pending:
            if not sending.is_settled:
                sending.fail(
                    NotSent(
                        "The job was not submitted, because the submission was stopped before it."
                    )
                )
                sending.is_settled = True
        yield from self._emit_settled()

    def _taken(self, given: Any) -> Sending:
        """Return a submission as it is to be sent, or with what is wrong with it."""
        sending = Sending(self.read)
        self.read += 1
        self.pending.append(sending)
        try:
            sending.submission = submission_of(given).named(self.session.new_job_id)
            sending.body = sending.submission.body()
        except Invalid as error:
            sending.fail(error)
        else:
            refuse_too_large(sending)
        sending.is_settled = sending.outcome is not None
        return sending

    def _fits(self, sending: Sending) -> bool:
        # What failed already is not sent, and takes no room but in memory.
        size_bytes = self.gathered_bytes + (0 if sending.is_settled else len(sending.body))
        return self.read_since_send < MAX_BATCH_JOBS and size_bytes <= MAX_BATCH_BYTES

    def _gather(self, sending: Sending) -> None:
        self.read_since_send += 1
        if not sending.is_settled:
            self.gathered.append(sending)
            self.gathered_bytes += len(sending.body) + len(BETWEEN)

    def _send(self) -> Stream[Submitted]:
        """Send what is gathered, once fewer batches are under way than may be."""
        self.read_since_send = 0
        if not self.gathered:
            # All that was read since is wrong; unless some of it is emitted, it piles up.
            yield from self._join_until(len(self.under_way) - 1)
            return
        yield from self._join_until(self.parallel - 1)
        begun: Begun = yield Start(send_batch(self.session, self.gathered))
        self.under_way.append((self.gathered, begun))
        self.gathered, self.gathered_bytes = [], ENVELOPE_BYTES

    def _join_until(self, left: int) -> Stream[Submitted]:
        while len(self.under_way) > max(left, 0):
            yield from self._join_first()
        yield from self._emit_settled()

    def _join_first(self) -> Stream[Submitted]:
        batch, begun = self.under_way[0]
        yield Join(begun)
        for sending in batch:
            sending.is_settled = True
        self.under_way.popleft()
        yield from self._emit_settled()

    def _emit_settled(self) -> Stream[Submitted]:
        while self.pending and self.pending[0].is_settled:
            outcome = self.pending.popleft().outcome
            assert outcome is not None
            yield Emit(outcome)


def submit_each(session: Session, submissions: Iterable[Any], *, parallel: int = 4) -> Submissions:
    """Submit any number of jobs and iterate over what became of each, in the order given.

    ``submissions``: `Submission` objects, or mappings of a job's fields. They are read as they
    are sent, in batches of up to 500 jobs, ``parallel`` of which are under way at once: memory
    does not grow with their number. A job that fails gives a `Submitted` with its error; the
    others continue. An error of the iterable is raised after the results of all that was read
    before it. After Ctrl-C, or to end early, ``stop()`` of the iterator returns the remaining
    results.
    """
    return _line(session, submissions, parallel)


def submit_many(
    session: Session,
    submissions: Iterable[Any],
    *,
    parallel: int = 4,
    on_progress: SubmitProgressed | None = None,
) -> Operation[list[Submitted]]:
    """Submit any number of jobs; return what became of each, in the order given.

    As `submit_each`, but all at the end: memory grows with their number. ``on_progress`` is called
    with the number that are done. Ended early, by Ctrl-C or by what the iterable raises, the
    exception carries what is known by then: see `submitted_before`.
    """
    line = _line(session, submissions, parallel)
    total = len(submissions) if isinstance(submissions, Sized) else None
    tally = _Tally(total, on_progress)
    try:
        yield from tally.collect(line.run())
    except GeneratorExit:
        raise
    except BaseException as error:
        yield from tally.collect(line.drain())
        setattr(error, _BEFORE, tally.results)
        raise
    return tally.results


def submitted_before(error: BaseException) -> list[Submitted]:
    """Return what `submit_many` knew when ``error`` ended it, in the order given.

    What its iterable had not given by then is not in it. Empty for any other error.
    """
    found: list[Submitted] = getattr(error, _BEFORE, [])
    return found


def _line(session: Session, submissions: Iterable[Any], parallel: int) -> Submissions:
    whole_number("parallel", parallel, MAX_PARALLEL)
    if isinstance(submissions, (str, bytes)) or not isinstance(submissions, Iterable):
        kind = type(submissions).__name__
        raise invalid("submissions", f"must be an iterable of submissions, not {kind}")
    return Submissions(session, iter(submissions), parallel)


@dataclass(slots=True)
class _Tally:
    """The results of submissions so far, and the progress callback."""

    total: int | None
    on_progress: SubmitProgressed | None
    results: list[Submitted] = field(default_factory=list)
    failed: int = 0
    reported: int = 0

    def collect(self, stream: Stream[Submitted]) -> Operation[None]:
        """Do the steps of ``stream`` and keep what it emits."""
        outcome: Any = None
        while True:
            try:
                step = stream.send(outcome)
            except StopIteration:
                self._report()
                return
            if isinstance(step, Emit):
                self.results.append(step.item)
                self.failed += step.item.error is not None
                outcome = None
            else:
                self._report()
                outcome = yield step

    def _report(self) -> None:
        if self.on_progress is not None and len(self.results) > self.reported:
            self.reported = len(self.results)
            self.on_progress(
                SubmitProgress(done=self.reported, failed=self.failed, total=self.total)
            )
