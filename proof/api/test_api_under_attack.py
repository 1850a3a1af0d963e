"""The API under attack, over real sockets; and that an API with faults does not get away with it.

With 10,000 calls and more, on the whole local cloud: ``python -m proof.api``.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hourhand.api.app import App, create_app
from hourhand.api.routes import DOCUMENTED
from hourhand.local.backend import MEMORY
from hourhand.local.http_server import EntryPoint, serve
from hourhand.loopback import RunningServer
from proof.api.assault import IDS, KINDS, Assault, prepare
from proof.api.conformance import check_conformance
from proof.api.hostile_texts import ALL_WORDS
from proof.api.served import Answered, served
from proof.api.texts_that_run import HANDLERS as RUN_BY
from proof.api.texts_that_run import TRAPS
from proof.api.wire import Target
from tests.world.world import World

SEED = 1
PREPARATIONS = len(IDS) + 4
HANDLERS = ("echo", "report", "complain", "give-up", "put-off")


@pytest.fixture
def app() -> App:
    return create_app(World(handlers=HANDLERS).api)


@pytest.fixture
def servers() -> Iterator[list[RunningServer]]:
    running: list[RunningServer] = []
    yield running
    for server in running:
        server.close()


def start(servers: list[RunningServer], entry_point: EntryPoint) -> str:
    servers.append(serve(entry_point, port=0))
    return servers[-1].url


QUICK_KINDS = tuple(kind for kind in KINDS if "sizes" not in kind)
"""All but the largest bodies: they take a minute of CPU. Small ones have a test of their own."""


def assail(
    url: str, words: frozenset[str] = ALL_WORDS, kinds: Sequence[str] = QUICK_KINDS
) -> Assault:
    assault = Assault(Target.of(url), SEED, words, lambda _: None, kinds)
    assault.run()
    return assault


def test_every_hostile_request_is_refused_or_works_as_data(
    servers: list[RunningServer], app: App
) -> None:
    assault = assail(start(servers, app))
    assert not assault.violations, "\n".join(assault.violations[:20])
    assert assault.counts.total() > 4000
    assert {"200", "201", "400", "403", "404", "405", "411", "413", "415", "422", "431"} <= set(
        assault.statuses
    )


def test_answers_are_as_documented(servers: list[RunningServer], app: App, tmp_path: Path) -> None:
    url = start(servers, app)
    prepare(Target.of(url))
    run = check_conformance(
        url,
        tmp_path,
        seed=SEED,
        examples_per_operation=8,
        phases="fuzzing,stateful",
    )
    assert not run.failures, "\n".join(run.failures)
    assert run.examples > 200
    assert run.operations == len(DOCUMENTED)


# --- what has a fault is found out ---


def changed(app: EntryPoint, change: Any) -> EntryPoint:
    """Return the app with answers changed by ``change(event, answer)``."""

    def answer(event: Mapping[str, Any], context: object) -> Mapping[str, Any]:
        given = app(event, context)
        return {**given, **change(event, given)}

    return answer


def fail_at_tenants(event: Mapping[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    if '"tenant"' in (event.get("body") or ""):
        return {"statusCode": 500}
    return {}


def tell_more(event: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    if event["rawPath"] == "/v1/stats" and answer["statusCode"] == 200:
        return {"body": json.dumps({**json.loads(answer["body"]), "secret": 1})}
    return {}


def mistype(event: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    if event["rawPath"] == "/v1/handlers":
        return {"headers": {**answer["headers"], "content-type": "text/html"}}
    return {}


def take_all(event: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    if event["rawPath"] == "/v1/calendars" and answer["statusCode"] == 422:
        return {"statusCode": 200, "body": '{"calendars":[],"next_cursor":null}'}
    return {}


FAULTS = {
    fail_at_tenants: "Server error",
    tell_more: "Response violates schema",
    mistype: "Undocumented Content-Type",
    take_all: "Schema-violating request accepted",
}


def test_an_api_that_breaks_its_word_is_found_out(
    servers: list[RunningServer], app: App, tmp_path: Path
) -> None:
    faulty: EntryPoint = app
    for change in FAULTS:
        faulty = changed(faulty, change)
    paths = ("/v1/jobs", "/v1/stats", "/v1/handlers", "/v1/calendars")
    run = check_conformance(
        start(servers, faulty),
        tmp_path,
        seed=SEED,
        examples_per_operation=12,
        phases="fuzzing",
        more=[word for path in paths for word in ("--include-path", path)],
    )
    told = "\n".join(run.failures)
    assert not [fault for fault in FAULTS.values() if fault not in told], told


def spend(event: Mapping[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    """Take much longer for a body in which a name is given twice at its end."""
    if (event.get("body") or "").endswith('"twice":0,"twice":0}'):
        ends = time.thread_time() + 5
        while time.thread_time() < ends:
            pass
    return {}


def test_an_api_that_spends_too_much_on_a_body_is_found_out(
    servers: list[RunningServer], app: App
) -> None:
    assault = Assault(
        Target.of(start(servers, changed(app, spend))),
        SEED,
        frozenset(),
        lambda _: None,
        kinds=("small sizes",),
        most_cpu_seconds=4.5,
    )
    assault.run()
    assert assault.violations
    assert all("the last given twice" in each for each in assault.violations), assault.violations


def fail_at_nul(event: Mapping[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    return {"statusCode": 500} if "\\u0000" in (event.get("body") or "") else {}


def refuse_what_was_done(event: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    is_job = answer["statusCode"] == 201 and '"payload"' in event["body"]
    return {"statusCode": 422} if is_job else {}


def follow_addresses(event: Mapping[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    address = re.search(r"http://127\.0\.0\.1:(\d+)/", event.get("body") or "")
    if address is not None:
        socket.create_connection(("127.0.0.1", int(address[1]))).close()
    return {}


def repeat_what_was_sent(event: Mapping[str, Any], _: Mapping[str, Any]) -> dict[str, Any]:
    return {"headers": {"x-injected": "yes"}} if "X-Injected" in (event.get("body") or "") else {}


def trim(event: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"body": answer["body"].replace("\\u0000", "")}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (fail_at_nul, "answered 500"),
        (refuse_what_was_done, "jobs of refused requests"),
        (follow_addresses, "an address in a text was called"),
        (repeat_what_was_sent, "a header was injected"),
        (trim, "came back as"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_api_that_falls_for_an_attack_is_found_out(
    servers: list[RunningServer], app: App, change: Any, found: str
) -> None:
    words = frozenset({"an URL", "NUL", "line breaks"})
    assault = assail(start(servers, changed_for_others(app, change)), words, kinds=())
    assert any(found in violation for violation in assault.violations), assault.violations


def changed_for_others(app: App, change: Any) -> EntryPoint:
    """Change no answer before there is what the attacks aim at."""
    faulty, made = changed(app, change), itertools.count(1)

    def answer(event: Mapping[str, Any], context: object) -> Mapping[str, Any]:
        return app(event, context) if next(made) <= PREPARATIONS else faulty(event, context)

    return answer


HANDLER = """
import re, socket
from hourhand import JobContext, job

def handle(ctx: JobContext, payload):
    {body}

for name in {names}:
    job(name)(handle)
"""
FOLLOWS = """address = re.search(r"http://127\\.0\\.0\\.1:(\\d+)/", str(payload))
    if address is not None:
        socket.create_connection(("127.0.0.1", int(address[1]))).close()"""
"""Call the address in a payload, as no worker may."""


@pytest.mark.parametrize(
    ("module", "body", "violations"),
    [
        ("takes_payloads_for_data", "pass", []),
        ("follows_addresses", FOLLOWS, ["an address in a text was called"]),
    ],
    ids=["data", "address"],
)
def test_a_worker_that_calls_an_address_in_a_payload_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    module: str,
    body: str,
    violations: list[str],
) -> None:
    names = (*RUN_BY, "put-off")
    (tmp_path / f"{module}.py").write_text(HANDLER.format(body=body, names=names))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with served(MEMORY, Answered(), module) as url:
        assault = Assault(
            Target.of(url), SEED, frozenset(), lambda _: None, kinds=(), running=TRAPS
        )
        assault.run()
    assert assault.counts["texts in jobs that run"] > 50
    assert assault.violations == violations
