"""``hourhand jobs submit --file``: any number of jobs, with progress, and each one's fate told."""

from __future__ import annotations

import itertools
import os
import secrets
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer
from rich.text import Text

from hourhand.cli.connection import DEFAULT_SECONDS
from hourhand.cli.exits import DONE, FAILED, INTERRUPTED, exit_code_of, told_in_a_line
from hourhand.cli.jobs.failures_file import FailuresFile
from hourhand.cli.jobs.lines import Line, LineProblem, job_of, read_lines, text_of
from hourhand.cli.jobs.runs import How, Run, RunRecord
from hourhand.cli.output.progress import Meter
from hourhand.cli.output.times import duration
from hourhand.cli.session import Session

if TYPE_CHECKING:
    from hourhand.client import ClientError, Submitted

STDIN = "-"
BATCH_SECONDS = 300.0
"""How long a batch of 500 may take: the local cloud simulates AWS, on a busy machine slowly. API
Gateway answers within 30 s whatever is waited for."""

RUN_BYTES = 5
"""Together with a line's number and text it is in a job's id, which is short where it can be."""

SHOWN_FAILURES = 10
"""So many are told in the terminal, too; the file has all of them."""

RECORD_SECONDS = 1.0
"""How often it is noted how far the run is. Lines sent again are the same jobs, at some cost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileOptions:
    """What to submit: ``file`` (``-``: stdin), with ``defaults`` for what its lines lack."""

    file: str
    failed: Path | None
    parallel: int
    how: How | None
    defaults: Mapping[str, Any]


def submit_file(session: Session, options: FileOptions) -> int:
    """Submit every line of a file; return 0 only if every one was accepted.

    Raises `CommandError` and `typer.BadParameter` for what cannot be begun.
    """
    if session.connection.request_timeout == DEFAULT_SECONDS:
        session.connection = replace(session.connection, request_timeout=BATCH_SECONDS)
    failures_path = _failures_path(options)
    with _opened(options.file) as (source, total):
        run, record, goes_on = _begun(session, options)
        failures = FailuresFile(failures_path, after=run.lines if goes_on else None)
        with closing(failures), session.meter("jobs", total) as meter:
            sending = _Sending(session, options, run, record, failures, meter)
            code = sending.send(source)
        return sending.tell_end(code)


def _begun(session: Session, options: FileOptions) -> tuple[Run, RunRecord | None, bool]:
    """Return the run, its record, and whether it goes on with one that broke off."""
    name = secrets.token_hex(RUN_BYTES)
    endpoint = session.client.endpoint
    if not Path(options.file).is_file():
        # Stdin, or a pipe: it cannot be read a second time.
        return Run(name=name, at="", endpoint=endpoint, size=0, modified_ns=0), None, False
    record = RunRecord(Path(options.file))
    run = record.begin(name, endpoint, session.clock.now(), options.how)
    if run.name != name:
        far = f"{run.lines:,} lines are done" if run.lines else "every line is sent again"
        session.remark(f"Going on with the submission that broke off: {far}.", "")
    return run, record, run.name != name


@dataclass
class _Sent:
    """A line whose job is under way; ``refused`` lines follow it, up to the line ``last``."""

    line: Line
    last: int
    refused: int = 0


@dataclass
class _Sending:
    """One run, as far as it is.

    ``run`` counts what is settled, and nothing beyond the first line that is not: the command that
    goes on counts that again. ``accepted`` and ``refused`` count what this command was told.
    ``unsettled``: not every line is dealt with, so the run must be resumed. ``may_have_happened``:
    some line may have been submitted though no answer said so.
    """

    session: Session
    options: FileOptions
    run: Run
    record: RunRecord | None
    failures: FailuresFile
    meter: Meter
    accepted: int = 0
    refused: int = 0
    unsettled: bool = False
    may_have_happened: bool = False
    open_lines: int = 0
    last_read: int = 0
    _under_way: deque[_Sent] = field(default_factory=deque)
    _recorded_at: float = 0.0

    def __post_init__(self) -> None:
        """Remember what the commands before this one settled."""
        self._before = self.run

    @property
    def done(self) -> int:
        """How many lines this command was told the fate of."""
        return self.accepted + self.refused

    def send(self, source: BinaryIO) -> int:
        """Send every line; return the exit code. What is under way at Ctrl-C is still told."""
        lines = itertools.dropwhile(lambda line: line.number <= self.run.lines, read_lines(source))
        stream = self.session.client.submit_each(self._jobs(lines), parallel=self.options.parallel)
        try:
            code = self._note_each(stream)
        except KeyboardInterrupt:
            code = INTERRUPTED
        if code != DONE:
            self.unsettled = True
            self._note_each(stream.stop())
        self._write_record()
        return code

    def _jobs(self, lines: Iterable[Line]) -> Iterator[dict[str, Any]]:
        """Yield the jobs to send; the client reads a bounded number of them ahead."""
        for line in lines:
            self.last_read = line.number
            try:
                job = job_of(line, self.run.name, self.options.defaults)
            except LineProblem as problem:
                self._refuse(line, str(problem), text_of(line))
                self._settle_in_turn(line)
                continue
            self._under_way.append(_Sent(line, line.number))
            yield job

    def _note_each(self, stream: Iterable[Submitted]) -> int:
        """Note what became of each line; return why the first failed that is not the job's fault.

        What is true of one job is then true of all: the API is not reached, or not allowed.
        """
        for submitted in stream:
            sent = self._under_way.popleft()
            line = sent.line
            error = submitted.error
            if error is None:
                self._accept(sent, submitted)
            elif _is_refusal(submitted):
                job = job_of(line, self.run.name, self.options.defaults)
                self._refuse(line, told_in_a_line(error), job)
                self._settle(sent, refused=1)
            else:
                self._leave_open(line, error)
                if not self.unsettled:
                    return exit_code_of(error) or FAILED
        return DONE

    def _accept(self, sent: _Sent, submitted: Submitted) -> None:
        if self.session.is_json and submitted.job is not None:
            self.session.print_json(submitted.job.raw)
        self.accepted += 1
        self._settle(sent, accepted=1)

    def _refuse(self, line: Line, reason: str, job: Mapping[str, Any] | str) -> None:
        self.failures.add(line.number, reason, job)
        if self.refused < SHOWN_FAILURES:
            self.session.remark(f"line {line.number}: {reason}", "red")
        self.refused += 1
        self.meter.show(self.done, self.refused, line.end)

    def _leave_open(self, line: Line, error: ClientError) -> None:
        """Say why a line is not settled; without a record, keep it for another try."""
        self.may_have_happened = self.may_have_happened or error.may_have_happened
        reason = told_in_a_line(error)
        if not self.unsettled:
            self.session.remark(f"line {line.number}: {reason}", "red")
        if self.record is None:
            self.open_lines += 1
            job = job_of(line, self.run.name, self.options.defaults)
            self.failures.add(line.number, reason, job)

    def _settle_in_turn(self, line: Line) -> None:
        """Note that a line that never was a job is dealt with, once all before it are."""
        if self._under_way:
            self._under_way[-1].last = line.number
            self._under_way[-1].refused += 1
        else:
            self._settle(_Sent(line, line.number), refused=1)

    def _settle(self, sent: _Sent, *, accepted: int = 0, refused: int = 0) -> None:
        """Note that nothing is left to do for a line, nor for any before it."""
        if not self.unsettled:
            self.run = replace(
                self.run,
                lines=sent.last,
                accepted=self.run.accepted + accepted,
                refused=self.run.refused + refused + sent.refused,
            )
        self.meter.show(self.done, self.refused, sent.line.end)
        if self.meter.seconds - self._recorded_at >= RECORD_SECONDS:
            self._recorded_at = self.meter.seconds
            self._write_record()

    def _write_record(self) -> None:
        if self.record is not None:
            self.record.write(self.run)

    def tell_end(self, code: int) -> int:
        """Say what came of it, and return the exit code."""
        seconds = self.meter.seconds
        accepted = self._before.accepted + self.accepted
        refused = self._before.refused + self.refused
        rate = f"{self.done / seconds:,.0f} a second" if seconds > 0 else "at once"
        told = Text(
            f"{accepted:,} jobs accepted, {refused:,} refused, in {duration(seconds)} ({rate})."
        )
        (self.session.err if self.session.is_json else self.session.out).print(told)
        if refused:
            self.session.remark(f"What was refused is in {self.failures.path}, to be mended.", "")
        is_nothing_begun = not accepted and not self.may_have_happened
        if self.record is not None and (code == DONE or is_nothing_begun):
            self.record.remove()
        if code == DONE:
            return FAILED if refused else DONE
        again = "The same command goes on with the rest, and submits nothing twice."
        if self.record is None:
            again = f"{self.last_read:,} lines were read."
        if self.open_lines:
            again += (
                f" {self.open_lines:,} of them are not known to be submitted: "
                f"{self.failures.path} has them, and none is ever submitted twice."
            )
        self.session.remark(f"It did not come to its end. {again}", "")
        return code


def _is_refusal(submitted: Submitted) -> bool:
    """Whether it is about this job alone, so that the next one may fare better."""
    from hourhand import client

    kinds = (client.Invalid, client.Conflict, client.TooLarge, client.NotFound)
    return submitted.fate == "not submitted" and isinstance(submitted.error, kinds)


@contextmanager
def _opened(file: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """Yield where the lines come from, and how many bytes there are, if that is known."""
    if file == STDIN:
        yield sys.stdin.buffer, None
        return
    try:
        source = Path(file).open("rb")  # noqa: SIM115 (closed below; only opening may be refused)
    except OSError as error:
        raise typer.BadParameter(f"cannot be read: {error}", param_hint="--file") from None
    with source:
        # A pipe by a name, as <(...) is, has no size.
        yield source, os.fstat(source.fileno()).st_size or None


def _failures_path(options: FileOptions) -> Path:
    if options.failed is None:
        return Path("failed.ndjson" if options.file == STDIN else f"{options.file}.failed")
    if options.failed.resolve() == Path(options.file).resolve():
        raise typer.BadParameter("must not be the file of jobs itself", param_hint="--failed")
    return options.failed
