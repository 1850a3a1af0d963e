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
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from hourhand.cli.handlers.showing import submission_of
from hourhand.cli.lines import NORMAL, line_of
from hourhand.domain.ticks.timings import Timings
from hourhand.local.backend import MEMORY, MOTO
from hourhand.local.child_process import kill_children
from hourhand.local.cloud import CloudOptions, LocalCloud
from hourhand.local.events import News
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.settings import read_settings

NAME = "hourhand"
"""The name of the installed script."""

SIGNAL_SECONDS = 0.5
"""How soon a signal is noticed whose handler did not run at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DevOptions:
    """The options of the command; ``detail`` as in `hourhand.cli.lines`."""

    handlers: str
    port: int
    backend: str
    tick_seconds: float
    workers: int
    batch_size: int
    speed: float
    detail: int = NORMAL


def run_dev(options: DevOptions) -> None:
    """Run until SIGINT or SIGTERM. Raises `HourhandError` if the cloud cannot start."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)

    def tell(news: News) -> None:
        line = line_of(news, cloud.now().astimezone(), options.detail)
        if line is not None:
            console.print(line)

    timings = read_settings(os.environ, ()).timings
    cloud = LocalCloud(
        CloudOptions(
            handlers=options.handlers,
            port=options.port,
            backend=options.backend,
            speed=options.speed,
            tick_seconds=options.tick_seconds,
            workers=options.workers,
            batch_size=options.batch_size,
            timings=timings,
        ),
        tell,
    )
    with ending_signals() as asked_to_end:
        console.print("[dim]Starting the local cloud ...[/]")
        cloud.start()
        try:
            # A user who stopped it during start-up needs no advice.
            if not asked_to_end.is_set():
                _greet(console, options, timings, cloud)
            # In short steps: CPython may run the handlers of two signals that come together only
            # once the wait has returned.
            while not asked_to_end.wait(SIGNAL_SECONDS):
                pass
            console.print(
                "[dim]Stopping. Running jobs get a moment to finish. Ctrl-C again stops at once.[/]"
            )
        finally:
            cloud.stop()
    console.print("[dim]Stopped. Nothing is left running.[/]")


@contextmanager
def ending_signals() -> Iterator[threading.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets; the second ends the process."""
    asked = threading.Event()

    def ask(number: int, _: Any) -> None:
        if asked.is_set():
            # Most children end when our pipe closes. One whose handler holds the GIL does not.
            kill_children()
            os._exit(128 + number)
        asked.set()

    before = {s: signal.signal(s, ask) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _greet(console: Console, options: DevOptions, timings: Timings, cloud: LocalCloud) -> None:
    url = cloud.url
    rows = {
        "console": f"{url}/console/",
        "API": f"{url}/v1",
        "docs": f"{url}/v1/docs",
        "handlers": f"{', '.join(cloud.handlers.names)} [dim](of {options.handlers})[/]",
        "runs on": _described(options),
    }
    if timings != Timings():
        rows["timings"] = f"changed by HOURHAND_TIMINGS: {_changes(timings)}"
    console.print()
    console.print("[bold]Hourhand[/] is ready.")
    for name, value in rows.items():
        console.print(f"  [dim]{name:<9}[/] {value}")
    for note in cloud.handlers.notes:
        console.print(Text(f"  {note}", style="yellow"))
    console.print()
    console.print("Try")
    for purpose, commands in first_commands(program_name(), url, cloud.handlers.infos).items():
        console.print(f"  [dim]{purpose}[/]")
        for command in commands:
            # On a line of its own, to be copied: not every shell accepts a comment beside it.
            console.print(Text(f"    {command}"))
    console.print()
    console.print(
        "[dim]Handlers are reloaded when their files change. Ctrl-C stops the cloud. Events:[/]"
    )


def _changes(timings: Timings) -> str:
    normal = Timings()
    changed = [
        f.name for f in fields(timings) if getattr(timings, f.name) != getattr(normal, f.name)
    ]
    return ", ".join(f"{name} {getattr(timings, name).total_seconds():g} s" for name in changed)


def _described(options: DevOptions) -> str:
    tick = f"a tick every {options.tick_seconds:g} s"
    batch = "" if options.batch_size == 1 else f", batches of up to {options.batch_size}"
    place = {MEMORY: "Hourhand's own memory", MOTO: "moto, in memory"}
    plural = "" if options.workers == 1 else "es"
    speed = "" if options.speed == 1 else f", time at {options.speed:g} x"
    at = place.get(options.backend, options.backend)
    return f"{at}; {options.workers} worker process{plural}{batch}, {tick}{speed}"


_SUCCEEDS = """send-welcome '{"email": "ada@example.org", "name": "Ada"}'"""
_FAILS = "check-report '{}'"
"""Both are handlers of `examples.quickstart`, which ``make dev`` runs."""


def first_commands(program: str, url: str, handlers: Sequence[HandlerInfo]) -> dict[str, list[str]]:
    """Return the commands to type first, by their purpose. ``program`` is the command's name.

    With the handlers of the quickstart, the first job succeeds at once and the second is dead at
    once. Of other handlers, the first one is suggested of which an example payload is known.
    """
    submit = f"{program} jobs submit"
    trial = _first_trial(handlers)
    names = {info.name for info in handlers}
    if all(one.split(maxsplit=1)[0] in names for one in (_SUCCEEDS, _FAILS)):
        trial = _SUCCEEDS
        tried = {
            "a job that succeeds:": [f"{submit} {trial} --watch", f"{program} jobs list"],
            "a job that fails on purpose:": [
                f"{submit} {_FAILS} --max-attempts 1 --watch",
                f"{program} dead-letters list",
            ],
        }
    elif trial is not None:
        tried = {"a job:": [f"{submit} {trial} --watch", f"{program} jobs list"]}
    else:
        tried = {"what a handler takes:": [f"{program} handlers show {handlers[0].name}"]}
    commands = {"in another terminal, once:": [f"export HOURHAND_ENDPOINT={url}"], **tried}
    if trial is None:
        return {**commands, "the state of the system:": [f"{program} stats --watch"]}
    handler, payload = trial.split(maxsplit=1)
    schedule = f"often -x 'rate(10 seconds)' --handler {handler} --payload {payload}"
    return {
        **commands,
        "a schedule, and the state of the system:": [
            f"{program} schedules put {schedule}",
            f"{program} stats --watch",
        ],
    }


def _first_trial(handlers: Sequence[HandlerInfo]) -> str | None:
    """Return handler and payload, as a shell takes them, of a submission that works."""
    # A handler with a known payload says more than one that takes anything.
    for info in sorted(handlers, key=lambda info: not info.payload_examples):
        found = submission_of(info.name, info.payload_schema, info.payload_examples)
        if found is not None:
            return found
    return None


def program_name(arguments: Sequence[str] = sys.argv) -> str:
    """Return how to call the command: by its name, or by its path if it is not on the PATH."""
    called = Path(arguments[0])
    if called.name != NAME:
        return f"python -m {__package__}"
    found = shutil.which(NAME)
    is_found = found is not None and Path(found).resolve() == called.resolve()
    return NAME if is_found else shlex.quote(str(called))
