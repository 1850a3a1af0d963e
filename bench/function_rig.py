"""An installation on the emulator, and the events and environment that its functions are given.

The functions are the real ones, with the flags of a deployment; the emulator stands for AWS.
"""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench.emulator import ROOT, emulator
from hourhand.aws.clients import dynamodb_client, s3_client, sqs_client
from hourhand.aws.handler_manifest import write_manifest
from hourhand.aws.lambda_init import INITIALIZATION_TYPE
from hourhand.aws.provision import provision
from hourhand.domain.jobs.job import Priority
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.settings import DispatchMode, Settings, settings_environment

HANDLER = "greet"
HANDLERS_MODULE = "bench_handlers"
HANDLERS_CODE = f"""
from hourhand import job

@job("{HANDLER}")
def greet(ctx, payload):
    return {{"greeted": payload}}
"""
REGION = "us-east-1"
ACCOUNT = "000000000000"
WAIT_SECONDS = 30.0


def function_folder(name: str) -> Path:
    """Return the folder of a function's ``main.py``."""
    return ROOT / "functions" / name


def credentials(endpoint: str) -> dict[str, str]:
    """Return the environment by which a client finds the emulator."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@dataclass(frozen=True, slots=True)
class Installation:
    """Tables, queues and a bucket on an emulator, with one handler."""

    endpoint: str
    settings: Settings
    handlers_folder: Path

    def environment(self) -> dict[str, str]:
        """Return what a deployed function finds in its environment, but for its name."""
        return credentials(self.endpoint) | settings_environment(self.settings)

    def fresh_environment(self, function: str) -> dict[str, str]:
        """Return the whole environment of a fresh interpreter that imports a function."""
        path = [function_folder(function), self.handlers_folder]
        return {
            "PATH": os.defpath,
            "HOME": tempfile.gettempdir(),
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            INITIALIZATION_TYPE: "on-demand",
        } | self.environment()

    def receive(self) -> dict[str, Any]:
        """Receive one message; return it as the event that Lambda makes of it."""
        sqs = sqs_client()
        url = self.settings.queues[Priority.MEDIUM]
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            answer = sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=1,
                WaitTimeSeconds=1,
                MessageSystemAttributeNames=["All"],
            )
            for message in answer.get("Messages", []):
                return {"Records": [_record(message, url.rpartition("/")[2])]}
        raise TimeoutError(f"no message came within {WAIT_SECONDS:.0f} s")


def _record(message: Mapping[str, Any], queue: str) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}",
        "awsRegion": REGION,
    }


@contextmanager
def installation() -> Iterator[Installation]:
    """Yield a fresh installation, in a fresh emulator; this process's clients go there, too."""
    with emulator() as endpoint, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update(credentials(endpoint))
        settings = provision(dynamodb_client(), sqs_client(), s3_client(), prefix="bench")
        manifest = folder / "manifest.json"
        write_manifest(manifest, [HandlerInfo(name=HANDLER)])
        (folder / f"{HANDLERS_MODULE}.py").write_text(HANDLERS_CODE)
        # A new installation sweeps the last day first, which no later start of a function does.
        timings = replace(settings.timings, first_look_back=timedelta(minutes=2))
        yield Installation(
            endpoint,
            replace(
                settings,
                handlers=HANDLERS_MODULE,
                manifest=str(manifest),
                timings=timings,
                dispatch=DispatchMode.BATCH,
            ),
            folder,
        )


def api_event(path: str, body: Any) -> dict[str, Any]:
    """Return a POST as an HTTP API hands it over, of a caller known by IAM."""
    role = f"arn:aws:sts::{ACCOUNT}:assumed-role/Submitter/bench"
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json"},
        "requestContext": {
            "authorizer": {"iam": {"userArn": role}},
            "http": {"method": "POST", "path": path},
            "stage": "$default",
        },
        "body": json.dumps(body),
        "isBase64Encoded": False,
    }


def scheduled_event() -> dict[str, Any]:
    """Return what EventBridge sends once a minute."""
    return {"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "detail": {}}


def import_function(name: str, environment: Mapping[str, str]) -> Any:
    """Import a function's ``main`` anew in this process, under ``environment``; return it."""
    os.environ.update(environment)
    path = function_folder(name) / "main.py"
    spec = importlib.util.spec_from_file_location(f"bench_function_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
