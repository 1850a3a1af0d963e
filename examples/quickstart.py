from pydantic import BaseModel

from hourhand import JobContext, Retry, job


class Welcome(BaseModel):
    email: str
    name: str


@job("send-welcome", timeout=60, retry=Retry(max_attempts=5))
def send_welcome(ctx: JobContext, payload: Welcome) -> dict[str, str]:
    ctx.logger.info("Sending a welcome.")
    return {"sent_to": payload.email}


# Above: what the README shows. Below: a job that can be stopped, and one that is tried again.


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
