"""Handlers and an installation for the tests of graphs, batches and children from the outside."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand import Concurrency, Debounce, Graph, NotRetryable, Retry, RunContext, Unique, job
from hourhand.handlers import Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand
from tests.functions.api_client import ApiClient
from tests.functions.cli_rig import Shell

CALLS: list[Any] = []
FAILING: set[Any] = set()
"""The payloads, or their names, whose jobs fail."""


def note(_ctx: Any, payload: Any) -> Any:
    CALLS.append(payload)
    name = payload["name"] if isinstance(payload, dict) and "name" in payload else payload
    if name in FAILING:
        raise NotRetryable(f"{name} is broken")
    return payload


def typed(_ctx: Any, payload: dict[str, int]) -> Any:
    return payload


def split(ctx: RunContext, items: list[Any]) -> list[Any]:
    first = ctx.submit("note", "first", name="head")
    return [first.result(), *ctx.map("parts", items, "note", tolerate=len(items))]


def new_hourhand() -> FakeHourhand:
    CALLS.clear()
    FAILING.clear()
    registry = Registry()
    job("note", registry=registry, retry=Retry(max_attempts=1))(note)
    job("typed", registry=registry)(typed)
    job("alone", registry=registry, unique=Unique(key="payload"))(note)
    job("calm", registry=registry, debounce=Debounce(key="payload", wait=5))(note)
    job("narrow", registry=registry, limits=[Concurrency(1)])(note)
    job("split", registry=registry, durable=True)(split)
    etl = Graph("etl", registry=registry)
    etl.job("extract", "note", 1)
    etl.map("load", [1, 2], "note", after=["extract"])
    return FakeHourhand(start=START, handlers=registry)


def client_of(hourhand: FakeHourhand, **claims: Any) -> ApiClient:
    """Return a client of the API, of a principal of IAM or with a token of these claims."""
    client = ApiClient(hourhand._answer)
    if claims:
        client.template["requestContext"]["authorizer"] = {"jwt": {"claims": claims}}
    return client


def shell_of(hourhand: FakeHourhand, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a command line whose API is the installation."""
    return Shell.over(hourhand._answer, hourhand._time, monkeypatch)


def node(name: str, *after: str, **more: Any) -> dict[str, Any]:
    return {"handler": "note", "payload": {"name": name}, "after": list(after), **more}


DIAMOND = {
    "a": node("a"),
    "b": node("b", "a"),
    "c": node("c", "a"),
    "d": node("d", "b", "c", payload={"name": "d", "b": {"$result": "b"}}),
}
