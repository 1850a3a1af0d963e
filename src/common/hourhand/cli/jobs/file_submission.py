"""``hourhand jobs submit --file``: submits any number of jobs, and continues after a break.

A record beside the file holds the name of the submission, from which the IDs of the jobs are
derived, and the number of lines that are done. It is written before the first job is sent, and
removed once every line is done: then the same file is a new submission, with new IDs.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer
from rich.text import Text

from hourhand.cli.connection import DEFAULT_SECONDS
from hourhand.cli.exits import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG_USAGE,
    CommandError,
    exit_code_of,
    one_line,
)
from hourhand.cli.jobs.flags import FileFlags
from hourhand.cli.jobs.job_file import FailuresFile, FileLine, LineProblem, job_of, read_lines
from hourhand.cli.output.progress import Meter
from hourhand.cli.output.times import duration
from hourhand.cli.session import Session
from hourhand.domain.times import rfc3339

if TYPE_CHECKING:
    from hourhand.client import Submitted

STDIN = "-"
RECORD_SUFFIX = ".hourhand-run"
BATCH_SECONDS = 300.0
"""Time limit of a batch: the local cloud may be slow. API Gateway answers within 30 s."""

MAX_AGE = timedelta(hours=24)
"""The API remembers an ID for at least this long."""

UNAVAILABLE = "unavailable"
SHOWN_FAILURES = 10
RECORD_SECONDS = 1.0
"""How often the record is written. Lines that are sent again are the same jobs."""


@dataclass(kw_only=True, slots=True)
class Run:
    """One submission of a file, ``begun_at``; ``source`` identifies the API and the file's state.

    Of the first ``lines`` nothing is left to do; ``accepted`` and ``refused`` count only these.
    """

    name: str
    begun_at: str
    source: list[str | int]
    lines: int = 0
    accepted: int = 0
    refused: int = 0


class Record:
    """The record beside a file of jobs."""

    def __init__(self, jobs_file: Path) -> None:
        """Read and write nothing yet."""
        self.path = jobs_file.with_name(jobs_file.name + RECORD_SUFFIX)
        self._jobs_file = jobs_file

    def begin(self, endpoint: str, now: datetime) -> Run:
        """Return the interrupted submission or a new one, and record it. Raises `CommandError`."""
        status = self._jobs_file.stat()
        source: list[str | int] = [endpoint, status.st_size, status.st_mtime_ns]
        try:
            run = Run(**json.loads(self.path.read_text(encoding="utf-8")))
            age = now - datetime.fromisoformat(run.begun_at)
        except FileNotFoundError:
            run, age = _new_run(source, now), timedelta(0)
        except (OSError, ValueError, TypeError) as error:
            message = f"{self.path} is not a record of a submission. Delete it."
            raise CommandError(message, WRONG_USAGE) from error
        if run.source != source or age > MAX_AGE:
            raise CommandError(
                f"A submission of {self._jobs_file.name} to {run.source[0]} was interrupted after "
                f"{run.lines:,} lines. It cannot continue, because the file or the API is another "
                f"one, or more than 24 hours have passed. To submit every line as a new job, "
                f"delete {self.path}.",
                WRONG_USAGE,
            )
        self.write(run)
        return run

    def write(self, run: Run) -> None:
        """Replace the record atomically. Raises `CommandError`."""
        beside = self.path.with_name(self.path.name + ".new")
        try:
            with beside.open("w", encoding="utf-8") as file:
                json.dump(asdict(run), file)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except OSError as error:
            raise CommandError(
                f"{self.path}, the record of the submission, cannot be written "
                f"({error.strerror}). Copy the file of jobs to another folder, or use stdin."
            ) from error


def submit_file(session: Session, flags: FileFlags, defaults: Mapping[str, Any]) -> int:
    """Submit every line of a file; return 0 only if every one was accepted.

    Raises `CommandError` and `typer.BadParameter` if the submission cannot start.
    """
    file = flags.file or STDIN
    if session.connection.request_timeout == DEFAULT_SECONDS:
        session.connection = replace(session.connection, request_timeout=BATCH_SECONDS)
    failed = flags.failed or Path("failed.ndjson" if file == STDIN else f"{file}.failed")
    if failed.resolve() == Path(file).resolve():
        raise typer.BadParameter("must not be the file of jobs itself", param_hint="--failed")
    with _opened(file) as (source, total):
        # Stdin or a pipe cannot be read a second time.
        record = Record(Path(file)) if Path(file).is_file() else None
        is_continued = record is not None and record.path.exists()
        endpoint, now = session.client.endpoint, session.clock.now()
        run = _new_run([], now) if record is None else record.begin(endpoint, now)
        if is_continued:
            done = f"{run.lines:,} lines are done"
            session.remark(f"Continuing the interrupted submission: {done}.", "")
        failures = FailuresFile(failed, is_continued=run.lines > 0)
        with closing(failures), session.meter("jobs", total) as meter:
            sending = _Sending(session, defaults, run, record, failures, meter)
            sending.send(source, flags.parallel)
        return sending.report()


def _new_run(source: list[str | int], now: datetime) -> Run:
    return Run(name=secrets.token_hex(5), begun_at=rfc3339(now), source=source)


@dataclass
class _Sending:
    """One run of the command.

    ``open`` counts the lines that are neither accepted nor refused. A command that continues
    starts at the first of them, so ``run`` counts the lines before it.
    """

    session: Session
    defaults: Mapping[str, Any]
    run: Run
    record: Record | None
    failures: FailuresFile
    meter: Meter
    code: int = DONE
    accepted: int = 0
    refused: int = 0
    open: int = 0
    may_have_happened: bool = False
    last_read: int = 0
    _in_flight: deque[tuple[FileLine, LineProblem | None]] = field(default_factory=deque)
    _recorded_at: float = 0.0

    def __post_init__(self) -> None:
        """Count on from where an interrupted command stopped."""
        self.accepted, self.refused = self.run.accepted, self.run.refused

    def send(self, source: BinaryIO, parallel: int) -> None:
        """Send every line. After a failure or Ctrl-C, wait for the requests in flight."""
        done = self.run.lines
        lines = itertools.dropwhile(lambda line: line.number <= done, read_lines(source))
        stream = self.session.client.submit_each(self._jobs(lines), parallel=parallel)
        try:
            self._settle_each(stream)
        except KeyboardInterrupt:
            self.code = INTERRUPTED
        if self.code != DONE:
            self._settle_each(stream.stop())
        if self.record is not None:
            self.record.write(self.run)

    def _jobs(self, lines: Iterable[FileLine]) -> Iterator[dict[str, Any]]:
        """Yield the jobs to send; the client reads a bounded number of them ahead."""
        for line in lines:
            self.last_read = line.number
            job: dict[str, Any] = {}
            problem = None
            try:
                job = self._job(line)
            except LineProblem as error:
                # The client refuses an empty job in its turn, and does not send it.
                problem = error
            self._in_flight.append((line, problem))
            yield job

    def _job(self, line: FileLine) -> dict[str, Any]:
        return job_of(line, self.run.name, self.defaults)

    def _settle_each(self, stream: Iterable[Submitted]) -> None:
        """Note the result of each line, in order, until the first failure of the API itself."""
        for submitted in stream:
            line, problem = self._in_flight.popleft()
            if problem is None and submitted.error is not None and not _is_refusal(submitted):
                self._leave_open(line, submitted.error)
                if self.code == DONE:
                    self.code = exit_code_of(submitted.error) or FAILED
                    return
                continue
            error = problem or submitted.error
            if error is None:
                self.accepted += 1
                if self.session.is_json and submitted.job is not None:
                    self.session.print_json(submitted.job.raw)
            elif self.record is None or not self.open:
                # Behind an open line, a command that continues reports it.
                self._refuse(line, error)
            if not self.open:
                self.run.lines = line.number
                self.run.accepted, self.run.refused = self.accepted, self.refused
            self._show_progress(line)

    def _refuse(self, line: FileLine, error: Exception) -> None:
        self._keep(line, error)
        if self.refused < SHOWN_FAILURES:
            self.session.remark(f"line {line.number}: {one_line(error)}", "red")
        self.refused += 1

    def _leave_open(self, line: FileLine, error: Exception) -> None:
        self.may_have_happened |= getattr(error, "may_have_happened", False)
        is_of_line = getattr(error, "code", None) == UNAVAILABLE
        if self.code == DONE or (is_of_line and self.open < SHOWN_FAILURES):
            self.session.remark(f"line {line.number}: {_reason(error)}", "red")
        self.open += 1
        if self.record is None:
            self._keep(line, error)

    def _keep(self, line: FileLine, error: Exception) -> None:
        job = None if isinstance(error, LineProblem) else self._job(line)
        self.failures.add(line, _reason(error), job)

    def _show_progress(self, line: FileLine) -> None:
        self.meter.show(self.accepted + self.refused, self.refused, line.end)
        if self.record is not None and self.meter.seconds - self._recorded_at >= RECORD_SECONDS:
            self._recorded_at = self.meter.seconds
            self.record.write(self.run)

    def report(self) -> int:
        """Print the result, and return the exit code."""
        counts = f"{self.accepted:,} jobs accepted, {self.refused:,} rejected"
        summary = Text(f"{counts}, in {duration(self.meter.seconds)}.")
        (self.session.err if self.session.is_json else self.session.out).print(summary)
        kept = self.failures.path
        if self.refused:
            self.session.remark(f"{kept} has the rejected lines. Correct and submit it.", "")
        is_untouched = not self.accepted and not self.may_have_happened
        if self.record is not None and (self.code == DONE or is_untouched):
            self.record.path.unlink(missing_ok=True)
        if self.code == DONE:
            return FAILED if self.refused else DONE
        rest = "Run the same command again to continue. Nothing is submitted twice."
        if self.record is None:
            rest = f"{self.last_read:,} lines were read."
            if self.open:
                rest += f" {self.open:,} of them may not be submitted: submit {kept} to be sure."
        self.session.remark(f"The submission is incomplete. {rest}", "")
        return self.code


def _reason(error: Exception) -> str:
    """Return the error on one line; if it may be temporary, whether the job is stored."""
    from hourhand.client import ClientError

    if not isinstance(error, ClientError) or error.code != UNAVAILABLE or not error.submission:
        return one_line(error)
    stored = {True: "yes", False: "no", None: "unknown"}[error.stored]
    name = error.submission.id or error.submission.idempotency_key
    return f"{one_line(error)} (stored: {stored}; safe to repeat as {name})"


def _is_refusal(submitted: Submitted) -> bool:
    """Whether the API refused this job alone, so that the next one may be accepted."""
    from hourhand import client

    kinds = (client.Invalid, client.Conflict, client.TooLarge, client.NotFound)
    return submitted.fate == "not submitted" and isinstance(submitted.error, kinds)


@contextmanager
def _opened(file: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """Yield the source of the lines, and its size in bytes if that is known."""
    if file == STDIN:
        yield sys.stdin.buffer, None
        return
    try:
        source = Path(file).open("rb")  # noqa: SIM115 (closed below; only opening may fail)
    except OSError as error:
        raise typer.BadParameter(f"cannot be read: {error}", param_hint="--file") from None
    with source:
        # A pipe by a name, as <(...) is, has no size.
        yield source, os.fstat(source.fileno()).st_size or None
