"""The README's first handlers; ``hourhand dev --handlers examples.quickstart`` serves them."""

from typing import Any

from pydantic import BaseModel

from hourhand import JobContext, NotRetryable, Retry, RetryLater, job


class Welcome(BaseModel):
    email: str
    name: str = "there"


@job("send-welcome", timeout=60, retry=Retry(max_attempts=5))
def send_welcome(ctx: JobContext, payload: Welcome) -> dict[str, Any]:
    if "@" not in payload.email:
        raise NotRetryable("There is no @ in the address.")
    ctx.logger.info("Sending a welcome.", attempt_of=ctx.max_attempts)
    return {"text": f"Hello {payload.name}!", "idempotency_key": ctx.job_id}


@job("import-contacts", timeout=600, on_lost="retry")
def import_contacts(ctx: JobContext, payload: list[Welcome]) -> int:
    for done, contact in enumerate(payload):
        if ctx.cancelled:
            raise NotRetryable(f"Stopped before {contact.email}.")
        ctx.progress(done, total=len(payload))
    return len(payload)


@job("check-report", priority="low", retry=Retry(backoff="fixed", base_seconds=30))
async def check_report(ctx: JobContext, payload: dict[str, Any]) -> str:
    if not payload.get("ready"):
        raise RetryLater(10, "The report is not ready.")
    return "ready"
