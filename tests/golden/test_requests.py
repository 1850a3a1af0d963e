"""What each story of the catalogues asks of AWS, in this order, is what it was.

A change that is to cost nothing shows here where it does. Where a change is meant to ask otherwise,
`HOURHAND_WRITE_GOLDEN=1` writes the file anew, and its difference is reviewed.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hourhand.aws.side_item_store import side_item_from, stored_side_item
from hourhand.domain.side_items import SideItemKind, SideKey
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
ITEMS = Path(__file__).parent / "items"
"""One stored item of each form: a JSON line each."""

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
    items: dict[str, str] = {}
    for work in CATALOGUES[name]:
        lines += [work.name, *(f"  {line}" for line in stage.requests(work, monkeypatch)), ""]
        for item in sorted(stage.items(), key=json.dumps):
            if "tb" in item:
                item["tb"] = {"S": "a traceback, which names files of this checkout"}
            items.setdefault(form_of(item), json.dumps(item, sort_keys=True, default=packed))
    stored = [items[form] for form in sorted(items)]
    for golden, found in ((FOLDER / f"{name}.txt", lines), (ITEMS / f"{name}.txt", stored)):
        if os.environ.get("HOURHAND_WRITE_GOLDEN"):
            golden.write_text("\n".join(found))
        assert "\n".join(found) == golden.read_text()


def form_of(item: Mapping[str, Any]) -> str:
    """Return what items of one form share: the kind by its sort key, and the attributes."""
    sort = re.sub(r"[0-9]+|(?<=#[a-z]).*|(?<=#)[^#]{2,}.*", "", item["s"]["S"])
    return f"{sort} {' '.join(sorted(item))}"


def packed(value: bytes) -> str:
    """Return bytes as JSON has them."""
    return base64.b64encode(value).decode()


def stored_side_items() -> Iterator[dict[str, Any]]:
    for golden in sorted(ITEMS.glob("*.txt")):
        for line in golden.read_text().splitlines():
            item = json.loads(line)
            with suppress(ValueError):
                SideKey(item["p"]["S"], item["s"]["S"])
                yield item


def test_a_side_item_of_each_form_is_read_and_written_back_as_it_was() -> None:
    kinds = set()
    for item in stored_side_items():
        found = side_item_from(item)
        kinds.add(found.key.kind)
        assert stored_side_item(found) == {k: v for k, v in item.items() if k != "x"}
    assert kinds == set(SideItemKind)
