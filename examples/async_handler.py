r"""An async handler: check many links at the same time, within one job.

In the checkout, the first command in a terminal of its own:

    $ .venv/bin/hourhand dev --handlers examples.async_handler
    $ .venv/bin/hourhand jobs submit check-links \
        '["http://127.0.0.1:8787/console/", "http://127.0.0.1:8787/nowhere"]' --watch

An `async def` handler runs in an event loop of its own. For a deployment, name httpx in the
`requirements.txt` beside the handlers.
"""

from __future__ import annotations

import asyncio

import httpx

from hourhand import JobContext, RetryLater, job

MAX_CONNECTIONS = 10
TIMEOUT_SECONDS = 5.0


@job("check-links", timeout=300)
async def check_links(ctx: JobContext, payload: list[str]) -> dict[str, int | str]:
    found: dict[str, int | str] = {}
    room = asyncio.Semaphore(MAX_CONNECTIONS)

    async def check(http: httpx.AsyncClient, url: str) -> None:
        async with room:
            if ctx.cancelled:
                return
            try:
                found[url] = (await http.get(url)).status_code
            except httpx.HTTPError as error:
                found[url] = type(error).__name__
            ctx.progress(len(found), total=len(payload))

    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=True) as http:
        await asyncio.gather(*[check(http, url) for url in payload])
    if ctx.cancelled:
        raise InterruptedError(f"stopped after {len(found)} of {len(payload)} links")
    if payload and all(isinstance(status, str) for status in found.values()):
        raise RetryLater(600, "No link answered, so this machine may be offline.")
    return found
