"""Packed functions, each in a fresh process on another boto3 than that of this environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.emulator import emulator
from bench.function_rig import (
    HANDLER,
    HANDLERS_CODE,
    HANDLERS_MODULE,
    Installation,
    api_event,
    credentials,
    scheduled_event,
)
from hourhand.aws.clients import dynamodb_client, s3_client, sqs_client
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.lambda_init import INITIALIZATION_TYPE
from hourhand.aws.provision import provision
from hourhand.domain.jobs.job import JobStatus
from hourhand.settings import DispatchMode
from hourhand_cdk.packing import HandlerSource, Packed, Target, pack

ROOT = Path(__file__).parents[2]
PROBE = Path(__file__).with_name("probe.py")
ENVIRONMENTS = ("minimum", "newest", "old")
"""Their folders are .venv-boto3-minimum and so on; constraints-boto3-*.txt says what is in each."""

PROCESS_SECONDS = 60.0
LATER_SECONDS = 600
"""Beyond the look-ahead of the API, so that a tick finds the job; within that of the scheduler."""

LOOK_AHEAD_SECONDS = {"api": "300", "scheduler": "840", "worker": "300"}


@dataclass(frozen=True, slots=True)
class Answered:
    """What a function answered, on which botocore, and which parts of ours it had to replace."""

    answer: Any
    botocore: str
    fallbacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a job that ran, and of a tick that dispatched another."""

    botocore: str
    submitted: int
    dispatched: int
    status: JobStatus
    fallbacks: dict[str, tuple[str, ...]]

    @property
    def is_well(self) -> bool:
        """Whether all functions did what they are there for."""
        return (self.submitted, self.dispatched, self.status) == (201, 1, JobStatus.SUCCEEDED)


def libraries_of(environment: str) -> Path:
    """Return the folder of libraries of ``.venv-boto3-ENVIRONMENT``, which may be missing."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return ROOT / f".venv-boto3-{environment}" / "lib" / version / "site-packages"


@contextmanager
def packed_functions() -> Iterator[Packed]:
    """Pack the functions with one handler for this machine; they carry no boto3."""
    with tempfile.TemporaryDirectory(prefix="proof-boto3-") as name:
        folder = Path(name)
        handlers = folder / f"{HANDLERS_MODULE}.py"
        handlers.write_text(HANDLERS_CODE)
        source = HandlerSource(path=handlers, module=HANDLERS_MODULE)
        yield pack(source, Target.this_machine(), folder / "assets", measures=False)


@contextmanager
def cloud(packed: Packed) -> Iterator[Installation]:
    """Make an installation for ``packed`` on an emulator of its own."""
    with emulator() as endpoint, patch.dict(os.environ, credentials(endpoint)):
        settings = provision(dynamodb_client(), sqs_client(), s3_client(), prefix="proof")
        settings = replace(
            settings,
            # The first tick of an installation reads the buckets of a whole day, else.
            timings=replace(settings.timings, first_look_back=timedelta(minutes=2)),
            handlers=packed.module,
            manifest=str(packed.api / "manifest.json"),
            dispatch=DispatchMode.BATCH,
        )
        yield Installation(endpoint, settings, packed.worker)


def run_all(packed: Packed, libraries: Path) -> Ran:
    """Submit, tick and work, each function in a process of its own on ``libraries``."""
    with cloud(packed) as installed:

        def call(function: str, event: Any) -> Answered:
            return _call(installed, packed.api.parent / function, libraries, event)

        request = {"handler": HANDLER, "payload": {"n": 1}}
        now = call("api", api_event("/v1/jobs", request))
        later = {**request, "delay_seconds": LATER_SECONDS}
        call("api", api_event("/v1/jobs", later))
        tick = call("scheduler", scheduled_event())
        work = call("worker", installed.receive())
        jobs = DynamoJobStore(dynamodb_client(), installed.settings.jobs_table)
        job = jobs.get(json.loads(now.answer["body"])["id"])
        assert job is not None, "the API answered with its id"
        return Ran(
            botocore=work.botocore,
            submitted=now.answer["statusCode"],
            dispatched=tick.answer["dispatched"],
            status=job.status,
            fallbacks={"api": now.fallbacks, "scheduler": tick.fallbacks, "worker": work.fallbacks},
        )


def _call(installed: Installation, tree: Path, libraries: Path, event: Any) -> Answered:
    environment = {
        **installed.environment(),
        "HOURHAND_LOOK_AHEAD_SECONDS": LOOK_AHEAD_SECONDS[tree.name],
        "HOME": tempfile.gettempdir(),
        "PATH": os.defpath,
        INITIALIZATION_TYPE: "on-demand",
    }
    # -I and -S: nothing of this environment; -B: the packed folder stays as it is.
    command = [sys.executable, "-I", "-S", "-B", str(PROBE), str(tree), str(libraries)]
    done = subprocess.run(
        command,
        env=environment,
        input=json.dumps(event),
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"The {tree.name} function did not start:\n{done.stderr[-2000:]}")
    *lines, last = filter(None, done.stdout.splitlines())
    logged = [json.loads(line) for line in lines if line.startswith("{")]
    found = json.loads(last)
    return Answered(
        answer=found["answer"],
        botocore=found["botocore"],
        fallbacks=tuple(line["fallback"] for line in logged if "fallback" in line),
    )
