"""One round: an emulator, a deployment on it, and the acceptance scenarios running against that."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from hourhand.aws.layout.messages import message_body
from hourhand.domain.jobs.job import JobMessage
from hourhand.domain.ticks.timings import Timings
from tests.acceptance.http_api import HttpApi
from tests.acceptance.scenarios import SCENARIOS
from tests.acceptance.system import HANDLERS, MODULE, System
from tests.deployed.account import LEDGER, LEDGER_POLICY, Account
from tests.deployed.command_line import CommandLine, synthesise
from tests.deployed.emulator import Emulator

STACK = "hourhand-e2e"
PATIENCE = timedelta(seconds=240)
LOOK_EVERY = timedelta(seconds=1)
CALLS_AT_ONCE = 4
"""Each call at a time is a process of the API function: two cores have no use for more."""

UPDATED_LOOK_AHEAD_SECONDS = 240
EXTRA_THREADS = 3
DUPLICATES = 3
RESULT_SECONDS = 480.0
BROKEN: dict[str, Any] = {"handler": "break-until-version", "payload": 2}

logger = logging.getLogger("e2e")
T = TypeVar("T")


def assemble(folder: Path, version: int, **flags: str) -> Path:
    """Synthesise the app with the acceptance handlers of ``version``; return the assembly."""
    handlers = handlers_of_version(version, folder)
    context = {
        "installation": STACK,
        "pack_for": "this-machine",
        "handlers": str(handlers),
        "handlers_module": MODULE,
        "handlers_environment": json.dumps({"LEDGER_TABLE": LEDGER}),
        "handlers_policies": LEDGER_POLICY,
        **flags,
    }
    assembly = folder / f"assembly-{version}"
    timed(f"synthesised with handlers of version {version}", lambda: synthesise(assembly, context))
    return assembly


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    """A deployed Hourhand. ``started``: the scenarios that run on it, by name."""

    emulator: Emulator
    account: Account
    command_line: CommandLine
    assembly: Path
    outputs: dict[str, str]
    gate: threading.BoundedSemaphore
    threads: ThreadPoolExecutor
    started: dict[str, Future[Any]]

    @classmethod
    def make(cls, folder: Path, emulator: Emulator, assembly: Path) -> Deployment:
        """Bootstrap the account, and deploy to it."""
        account = Account(emulator=emulator)
        account.make_ledger()
        command_line = CommandLine(emulator=emulator, folder=folder)
        timed("bootstrapped", command_line.bootstrap)
        outputs = timed("deployed", lambda: command_line.deploy(STACK, assembly))
        # ministack's CloudFormation leaves it out, and its Lambda stops a 17th retry.
        account.client("lambda").put_function_recursion_config(
            FunctionName=outputs["WorkerFunction"], RecursiveLoop="Allow"
        )
        return cls(
            emulator=emulator,
            account=account,
            command_line=command_line,
            assembly=assembly,
            outputs=outputs,
            gate=threading.BoundedSemaphore(CALLS_AT_ONCE),
            threads=ThreadPoolExecutor(len(SCENARIOS) + EXTRA_THREADS),
            started={},
        )

    @property
    def api(self) -> HttpApi:
        """The API, called by the account's root."""
        return self.account.api(self.outputs["ApiUrl"], gate=self.gate)

    @property
    def system(self) -> System:
        """The deployment as the acceptance scenarios want it."""
        return System(
            api=self.api,
            runs=self.account.runs,
            look_ahead=Timings().look_ahead,
            patience=PATIENCE,
            look_every=LOOK_EVERY,
            rate="rate(1 minute)",
        )

    def start(self, name: str, scenario: Callable[[System], Any]) -> None:
        """Run a scenario in the background."""
        self.started[name] = self.threads.submit(scenario, self.system)

    def start_all(self) -> None:
        """Start what every Hourhand does, and what takes long of what only a deployed one does."""
        for name, scenario in SCENARIOS.items():
            self.start(name, scenario)
        self.start("broken", lambda system: system.run(ends="DEAD", **BROKEN))
        self.start("lost message", self._lose_a_message)
        self.start("duplicates", self._send_duplicates)

    def _lose_a_message(self, system: System) -> dict[str, Any]:
        """Submit a job, take its message away before it is due, and wait for its end."""
        # Long enough for the purge to come first, however busy the emulator is.
        job = system.submit(handler="echo", priority="low", delay_seconds=30)
        self.account.client("sqs").purge_queue(QueueUrl=self.outputs["QueueLowUrl"])
        return system.reach(job["id"], "SUCCEEDED")

    def _send_duplicates(self, system: System) -> dict[str, Any]:
        """Submit a job, send its message again and again, and wait until all of them are done."""
        job = system.submit(handler="version", priority="high", payload=1.0)
        due_at = datetime.fromisoformat(job["due_at"])
        message = JobMessage(
            job_id=job["id"],
            handler=job["handler"],
            generation=1,
            attempt=0,
            token=0,
            due_at=due_at,
            run_at=due_at,
        )
        for _ in range(DUPLICATES):
            self.account.client("sqs").send_message(
                QueueUrl=self.outputs["QueueHighUrl"], MessageBody=message_body(message)
            )
        ended = system.reach(job["id"], "SUCCEEDED")
        system.wait(lambda: self.is_empty("QueueHighUrl") or None, "the duplicates are gone")
        return ended

    def is_empty(self, output: str) -> bool:
        """Whether the queue of that output holds no message, seen or hidden."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        asked = self.account.client("sqs").get_queue_attributes(
            QueueUrl=self.outputs[output], AttributeNames=names
        )
        return all(int(number) == 0 for number in asked["Attributes"].values())

    def result(self, name: str) -> Any:
        """Wait for a scenario; raise what it raised."""
        return self.started[name].result(RESULT_SECONDS)

    def update(self, assembly: Path) -> None:
        """Deploy another assembly in its place."""
        outputs = timed("updated", lambda: self.command_line.deploy(STACK, assembly))
        assert outputs == self.outputs

    def destroy(self) -> None:
        """Remove it as a user would."""
        timed("destroyed", lambda: self.command_line.destroy(STACK, self.assembly))

    def end(self) -> None:
        """Let go of the threads; what they wait for will not come any more."""
        self.threads.shutdown(wait=False, cancel_futures=True)


def handlers_of_version(version: int, folder: Path) -> Path:
    """Copy the acceptance handlers, with their version replaced."""
    to = folder / f"handlers-{version}"
    shutil.copytree(HANDLERS, to, ignore=shutil.ignore_patterns("__pycache__"))
    file = to / f"{MODULE}.py"
    text = file.read_text(encoding="utf-8")
    assert "\nVERSION = 1\n" in text
    file.write_text(text.replace("\nVERSION = 1\n", f"\nVERSION = {version}\n"), encoding="utf-8")
    return to


def timed(what: str, act: Callable[[], T]) -> T:
    """Do it, and say how long it took."""
    began = time.monotonic()
    result = act()
    logger.info("%s in %.0f s", what, time.monotonic() - began)
    return result
