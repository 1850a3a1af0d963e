"""The first jobs, which `make dev` serves.

In the checkout, the first command in a terminal of its own:

    $ make dev
    $ .venv/bin/hourhand jobs submit send-welcome '{"email": "a@b.org", "name": "Ada"}' --watch

One handler succeeds, one reports progress and can be cancelled, and one is async and retried.
"""

from pydantic import BaseModel

from hourhand import JobContext, Retry, job


class Welcome(BaseModel):
    email: str
    name: str


@job("send-welcome", timeout=60, retry=Retry(max_attempts=5))
def send_welcome(ctx: JobContext, payload: Welcome) -> dict[str, str]:
    ctx.logger.info("Sending a welcome.")
    return {"sent_to": payload.email}


@job("send-newsletter", priority="low")
def send_newsletter(ctx: JobContext, payload: list[Welcome]) -> dict[str, int]:
    for sent, reader in enumerate(payload):
        if ctx.cancelled:
            return {"sent": sent}
        ctx.progress(sent, total=len(payload), message=f"next is {reader.name}")
    return {"sent": len(payload)}


@job("check-report", retry=Retry(backoff="fixed", base_seconds=30))
async def check_report(ctx: JobContext, payload: dict[str, bool]) -> str:
    if not payload.get("is_written"):
        raise LookupError("The report is not written yet.")
    return "ready"
