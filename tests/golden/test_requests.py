"""What each story of the catalogues asks of AWS, in this order, is what it was.

A change that is to cost nothing shows here where it does. Where a change is meant to ask otherwise,
`HOURHAND_WRITE_GOLDEN=1` writes the file anew, and its difference is reviewed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.contract.aws_services import moto_services
from tests.golden.shadow import Recorder, Stage
from tests.scenarios.children import FAMILIES
from tests.scenarios.graphs import BATCHES, GRAPHS
from tests.scenarios.jobs import ATTEMPTS, OPERATIONS, SUBMISSIONS, TICKS
from tests.scenarios.limits import LIMITS
from tests.scenarios.occurrences import ALONE
from tests.scenarios.runs import RUNS, SAGAS
from tests.scenarios.unique import DEBOUNCED, UNIQUE
from tests.scenarios.work import Work

FOLDER = Path(__file__).parent / "requests"
REQUESTS = "provide-client-params.*.*"
"""The event of botocore before a request is serialised."""

CATALOGUES: Mapping[str, Sequence[Work]] = {
    "submissions": SUBMISSIONS,
    "operations": OPERATIONS,
    "ticks": TICKS,
    "attempts": ATTEMPTS,
    "schedules": ALONE,
    "limits": LIMITS,
    "unique": UNIQUE,
    "debounced": DEBOUNCED,
    "runs": (*RUNS, *SAGAS),
    "children": FAMILIES,
    "batches": BATCHES,
    "graphs": GRAPHS,
}


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with moto_services() as aws:
        keys: dict[str, list[str]] = {}
        for name in aws.dynamodb.list_tables()["TableNames"]:
            schema = aws.dynamodb.describe_table(TableName=name)["Table"]["KeySchema"]
            keys[name] = [key["AttributeName"] for key in schema]
        recorder = Recorder(keys)
        for client in (aws.dynamodb, aws.s3):
            client.meta.events.register(REQUESTS, recorder.note)
        yield Stage(aws, recorder)
        for client in (aws.dynamodb, aws.s3):  # They are shared with the contract suite.
            client.meta.events.unregister(REQUESTS, recorder.note)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CATALOGUES)
def test_stories_ask_of_aws_what_they_asked(
    stage: Stage, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    for work in CATALOGUES[name]:
        lines += [work.name, *(f"  {line}" for line in stage.requests(work, monkeypatch)), ""]
    golden = FOLDER / f"{name}.txt"
    if os.environ.get("HOURHAND_WRITE_GOLDEN"):
        golden.write_text("\n".join(lines))
    assert "\n".join(lines) == golden.read_text()
