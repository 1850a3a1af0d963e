"""The local cloud with real processes that can be killed, paused and misled, each at its place."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from hourhand.local.aws_backend import AwsBackend
from hourhand.local.child_process import ChildCommand, ChildListener, ChildProcess, Spawn
from hourhand.local.cloud import CloudOptions, LocalCloud
from hourhand.local.worker_slot import WorkerSlot
from hourhand.ports.control_store import ControlStore
from hourhand.ports.job_store import JobStore
from hourhand.settings import DispatchMode
from proof.rig import HOOK, PLACE
from proof.rig.news import Recorder

ROOT = Path(__file__).resolve().parents[2]
ON_START = Path(__file__).parent / "on_start"
MOST_LETTERS = 5_000
LETTERS_A_CALL = 10


class RigCloud(LocalCloud):
    """A local cloud on a free port, whose processes each call ``hook`` as they start.

    ``path``: where handlers are found, before the root of the repository. ``dispatch``: BATCH where
    the backend judges each statement of a batch, as DynamoDB does.
    """

    def __init__(
        self,
        options: CloudOptions,
        news: Recorder,
        *,
        hook: str,
        path: Sequence[str] = (),
        dispatch: DispatchMode = DispatchMode.SINGLE,
    ) -> None:
        """Start nothing yet."""
        found = os.pathsep.join([str(ON_START), *path, str(ROOT)])
        environment = {**options.environment, HOOK: hook}
        super().__init__(replace(options, port=0, path=found, environment=environment), news.note)
        self.news = news
        self.children: dict[str, ChildProcess] = {}
        self.names: dict[int, str] = {}
        assert isinstance(self.backend, AwsBackend)
        self.aws = self.backend
        self.aws.dispatch = dispatch

    @property
    def worker_names(self) -> list[str]:
        """The places of the workers."""
        return [name for name in self.children if name.startswith("worker-")]

    @property
    def scheduler_names(self) -> list[str]:
        """The places of the schedulers."""
        return [name for name in self.children if name.startswith("scheduler-")]

    @cached_property
    def jobs(self) -> JobStore:
        """The jobs table, once the cloud runs."""
        from hourhand.aws.clients import dynamodb_client  # noqa: PLC0415 - by the cloud's settings
        from hourhand.aws.job_store import DynamoJobStore  # noqa: PLC0415

        return DynamoJobStore(dynamodb_client(), self.settings.jobs_table)

    @cached_property
    def control(self) -> ControlStore:
        """The control table, once the cloud runs."""
        from hourhand.aws.clients import dynamodb_client  # noqa: PLC0415 - by the cloud's settings
        from hourhand.aws.control_store import DynamoControlStore  # noqa: PLC0415

        return DynamoControlStore(dynamodb_client(), self.settings.control_table)

    def signal(self, name: str, number: signal.Signals) -> int:
        """Send a signal to the process that has that place now; return its id."""
        child = self.children[name]
        child.signal(number)
        return child.pid

    def purge(self) -> None:
        """Lose every message of the priority queues."""
        for url in self.settings.queues.values():
            self.aws.sqs.purge_queue(QueueUrl=url)

    def take_dead_letters(self) -> Counter[str]:
        """Return how many dead letters there are of each job; they are deleted."""
        found: Counter[str] = Counter()
        url = self.settings.dead_letter_queue
        for _ in range(MOST_LETTERS):
            answer = self.aws.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=LETTERS_A_CALL)
            messages = answer.get("Messages", [])
            if not messages:
                break
            found.update(json.loads(message["Body"])["job"]["id"] for message in messages)
            self.aws.sqs.delete_message_batch(
                QueueUrl=url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                    for index, message in enumerate(messages)
                ],
            )
        return found

    def add_workers(self, count: int) -> None:
        """Start more worker processes, as the cloud started its own."""
        for number in range(len(self.workers) + 1, len(self.workers) + count + 1):
            command = ChildCommand(
                name=f"worker-{number}",
                module="hourhand.local.worker_process",
                # While the cloud runs, this process has the environment of its functions.
                environment=dict(os.environ),
            )
            slot = WorkerSlot(command.name, self._spawner(command), self.idle, self._tell)
            self.workers.append(slot)

    def _spawner(self, command: ChildCommand) -> Spawn:
        environment = {**command.environment, PLACE: command.name}
        plain = super()._spawner(replace(command, environment=environment))

        def spawn(listener: ChildListener) -> ChildProcess:
            child = plain(listener)
            self.children[command.name] = child
            self.names[child.pid] = command.name
            return child

        return spawn
