"""What `hourhand[client]` brings along, and that a web app needs no more."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NOT_INSTALLED = ("aws_lambda_powertools", "boto3", "botocore", "orjson", "typer", "rich", "moto")

WEB_APP = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {NOT_INSTALLED}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())

from hourhand import AsyncClient, Client, JobContext, Retry, job
from hourhand.client import NotConfigured
from hourhand.testing import FakeHourhand

@job("greet", retry=Retry(max_attempts=2))
def greet(ctx: JobContext, payload: dict) -> str:
    return f"Hello {{payload['name']}}"

with Client("http://127.0.0.1:9"):
    pass
with FakeHourhand() as jobs:
    submitted = greet.submit({{"name": "Ada"}})
    jobs.run_due()
    print(jobs.get(submitted.id).result)
try:
    Client("https://abc.execute-api.eu-central-1.amazonaws.com/v1")
except NotConfigured as error:
    print(error)
"""


def test_a_web_app_runs_without_what_only_functions_and_commands_need() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WEB_APP], check=False, capture_output=True, text=True
    )
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "Hello Ada",
        "Signing requests with credentials of AWS needs boto3: pip install boto3. A client with a"
        " token does not need it.",
    ]


def test_the_extra_for_clients_brings_neither_boto3_nor_powertools_nor_orjson() -> None:
    found: set[str] = set()
    waiting = [("hourhand", "client")]
    while waiting:
        name, extra = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for one in map(Requirement, metadata.requires(name) or []):
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                waiting.append((canonicalize_name(one.name), ""))
    assert {"hourhand", "httpx", "pydantic", "tzdata"} <= found
    assert found.isdisjoint({"aws-lambda-powertools", "boto3", "botocore", "orjson"})
