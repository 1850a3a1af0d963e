"""``handler.submit(...)``: by whom, with what, and at what price for those who never do."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import runpy
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, assert_type

import httpx
import pytest
from pydantic import BaseModel

import hourhand.client
from hourhand import AsyncClient, Client, JobContext, RunContext, job
from hourhand.client import _default, default_client, stand_in, use
from hourhand.handlers import Registry, SubmittedJob, current_submitters
from hourhand.memory import MemoryClock
from tests.unit.client.callers import job_answer

REGISTRY = Registry()


class Welcome(BaseModel):
    email: str


@job("send-welcome", registry=REGISTRY)
def send_welcome(ctx: JobContext, payload: Welcome) -> dict[str, str]:
    """Send a welcome."""
    return {"sent_to": payload.email}


@job("tick", registry=REGISTRY)
async def tick(ctx: JobContext) -> int:
    return 1


class Recorder:
    """A transport of either kind that answers each request with a job."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.transport = httpx.MockTransport(self._answer)

    def client(self) -> Client:
        return Client(transport=self.transport)

    def async_client(self) -> AsyncClient:
        return AsyncClient(transport=self.transport)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        return job_answer(201)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture(autouse=True)
def _nobody_else_submits() -> Iterator[None]:
    before = current_submitters.get()
    made = list(_default._default)
    _default._default.clear()
    yield
    current_submitters.replace(before)
    _default._default[:] = made


def test_a_handler_stays_an_ordinary_function() -> None:
    assert send_welcome.__name__ == "send_welcome"
    assert send_welcome.__doc__ == "Send a welcome."
    written: Any = send_welcome
    assert inspect.isfunction(written)
    assert REGISTRY.get("send-welcome").function is send_welcome
    assert inspect.iscoroutinefunction(tick)


def test_a_handler_is_submitted_by_the_client_in_use(recorder: Recorder) -> None:
    with use(recorder.client()):
        submitted = send_welcome.submit(Welcome(email="ada@example.org"), delay=60, priority="low")

    assert submitted.id == "j1"
    [body] = recorder.bodies
    assert body.pop("id")
    assert body == {
        "handler": "send-welcome",
        "payload": {"email": "ada@example.org"},
        "delay_seconds": 60,
        "priority": "low",
    }


def test_a_handler_without_a_payload_is_submitted_without_one(recorder: Recorder) -> None:
    with use(recorder.client()):
        tick.submit()

    assert "payload" not in recorder.bodies[0]


def test_who_was_in_use_before_is_in_use_again(recorder: Recorder) -> None:
    other = Recorder()
    use(recorder.client())
    with use(other.client()):
        tick.submit()
    tick.submit()

    assert (len(recorder.bodies), len(other.bodies)) == (1, 1)


def test_other_threads_use_it_too(recorder: Recorder) -> None:
    with use(recorder.client()):
        thread = Thread(target=tick.submit)
        thread.start()
        thread.join()

    assert len(recorder.bodies) == 1


def test_an_event_loop_submits_by_the_async_client_in_use(recorder: Recorder) -> None:
    other = Recorder()

    async def main() -> None:
        async with recorder.async_client() as client:
            with use(other.client()), use(client):
                await send_welcome.submit_async(Welcome(email="a"), tenant="t")
                tick.submit()

    asyncio.run(main())
    assert recorder.bodies[0]["tenant"] == "t"
    assert (len(recorder.bodies), len(other.bodies)) == (1, 1)


def test_an_event_loop_without_one_submits_in_a_thread(recorder: Recorder) -> None:
    with use(recorder.client()):
        for _ in range(2):
            asyncio.run(tick.submit_async(tags={"a": "b"}))

    assert [body["tags"] for body in recorder.bodies] == [{"a": "b"}] * 2


def test_the_default_client_is_made_at_the_first_use_and_once(recorder: Recorder) -> None:
    clock = MemoryClock()
    with stand_in(transport=recorder.transport, async_transport=recorder.transport, clock=clock):
        tick.submit()
        tick.submit()
        assert default_client() is default_client()
        default_client().close()

    assert len(recorder.bodies) == 2


def test_a_stand_in_is_asked_only_by_who_names_no_other(recorder: Recorder) -> None:
    other = Recorder()
    with stand_in(transport=recorder.transport, async_transport=recorder.transport):
        Client().submit("greet")
        asyncio.run(AsyncClient().submit("greet"))
        other.client().submit("greet")
        assert Client("http://127.0.0.1:9").endpoint == "http://127.0.0.1:9"

    assert (len(recorder.bodies), len(other.bodies)) == (2, 1)


def test_what_has_a_submit_of_its_own_keeps_it() -> None:
    class Own:
        def submit(self) -> str:
            return "own"

        def __call__(self, ctx: JobContext, payload: Any) -> None:
            return None

    own = Own()
    job("own", registry=Registry())(own)

    assert own.submit() == "own"
    assert callable(own.submit_async)  # type: ignore[attr-defined] # it is added


def test_what_takes_no_attributes_is_registered_all_the_same() -> None:
    class Mailer:
        def send(self, ctx: JobContext, payload: Any) -> None:
            return None

    registry = Registry()
    job("mail", registry=registry)(Mailer().send)

    assert "mail" in registry


def test_who_is_registered_twice_is_submitted_as_the_last(recorder: Recorder) -> None:
    def greet(ctx: JobContext, payload: Any) -> None:
        return None

    first = job("first", registry=Registry())(greet)
    second = job("second", registry=Registry())(first)
    partial = job("third", registry=Registry())(functools.partial(greet))

    with use(recorder.client()):
        second.submit(None)
        partial.submit(None)

    assert [body["handler"] for body in recorder.bodies] == ["second", "third"]


def loaded_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_who_never_submits_loads_no_client() -> None:
    loaded = loaded_after("from hourhand import job\n@job('a')\ndef a(ctx, payload): ...\na.submit")

    assert "hourhand.handlers" in loaded
    assert not {"hourhand.client", "httpx", "asyncio", "boto3", "pydantic"} & loaded


def test_who_does_not_sign_loads_nothing_of_aws() -> None:
    loaded = loaded_after("from hourhand import Client\nClient('http://127.0.0.1:9')")

    assert "httpx" in loaded
    assert not {"boto3", "botocore", "pydantic"} & loaded


def test_without_httpx_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)

    with pytest.raises(ModuleNotFoundError, match=r"extra \[client\]") as raised:
        runpy.run_path(str(hourhand.client.__file__))
    assert raised.value.name == "httpx"


def test_what_else_is_missing_is_told_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "httpx.py").write_text("import httpcore_of_another_day")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "httpx")

    with pytest.raises(ModuleNotFoundError, match="No module named 'httpcore_of_another_day'"):
        runpy.run_path(str(hourhand.client.__file__))


if TYPE_CHECKING:
    # Never run: mypy reads it.

    @dataclass
    class Invoice:
        cents: int

    @job("charge")
    def charge(ctx: JobContext, payload: Invoice) -> dict[str, int]: ...

    @job("look")
    def look(ctx: JobContext) -> str: ...

    @job("later")
    async def later(ctx: JobContext, payload: list[Invoice]) -> bool: ...

    @job("order", durable=True)
    def order(ctx: RunContext, payload: Invoice) -> dict[str, int]: ...

    @job("poll", durable=True)
    async def poll(ctx: RunContext) -> str: ...

    @job("untyped")
    def untyped(ctx, payload): ...  # type: ignore[no-untyped-def] # as many are written

    async def types(context: JobContext) -> None:
        assert_type(charge(context, Invoice(5)), dict[str, int])
        assert_type(charge(ctx=context, payload=Invoice(5)), dict[str, int])
        assert_type(charge.submit(Invoice(5), delay=60), SubmittedJob)
        assert_type(charge.submit({"cents": 5}), SubmittedJob)
        assert_type(await charge.submit_async(Invoice(5)), SubmittedJob)
        assert_type(look(context), str)
        assert_type(look.submit(delay=5), SubmittedJob)
        assert_type(await later(context, []), bool)
        later.submit([Invoice(5)])
        assert_type(order.submit(Invoice(5), delay=60), SubmittedJob)
        assert_type(poll.submit(), SubmittedJob)
        untyped.submit(5)
        order.submit("five")  # type: ignore[arg-type] # a mistake is seen
        charge.submit("five")  # type: ignore[arg-type] # a mistake is seen
        charge.submit(Invoice(5), dely=5)  # type: ignore[call-arg] # so is this one
