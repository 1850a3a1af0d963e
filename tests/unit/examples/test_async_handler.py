"""Links are checked at the same time, and what cannot be reached is reported or tried later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest

from examples.async_handler import MAX_CONNECTIONS, check_links
from hourhand import RetryLater
from hourhand.handlers import StopReason
from hourhand.testing import FakeHourhand, make_context


class Web:
    """Answers the requests of the handler, and counts how many are under way."""

    def __init__(self) -> None:
        self.under_way = 0
        self.most_under_way = 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        if request.url.host == "down.test":
            raise httpx.ConnectError("refused")
        return httpx.Response(404 if request.url.path == "/gone" else 200)


@pytest.fixture(autouse=True)
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    web = Web()
    make: Callable[..., httpx.AsyncClient] = httpx.AsyncClient
    monkeypatch.setattr(
        httpx,
        "AsyncClient",
        lambda **given: make(**{"transport": httpx.MockTransport(web), **given}),
    )
    return web


def test_each_link_has_its_status(hourhand_jobs: FakeHourhand) -> None:
    job = check_links.submit(["http://up.test/", "http://up.test/gone", "http://down.test/"])
    hourhand_jobs.run_due()

    assert hourhand_jobs.get(job).result == {
        "http://up.test/": 200,
        "http://up.test/gone": 404,
        "http://down.test/": "ConnectError",
    }


def test_many_links_are_checked_at_once_and_no_more_than_allowed(web: Web) -> None:
    links = [f"http://up.test/{number}" for number in range(3 * MAX_CONNECTIONS)]
    context = make_context()

    assert len(asyncio.run(check_links(context, links))) == len(links)
    assert web.most_under_way == MAX_CONNECTIONS
    assert context.last_progress is not None
    assert context.last_progress.done == len(links)


def test_without_any_answer_the_job_is_tried_later() -> None:
    with pytest.raises(RetryLater):
        asyncio.run(check_links(make_context(), ["http://down.test/"]))


def test_a_cancelled_check_stops() -> None:
    context = make_context()
    context.cancelled.tell(StopReason.CANCELLED)

    with pytest.raises(InterruptedError, match="0 of 1"):
        asyncio.run(check_links(context, ["http://up.test/"]))
