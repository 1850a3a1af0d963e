"""Two versions of the functions over the same tables and queues, served by moto on loopback."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3

import hourhand
from hourhand.aws.clients import client_config
from hourhand.aws.provision import provision
from hourhand.domain.timings import Timings
from hourhand.local.child_lines import read_lines, write_line
from hourhand.local.environment import cloud_environment, function_environment
from hourhand.local.gateway_events import answer_body, gateway_event
from hourhand.local.handler_watch import read_handlers
from hourhand.local.moto_server import MotoServer
from hourhand.local.scheduler_process import scheduled_event
from hourhand.local.sqs_events import done_messages, sqs_event
from hourhand.settings import Settings

OLD, NEW = "old", "new"
PREVIOUS = Path(__file__).parent / "previous"
DRIVER = Path(__file__).with_name("function_process.py")
FRONT = ("api", "scheduler")
WORKER = ("worker",)

SECOND = timedelta(seconds=1)
TIMINGS = replace(
    Timings(),
    look_ahead=SECOND,
    leader_lease=5 * SECOND,
    job_lease=2 * SECOND,
    visibility=3 * SECOND,
    heartbeat=0.5 * SECOND,
    clock_margin=0.2 * SECOND,
    redispatch_first=2 * SECOND,
    turn_wait=SECOND,
    first_look_back=60 * SECOND,
)
"""Only durations that the previous version knows, too."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the code: its name, and what is put on the module search path for it."""

    name: str
    path: Path


def previous_version(folder: Path) -> Version:
    """Unpack the wheel of the previous version."""
    (wheel,) = PREVIOUS.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return Version(OLD, folder)


def present_version() -> Version:
    """Return the code of this checkout."""
    return Version(NEW, Path(hourhand.__file__).parents[1])


class FunctionProcess:
    """A process of one version with some of the functions; when it dies, it is begun anew."""

    def __init__(
        self, version: Version, functions: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        """Start it; the first invocation waits until it is ready."""
        self.version = version
        self.deaths = 0
        paths = os.pathsep.join([str(version.path), environment["PYTHONPATH"]])
        self._command = [sys.executable, "-P", str(DRIVER), *functions]
        self._environment = {**environment, "PYTHONPATH": paths}
        self._log = log
        self._numbers = itertools.count(1)
        self._process = self._start()
        self._is_ready = False

    def invoke(self, function: str, event: Any) -> Any:
        """Return what the function returned; ``None`` where the process died of it."""
        self._wait_until_ready()
        assert self._process.stdin is not None
        request_id = f"{self.version.name}-{self.deaths}-{next(self._numbers)}"
        write_line(self._process.stdin, {"function": function, "event": event, "id": request_id})
        answer = self._answer()
        if answer is None:
            self.stop()
            self.deaths += 1
            self._process, self._is_ready = self._start(), False
            return None
        assert "error" not in answer, f"{self._command}: {answer}\n{self._log.read_text()}"
        return answer["result"]

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _start(self) -> subprocess.Popen[str]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
                encoding="utf-8",
            )

    def _wait_until_ready(self) -> None:
        if self._is_ready:
            return
        ready = self._answer()
        assert ready is not None, f"{self._command} does not start: {self._log.read_text()}"
        # A checkout that is installed for editing must not stand in for the wheel.
        assert Path(ready["ready"]).is_relative_to(self.version.path)
        self._is_ready = True

    def _answer(self) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        return next(read_lines(self._process.stdout), None)


class SideBySide:
    """Both versions of every function, started once; a test says which one is invoked."""

    def __init__(
        self,
        fronts: Mapping[str, FunctionProcess],
        workers: Mapping[str, FunctionProcess],
        settings: Settings,
        sqs: Any,
    ) -> None:
        """Take the processes by the names of their versions."""
        self.fronts = fronts
        self.workers = workers
        self.settings = settings
        self.sqs = sqs
        self._numbers = itertools.count(1)
        attributes = ["QueueArn"]
        self._arns = {
            url: self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=attributes)[
                "Attributes"
            ]["QueueArn"]
            for url in settings.queues.values()
        }

    def ask(self, version: str, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        """Call the API of a version; return status and answer."""
        event = gateway_event(
            method=method,
            target=target,
            headers=[("host", "127.0.0.1"), ("content-type", "application/json")],
            body=b"" if body is None else json.dumps(body).encode(),
            request_id=f"request-{next(self._numbers)}",
            now=datetime.now(UTC),
        )
        answer = self.fronts[version].invoke("api", event)
        return answer["statusCode"], json.loads(answer_body(answer) or b"null")

    def tick(self, version: str) -> dict[str, Any]:
        """Let the scheduler of a version tick once."""
        report = self.fronts[version].invoke("scheduler", scheduled_event(datetime.now(UTC)))
        assert isinstance(report, dict)
        return report

    def deliver(self, version: str) -> int:
        """Give what is visible to a worker of that version, message by message; count it."""
        delivered = 0
        for url, arn in self._arns.items():
            messages = self.sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
            ).get("Messages", [])
            for message in messages:
                delivered += 1
                answer = self.workers[version].invoke("worker", sqs_event([message], arn))
                if answer is None:
                    # It died: the message reappears by itself.
                    continue
                for done in done_messages([message], answer):
                    self.sqs.delete_message(QueueUrl=url, ReceiptHandle=done["ReceiptHandle"])
        return delivered

    def dead_letters(self) -> list[dict[str, Any]]:
        """Receive and delete the dead letters that wait."""
        url = self.settings.dead_letter_queue
        letters = []
        messages = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        for message in messages.get("Messages", []):
            letters.append(json.loads(message["Body"]))
            self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return letters


def _client(service: str, endpoint: str) -> Any:
    return boto3.client(service, endpoint_url=endpoint, config=client_config())  # type: ignore[call-overload]


@contextmanager
def side_by_side(
    folder: Path, handlers: str, environment: Mapping[str, str]
) -> Iterator[SideBySide]:
    """Run both versions; ``handlers`` is the text of the module of the handlers."""
    (folder / "upgrade_jobs.py").write_text(handlers)
    versions = (previous_version(folder / "previous"), present_version())
    with ExitStack() as stack:
        moto = MotoServer(lambda: None)
        moto.start()
        stack.callback(moto.stop)
        cloud = cloud_environment(os.environ, moto.endpoint, keeps_credentials=False)
        dynamodb, sqs, s3 = (_client(name, moto.endpoint) for name in ("dynamodb", "sqs", "s3"))
        made = provision(dynamodb, sqs, s3)
        settings = replace(
            made,
            timings=TIMINGS,
            handlers="upgrade_jobs",
            manifest=str(folder / "handlers.json"),
        )
        shared = function_environment({**cloud, **environment}, settings, path=str(folder))
        # The manifest of the previous version: the new one must read it.
        read_handlers("upgrade_jobs", folder / "handlers.json", shared)
        processes = {
            (version.name, functions): FunctionProcess(
                version, functions, shared, folder / f"{version.name}-{functions[0]}.log"
            )
            for version in versions
            for functions in (FRONT, WORKER)
        }
        for process in processes.values():
            stack.callback(process.stop)
        yield SideBySide(
            {version.name: processes[version.name, FRONT] for version in versions},
            {version.name: processes[version.name, WORKER] for version in versions},
            settings,
            sqs,
        )
