"""``hourhand dev``: the local cloud in a terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from hourhand.cli.lines import NORMAL, line_of
from hourhand.cli.options import MEMORY
from hourhand.domain.timings import Timings
from hourhand.local.child_process import kill_children
from hourhand.local.cloud import CloudOptions, LocalCloud
from hourhand.local.news import News, Tell
from hourhand.settings import read_settings

NAME = "hourhand"
"""The name of the installed script."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DevOptions:
    """What the command was told; ``detail`` as in `hourhand.cli.lines`."""

    handlers: str
    port: int
    backend: str
    tick_seconds: float
    workers: int
    batch_size: int
    speed: float
    detail: int = NORMAL


class Cloud(Protocol):
    """What is served: the local cloud, or its stand-in on a virtual clock."""

    @property
    def url(self) -> str:
        """Where the API is."""

    @property
    def handler_names(self) -> tuple[str, ...]:
        """The handlers that there are."""

    def now(self) -> datetime:
        """Return the time that passes in the cloud."""

    def start(self) -> None:
        """Start it."""

    def stop(self) -> None:
        """End it."""


def run_dev(options: DevOptions) -> None:
    """Serve until SIGINT or SIGTERM. Raises `HourhandError` where it cannot start."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)

    def tell(news: News) -> None:
        line = line_of(news, cloud.now().astimezone(), options.detail)
        if line is not None:
            console.print(line)

    timings = read_settings(os.environ, ()).timings
    cloud = _cloud(options, timings, tell)
    with ending_signals() as asked_to_end:
        console.print("[dim]Starting the local cloud ...[/]")
        cloud.start()
        try:
            # Who ended it while it started wants no advice any more.
            if not asked_to_end.is_set():
                _greet(console, options, timings, cloud)
            asked_to_end.wait()
            console.print("[dim]Ending: running jobs get a moment. Ctrl-C again to end at once.[/]")
        finally:
            cloud.stop()
    console.print("[dim]Ended. Nothing is left running.[/]")


@contextmanager
def ending_signals() -> Iterator[threading.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets; the second ends the process."""
    asked = threading.Event()

    def ask(number: int, _: Any) -> None:
        if asked.is_set():
            # Most children end with the pipe from us. One whose handler holds the GIL does not.
            kill_children()
            os._exit(128 + number)
        asked.set()

    before = {s: signal.signal(s, ask) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _cloud(options: DevOptions, timings: Timings, tell: Tell) -> Cloud:
    if options.backend == MEMORY:
        from hourhand.local.memory_cloud import MemoryCloud, MemoryOptions

        return MemoryCloud(
            MemoryOptions(
                handlers=options.handlers,
                port=options.port,
                tick_seconds=options.tick_seconds,
                workers=options.workers,
                batch_size=options.batch_size,
                speed=options.speed,
                timings=timings,
            ),
            tell,
        )
    return LocalCloud(
        CloudOptions(
            handlers=options.handlers,
            port=options.port,
            backend=options.backend,
            tick_seconds=options.tick_seconds,
            workers=options.workers,
            batch_size=options.batch_size,
            timings=timings,
        ),
        tell,
    )


def _greet(console: Console, options: DevOptions, timings: Timings, cloud: Cloud) -> None:
    url = cloud.url
    rows = {
        "console": f"{url}/console/",
        "API": f"{url}/v1",
        "docs": f"{url}/v1/docs",
        "handlers": f"{', '.join(cloud.handler_names)} [dim](of {options.handlers})[/]",
        "runs on": _described(options),
    }
    if timings != Timings():
        rows["timings"] = f"changed by HOURHAND_TIMINGS: {_changes(timings)}"
    console.print()
    console.print("[bold]Hourhand[/] is ready.")
    for name, value in rows.items():
        console.print(f"  [dim]{name:<9}[/] {value}")
    console.print()
    console.print("Try")
    for purpose, commands in first_commands(program_name(), url, cloud.handler_names).items():
        console.print(f"  [dim]{purpose}[/]")
        for command in commands:
            # As it stands, to be copied: a comment beside it is no comment to every shell.
            console.print(Text(f"    {command}"))
    console.print()
    console.print("[dim]Ctrl-C ends it. Jobs as they live:[/]")


def _changes(timings: Timings) -> str:
    normal = Timings()
    changed = [
        f.name for f in fields(timings) if getattr(timings, f.name) != getattr(normal, f.name)
    ]
    return ", ".join(f"{name} {getattr(timings, name).total_seconds():g} s" for name in changed)


def _described(options: DevOptions) -> str:
    tick = f"a tick every {options.tick_seconds:g} s"
    batch = "" if options.batch_size == 1 else f", batches of up to {options.batch_size}"
    if options.backend == MEMORY:
        threads = f"{options.workers} worker threads{batch}"
        return f"memory, one process, {threads}, {tick}, time at {options.speed:g} x"
    place = "moto, in memory" if options.backend == "moto" else options.backend
    plural = "" if options.workers == 1 else "es"
    return f"{place}; {options.workers} worker process{plural}{batch}, {tick}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Trial:
    """A handler to begin with, and a payload of which it makes something."""

    handler: str
    payload: str

    def __str__(self) -> str:
        return f"{self.handler} '{self.payload}'"


_SUCCEEDS = _Trial(handler="send-welcome", payload='{"email": "ada@example.org", "name": "Ada"}')
_FAILS = _Trial(handler="check-report", payload="{}")
"""Both are of `examples.quickstart`, with which ``make dev`` runs."""


def first_commands(program: str, url: str, handlers: Sequence[str]) -> dict[str, list[str]]:
    """Return what to type first, as ``program``, where the API is at ``url``, by what it is for.

    With the handlers of the quick start, the first job succeeds at once and the second is dead at
    once; of others, nobody knows what payload they want.
    """
    trial = _Trial(handler=handlers[0], payload="{}")
    submit = f"{program} jobs submit"
    tried = {"a job:": [f"{submit} {trial} --watch", f"{program} jobs list"]}
    if {_SUCCEEDS.handler, _FAILS.handler} <= set(handlers):
        trial = _SUCCEEDS
        tried = {
            "a job that succeeds:": [f"{submit} {trial} --watch", f"{program} jobs list"],
            "one that fails, as it should:": [
                f"{submit} {_FAILS} --max-attempts 1 --watch",
                f"{program} dead-letters list",
            ],
        }
    schedule = f"often -x 'rate(10 seconds)' --handler {trial.handler} --payload '{trial.payload}'"
    return {
        "in another terminal, once:": [f"export HOURHAND_ENDPOINT={url}"],
        **tried,
        "a schedule, and how everything does:": [
            f"{program} schedules put {schedule}",
            f"{program} stats --watch",
        ],
    }


def program_name(arguments: Sequence[str] = sys.argv) -> str:
    """Return how the command is called: by its name, or by its path where that is not enough."""
    called = Path(arguments[0])
    if called.name != NAME:
        return f"python -m {__package__}"
    found = shutil.which(NAME)
    is_found = found is not None and Path(found).resolve() == called.resolve()
    return NAME if is_found else shlex.quote(str(called))
