"""What a verb works with: the API's client, the streams to print to, the clock, questions."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TextIO, TypeVar

import typer
from rich.console import Console, Group, RenderableType
from rich.text import Text

from hourhand.aws.clock import SystemClock
from hourhand.cli.connection import Connection
from hourhand.cli.exits import (
    DONE,
    FAILED,
    WRONG_USAGE,
    CommandError,
    exit_code_of,
    sentences_of,
)
from hourhand.cli.options import OUTPUT, JsonOption, option
from hourhand.cli.output.fields import Fields, read_fields
from hourhand.cli.output.harmless import block, harmless
from hourhand.cli.output.records import ROWS_A_TABLE, Form, Records
from hourhand.cli.output.tables import PIPE_WIDTH, Column, make_table
from hourhand.cli.output.times import Times

if TYPE_CHECKING:
    # Each verb imports this file, and `hourhand --help` each verb: it must be quick.
    from hourhand import Client
    from hourhand.answers.answered import Answered
    from hourhand.cli.contexts.store import Named
    from hourhand.cli.output.progress import Meter
    from hourhand.ports.clock import Clock

PRODUCTION_STYLE = "bold red"


class Raw(Protocol):
    """An answer of the API."""

    @property
    def raw(self) -> Mapping[str, Any]:
        """The answer as the API sent it."""


T = TypeVar("T", bound=Raw)


@dataclass(frozen=True, kw_only=True, slots=True)
class Manner:
    """The flags for the format of the output."""

    output: Annotated[
        Form,
        typer.Option(
            "--output",
            "-o",
            envvar="HOURHAND_OUTPUT",
            help="Format of the results: table for people, json (one object per line) or yaml (one "
            "document per object).",
            rich_help_panel=OUTPUT,
        ),
    ] = "table"
    json: JsonOption = False
    fields: Annotated[
        Fields | None,
        option(
            "A,B.C",
            "Print only these fields, by their names in JSON, such as "
            "id,status,retry.max_attempts. In a table they are the columns.",
            OUTPUT,
            parser=read_fields,
            envvar="HOURHAND_FIELDS",
        ),
    ] = None
    utc: Annotated[
        bool,
        typer.Option(
            "--utc", envvar="HOURHAND_UTC", help="Show times in UTC.", rich_help_panel=OUTPUT
        ),
    ] = False
    absolute: Annotated[
        bool,
        typer.Option(
            "--absolute",
            envvar="HOURHAND_ABSOLUTE",
            help="Show absolute times in tables, not relative ones such as `in 3 min`.",
            rich_help_panel=OUTPUT,
        ),
    ] = False

    @property
    def form(self) -> Form:
        """The format of records; --json takes precedence."""
        return "json" if self.json else self.output


@dataclass
class Session:
    """One run of a verb. The client is opened at its first use.

    ``kinds``: the answers that the verb prints, if it names them. ``context``: where it acts.
    ``is_sure``: --yes was given.
    """

    connection: Connection = field(default_factory=Connection)
    manner: Manner = field(default_factory=Manner)
    clock: Clock = field(default_factory=SystemClock)
    kinds: Sequence[type[Answered]] = ()
    context: Named | None = None
    is_sure: bool = False
    _has_agreed: bool = False

    @cached_property
    def client(self) -> Client:
        """The client of the API. Raises its errors."""
        return self.connection.open()

    @cached_property
    def out(self) -> Console:
        """Standard output, for the result."""
        return _console(sys.stdout)

    @cached_property
    def err(self) -> Console:
        """Standard error, for progress, questions, remarks and errors."""
        return _console(sys.stderr)

    @cached_property
    def records(self) -> Records:
        """Prints records. Raises `CommandError` for a field that the verb's answers lack."""
        fields = self.manner.fields
        if fields is not None and self.kinds:
            fields.check_kinds(self.kinds)
        return Records(self.out, self.manner.form, fields, is_checked=bool(self.kinds))

    @property
    def is_json(self) -> bool:
        """Whether to print records: JSON, YAML, or fields that were named."""
        return self.manner.form != "table" or self.manner.fields is not None

    @property
    def times(self) -> Times:
        """Formats times, relative to now."""
        zone = UTC if self.manner.utc else None
        # A relative time has no zone.
        is_absolute = self.manner.absolute or self.manner.utc
        return Times(self.clock.now(), zone, is_absolute)

    def times_in(self, zone: str) -> Times:
        """Formats times in the zone of a schedule; with --utc in UTC."""
        from hourhand.domain.schedules.recurrence import BadExpression, zone_named

        if self.manner.utc:
            return self.times
        try:
            return replace(self.times, zone=zone_named(zone), zone_name=zone)
        except BadExpression:
            # The API may know a zone that was added after this machine's time zone data.
            return self.times

    def close(self) -> None:
        """Print what is left of a table, and close the client, if there is one."""
        records: Records | None = self.__dict__.get("records")
        if records is not None:
            records.flush()
        client: Client | None = self.__dict__.get("client")
        if client is not None:
            client.close()

    # --- printing ---

    def print(self, *what: RenderableType) -> None:
        """Print a result. Texts of others must be harmless already."""
        for each in what:
            self.out.print(each)

    def print_text(self, text: str, style: str = "") -> None:
        """Print text of others, made harmless, with its own lines.

        The terminal wraps long lines: they can be copied, and megabytes of text take no time.
        """
        self.out.print(block(text, style), soft_wrap=True)

    def print_json(self, raw: Mapping[str, Any]) -> None:
        """Print one object as the API gave it: as JSON on one line, or as --output says."""
        self.records.add(raw)

    def gives_json(self, answer: Raw) -> bool:
        """Print an answer of the API as JSON if that is asked for; return whether."""
        if self.is_json:
            self.print_json(answer.raw)
        return self.is_json

    def print_list(
        self,
        find: Callable[..., Iterable[T]],
        limit: int | None,
        columns: Sequence[Column],
        row: Callable[[Session, T], Sequence[Text | str]],
        *,
        none: str,
        first: str = "first",
    ) -> None:
        """Print at most ``limit`` of what ``find`` returns, as it arrives; say if there is more.

        ``row`` returns the cells of an answer. ``none`` is printed if there is nothing; ``first``
        says which ones the limit keeps.
        """
        rest, count = iter(find(limit=None if limit is None else limit + 1)), 0
        shown = itertools.islice(rest, limit)
        for page in iter(lambda: list(itertools.islice(shown, ROWS_A_TABLE)), []):
            count += len(page)
            self.print(*self.page(page, columns, row))
        if not count and self.manner.form == "table":
            self.remark(none)
        elif limit is not None and next(rest, None) is not None:
            self.remark(f"Only the {first} {count} are shown. Use --limit N or --all to see more.")

    def page(
        self,
        page: Sequence[T],
        columns: Sequence[Column],
        row: Callable[[Session, T], Sequence[Text | str]],
    ) -> Sequence[RenderableType]:
        """Return answers of the API as one table. As records, print them and return nothing."""
        if not self.is_json:
            rows = [row(self, each) for each in page]
            return [self.table(columns, rows, without_empty=True)]
        for each in page:
            self.print_json(each.raw)
        self.records.flush()
        return []

    def print_table(
        self, columns: Sequence[Column], rows: Iterable[Sequence[Text | str]], **how: bool
    ) -> None:
        """Print a table as `table` returns it."""
        self.out.print(self.table(columns, rows, **how))

    def table(
        self, columns: Sequence[Column], rows: Iterable[Sequence[Text | str]], **how: bool
    ) -> RenderableType:
        """Return a table that fits the terminal, with ``how`` as in `make_table`."""
        return make_table(self.out, columns, rows, **how)

    def remark(self, sentence: str, style: str = "dim") -> None:
        """Print a remark, on stderr."""
        self.err.print(block(sentence, style))

    def meter(self, things: str, total: float | None) -> Meter:
        """Return what shows the progress of bulk work."""
        from hourhand.cli.output.progress import Meter

        return Meter(self.err, self.clock, things, total)

    def watch(self, every_seconds: float, look: Callable[[], Sequence[RenderableType]]) -> None:
        """Print what ``look`` returns again and again, until Ctrl-C; a terminal shows the last.

        As records, ``look`` prints by itself and returns nothing.
        """
        if self.is_json or not self.out.is_terminal:
            while True:
                self.print(*look())
                self.records.flush()
                self.clock.sleep(every_seconds)
        from rich.live import Live

        with Live(console=self.out, auto_refresh=False, vertical_overflow="crop") as live:
            while True:
                foot = f"{self.times.absolute(self.clock.now())}, every {every_seconds:g} s"
                live.update(Group(*look(), Text(f"{foot}. Ctrl-C stops.", "dim")), refresh=True)
                self.clock.sleep(every_seconds)

    # --- several things ---

    def confirm(self, question: str, *, is_sure: bool) -> None:
        """Ask before a change of several things, unless ``is_sure``: --yes was given.

        Raises `CommandError` for any answer but yes, and if there is no terminal.
        """
        if is_sure or self.is_sure:
            return
        if self._is_production and self.context is not None:
            question = f"Production context {self.context.name}: {question}"
        if not sys.stdin.isatty():
            message = f"{question} There is no terminal to ask on. Confirm with --yes."
            raise CommandError(message, WRONG_USAGE)
        self.err.print(Text(f"{harmless(question)} [y/N] ", "bold"), end="")
        try:
            answer = sys.stdin.readline()
        except KeyboardInterrupt:
            # The next message starts on a line of its own.
            self.err.print()
            raise
        if answer.strip().lower() not in {"y", "yes"}:
            raise CommandError("Nothing was changed.", FAILED)
        self._has_agreed = True

    @property
    def _is_production(self) -> bool:
        return self.context is not None and self.context.context.is_production

    def announce(self) -> None:
        """Print in which context the command is about to change something."""
        if self.context is not None:
            style = PRODUCTION_STYLE if self._is_production else "dim"
            self.remark(f"In {self.context}.", style)

    def agree(self) -> None:
        """Ask before a change in a production context, unless the user agreed to it already.

        Raises `CommandError` as `confirm` does.
        """
        if self._is_production and not self._has_agreed:
            self.confirm("Continue?", is_sure=False)

    def do_to_each(self, names: Sequence[str], act: Callable[[str], None]) -> int:
        """Change each of the named things, also after a failure; return the exit code.

        Different failures have no code in common but that of a failure.
        """
        self.agree()
        codes = set()
        for name in dict.fromkeys(names):
            try:
                act(name)
            except Exception as error:
                code = exit_code_of(error)
                if code is None:
                    raise
                codes.add(code)
                first, *others = sentences_of(error)
                self.remark("\n".join([f"{name}: {first}", *others]), "red")
        return DONE if not codes else codes.pop() if len(codes) == 1 else FAILED

    def delete_each(
        self,
        thing: str,
        names: Sequence[str],
        delete: Callable[[str], None],
        *,
        key: str,
        is_sure: bool,
    ) -> int:
        """Delete things after a question; return the exit code. ``key``: the name of the ID."""
        counted = f"{thing} {names[0]}"
        if len(names) > 1:
            counted = f"{len(names)} {thing}s: {', '.join(names)}"
        self.confirm(f"Delete {counted}?", is_sure=is_sure)

        def act(name: str) -> None:
            delete(name)
            if self.is_json:
                self.print_json({key: name, "deleted": True})
            else:
                self.remark(f"{name}  deleted", style="")

        return self.do_to_each(names, act)


def _console(stream: TextIO) -> Console:
    if hasattr(stream, "reconfigure"):
        # A character that the terminal cannot show is no reason to fail.
        stream.reconfigure(errors="backslashreplace")
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console
