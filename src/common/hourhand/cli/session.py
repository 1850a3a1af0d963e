"""What a verb works with: the API's client, where to print, the time, and somebody to ask."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.text import Text

from hourhand.aws.clock import SystemClock
from hourhand.cli.connection import Connection
from hourhand.cli.exits import FAILED, WRONG_USAGE, CommandError
from hourhand.cli.output.harmless import block, harmless
from hourhand.cli.output.tables import PIPE_WIDTH, Column, make_table
from hourhand.cli.output.times import Times

if TYPE_CHECKING:
    # Each verb imports this file, and `hourhand --help` each verb: it must be quick.
    from hourhand import Client
    from hourhand.cli.output.progress import Meter
    from hourhand.ports import Clock


@dataclass(frozen=True, kw_only=True, slots=True)
class Manner:
    """How to tell things: as JSON; times in UTC; when something is, not how far away."""

    json: bool = False
    utc: bool = False
    absolute: bool = False


@dataclass
class Session:
    """One run of a verb. The client is opened when it is first wanted."""

    connection: Connection = field(default_factory=Connection)
    manner: Manner = field(default_factory=Manner)
    clock: Clock = field(default_factory=SystemClock)

    @cached_property
    def client(self) -> Client:
        """The client of the API. Raises its errors."""
        return self.connection.open()

    @cached_property
    def out(self) -> Console:
        """Where what was asked for goes."""
        return _console(sys.stdout)

    @cached_property
    def err(self) -> Console:
        """Where all else goes: progress, questions, remarks, errors."""
        return _console(sys.stderr)

    @property
    def is_json(self) -> bool:
        """Whether a program reads this."""
        return self.manner.json

    @property
    def times(self) -> Times:
        """Tells times as of now."""
        zone = UTC if self.manner.utc else None
        # Who asks for a zone wants to read the time in it.
        is_absolute = self.manner.absolute or self.manner.utc
        return Times(self.clock.now(), zone, is_absolute)

    def close(self) -> None:
        """Close the client, if there is one."""
        client: Client | None = self.__dict__.get("client")
        if client is not None:
            client.close()

    # --- telling ---

    def print(self, *what: RenderableType) -> None:
        """Print what was asked for. Texts of others must be harmless already."""
        for each in what:
            self.out.print(each)

    def print_text(self, text: str, style: str = "") -> None:
        """Print text of others, harmless, in its own lines; long ones are the terminal's to wrap.

        So it can be copied as it is, and megabytes of it take no time.
        """
        self.out.print(block(text, style), soft_wrap=True)

    def print_json(self, raw: Mapping[str, Any]) -> None:
        """Print one object as the API gave it, on one line of plain ASCII."""
        print(json_line(raw), file=sys.stdout, flush=sys.stdout.isatty())

    def print_table(self, columns: Sequence[Column], rows: Iterable[Sequence[Text | str]]) -> None:
        """Print a table that fits the terminal; its texts are made harmless."""
        self.out.print(self.table(columns, rows))

    def table(
        self, columns: Sequence[Column], rows: Iterable[Sequence[Text | str]]
    ) -> RenderableType:
        """Return a table that fits the terminal; its texts are made harmless."""
        return make_table(self.out, columns, rows)

    def remark(self, sentence: str, style: str = "dim") -> None:
        """Say something beside what was asked for, on stderr."""
        self.err.print(block(sentence, style))

    def meter(self, things: str, total: float | None) -> Meter:
        """Return what shows how far bulk work is."""
        from hourhand.cli.output.progress import Meter

        return Meter(self.err, self.clock, things, total)

    def watch(self, every_seconds: float, look: Callable[[], Sequence[RenderableType]]) -> None:
        """Print what ``look`` returns again and again, until Ctrl-C; on a terminal in its place.

        As JSON, ``look`` prints by itself and returns nothing.
        """
        if self.is_json or not self.out.is_terminal:
            while True:
                self.print(*look())
                self.clock.sleep(every_seconds)
        from rich.live import Live

        with Live(console=self.out, auto_refresh=False, vertical_overflow="crop") as live:
            while True:
                foot = f"{self.times.absolute(self.clock.now())}, every {every_seconds:g} s"
                live.update(Group(*look(), Text(f"{foot}; Ctrl-C ends it", "dim")), refresh=True)
                self.clock.sleep(every_seconds)

    # --- asking ---

    def confirm(self, question: str, *, is_sure: bool) -> None:
        """Ask before something is done to many; ``is_sure``: --yes was given.

        Raises `CommandError` for any answer but yes, and where there is nobody to ask.
        """
        if is_sure:
            return
        if not sys.stdin.isatty():
            message = f"{question} There is no terminal to ask: give --yes to do it."
            raise CommandError(message, WRONG_USAGE)
        self.err.print(Text(f"{harmless(question)} [y/N] ", "bold"), end="")
        try:
            answer = sys.stdin.readline()
        except KeyboardInterrupt:
            # What is said next begins a line of its own.
            self.err.print()
            raise
        if answer.strip().lower() not in {"y", "yes"}:
            raise CommandError("Nothing was done.", FAILED)


def json_line(raw: Mapping[str, Any]) -> str:
    """Return JSON on one line. All but ASCII is escaped, so that a terminal may show it."""
    return json.dumps(raw, default=dict)


def _console(stream: TextIO) -> Console:
    if hasattr(stream, "reconfigure"):
        # A name that the terminal's alphabet lacks is no reason to fail.
        stream.reconfigure(errors="backslashreplace")
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console
