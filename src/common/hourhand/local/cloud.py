"""The local cloud: a backend in the place of AWS, the functions around it, and their triggers.

What Lambda would run in environments of its own runs in child processes: each can be killed, and
is started again. The API function runs here, behind the HTTP server.
"""

from __future__ import annotations

import os
import queue
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from hourhand.domain.ticks.timings import Timings
from hourhand.local.backend import MEMORY, Backend
from hourhand.local.child_process import ChildCommand, ChildListener, ChildProcess, Spawn
from hourhand.local.environment import function_environment, replaced_environment
from hourhand.local.event_source import EventSource
from hourhand.local.events import Listener, News
from hourhand.local.handler_watch import Handlers, HandlerWatch, read_handlers
from hourhand.local.http_server import ApiFunction, serve
from hourhand.local.job_watch import JobWatch
from hourhand.local.memory_backend import MemoryBackend
from hourhand.local.scheduler_slot import SchedulerSlot
from hourhand.local.worker_slot import WorkerSlot
from hourhand.loopback import RunningServer
from hourhand.memory import MemoryJobLogs
from hourhand.settings import Settings

READY_SECONDS = 30.0
READY_LOOK_SECONDS = 0.05
LOCAL_STAGE = "local"
"""What a local cloud answers as its stage."""

GRACE_SECONDS = 5.0
"""How long running jobs may continue after the cloud was asked to stop."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CloudOptions:
    """The options of `hourhand dev`. ``backend``: ``memory``, ``moto``, or an endpoint's URL.

    ``speed``, of the memory alone: the seconds that pass in each real one; ``tick_seconds`` are
    of the cloud's own time. ``port`` 0 takes a free one. ``path`` is put on the module search path
    before anything else; ``environment`` is for the functions, over that of this process.
    """

    handlers: str
    port: int = 8787
    backend: str = MEMORY
    speed: float = 1.0
    tick_seconds: float = 60.0
    workers: int = 4
    schedulers: int = 1
    batch_size: int = 1
    timings: Timings = field(default_factory=Timings)
    path: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


class LocalCloud:
    """Runs from `start` to `stop`. ``tell`` is called with each event, from many threads."""

    def __init__(self, options: CloudOptions, tell: Listener) -> None:
        """Start nothing yet."""
        self.options = options
        self.settings = Settings(
            timings=options.timings.precise, handlers=options.handlers, stage=LOCAL_STAGE
        )
        self.backend = _backend(options)
        self._logs = MemoryJobLogs()
        self.workers: list[WorkerSlot] = []
        self.schedulers: list[SchedulerSlot] = []
        self.idle: queue.SimpleQueue[WorkerSlot] = queue.SimpleQueue()
        self._tell = self._watched(tell)
        self._stack = ExitStack()
        self._server: RunningServer | None = None
        self._api: ApiFunction | None = None
        self._has_api = threading.Event()
        self._handlers = Handlers((), {})

    def _watched(self, tell: Listener) -> Listener:
        """Return a listener that keeps what news tell of jobs, and passes them on."""
        watch = JobWatch(self.backend, self._logs)

        def tell_both(news: News) -> None:
            watch(news)
            tell(news)

        return tell_both

    @property
    def url(self) -> str:
        """Where the API is."""
        assert self._server is not None
        return self._server.url

    @property
    def handlers(self) -> Handlers:
        """The handlers that were there at the start."""
        return self._handlers

    def now(self) -> datetime:
        """Return the time that passes in this cloud."""
        return self.backend.clock.now()

    def listen(self) -> str:
        """Open the port and return the URL. Requests wait until `start` has the API ready.

        Raises `InvalidInput` for a port that is taken.
        """
        self._server = serve(self._answer, port=self.options.port)
        self._stack.callback(self._close_server)
        return self.url

    def start(self) -> None:
        """Start everything, `listen` included; returns when the workers are ready.

        Raises `HandlersBroken`, `InvalidInput` for a port that is taken, and `Unavailable` where
        the backend does not answer; then nothing is left running.
        """
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise

    def stop(self) -> None:
        """End everything, jobs under way included once their grace is over."""
        self._stack.close()

    def _start(self) -> None:
        if self._server is None:
            self.listen()
        self.settings = replace(self.settings, api_url=self.url)
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="hourhand-")))
        manifest = folder / "handlers.json"
        source = EventSource(
            self.backend, self.idle, self._tell, batch_size=self.options.batch_size
        )
        self.backend.start(source.wake)
        self._stack.callback(self.backend.stop)
        cloud = self.backend.environment({**os.environ, **self.options.environment})
        environment = function_environment(cloud, self.settings, path=self.options.path)
        self._handlers = read_handlers(self.options.handlers, manifest, environment)
        self._stack.enter_context(replaced_environment(cloud))
        self.settings = self.backend.provision(self.settings, manifest)
        environment = function_environment(cloud, self.settings, path=self.options.path)
        os.environ.update(environment)
        self._api = api = ApiFunction(partial(self.backend.load_api, self._logs), self._tell)
        self._has_api.set()
        # Before the backend ends, so that no late request fails for lack of one.
        self._stack.callback(self._close_server)
        self._start_children(environment)
        source.start()
        self._stack.callback(source.stop)
        self._watch(api, manifest, environment)
        self._wait_until_ready()

    def _answer(self, event: Mapping[str, Any], context: object) -> Mapping[str, Any]:
        if not self._has_api.wait(READY_SECONDS) or self._api is None:
            return {"statusCode": HTTPStatus.SERVICE_UNAVAILABLE, "body": "The API is starting."}
        return self._api(event, context)

    def _close_server(self) -> None:
        # Safe to repeat.
        assert self._server is not None
        self._server.close()

    def _start_children(self, environment: Mapping[str, str]) -> None:
        tick = f"{self.options.tick_seconds / self.backend.speed:g}"
        for number in range(1, self.options.schedulers + 1):
            name = f"scheduler-{number}"
            command = ChildCommand(
                name=name,
                module="hourhand.local.scheduler_process",
                arguments=("--tick-seconds", tick, "--name", name),
                environment=environment,
            )
            scheduler = SchedulerSlot(self._spawner(command), self._tell)
            self.schedulers.append(scheduler)
            self._stack.callback(scheduler.stop)
        self._stack.callback(self._stop_workers)
        for number in range(1, self.options.workers + 1):
            command = ChildCommand(
                name=f"worker-{number}",
                module="hourhand.local.worker_process",
                environment=environment,
            )
            spawn = self._spawner(command)
            self.workers.append(WorkerSlot(command.name, spawn, self.idle, self._tell))

    def _spawner(self, command: ChildCommand) -> Spawn:
        def spawn(listener: ChildListener) -> ChildProcess:
            return ChildProcess(command, listener)

        return spawn

    def _watch(self, api: ApiFunction, manifest: Path, environment: Mapping[str, str]) -> None:
        def replace_all() -> None:
            api.reload()
            for worker in self.workers:
                worker.refresh()
            for scheduler in self.schedulers:
                scheduler.refresh()

        watch = HandlerWatch(
            lambda: read_handlers(self.options.handlers, manifest, environment),
            self._handlers,
            replace_all,
            self._tell,
        )
        watch.start()
        self._stack.callback(watch.stop)

    def _wait_until_ready(self) -> None:
        """Wait until every worker was ready once, or a time limit; report a worker that dies."""
        give_up_at = time.monotonic() + READY_SECONDS
        while time.monotonic() < give_up_at:
            if all(worker.was_ready for worker in self.workers):
                return
            time.sleep(READY_LOOK_SECONDS)

    def _stop_workers(self) -> None:
        deadline = time.monotonic() + GRACE_SECONDS
        while any(worker.is_busy for worker in self.workers) and time.monotonic() < deadline:
            time.sleep(READY_LOOK_SECONDS)
        # Side by side: one that hangs must not make all the others wait.
        enders = [threading.Thread(target=worker.stop) for worker in self.workers]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()


def _backend(options: CloudOptions) -> Backend:
    if options.backend == MEMORY:
        return MemoryBackend(options.timings.precise, options.speed)
    # botocore takes a moment to import.
    from hourhand.local.aws_backend import AwsBackend

    return AwsBackend(options.backend)
