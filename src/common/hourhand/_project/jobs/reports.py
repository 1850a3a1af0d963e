"""A report, sent in the background."""

from dataclasses import dataclass

from hourhand import JobContext, Retry, job


@dataclass
class Report:
    to: str
    days: int = 1


@job("send-report", timeout=60, retry=Retry(max_attempts=5))
def send_report(ctx: JobContext, payload: Report) -> dict[str, str | int]:
    # Put your own code here. If it raises, the job is retried.
    ctx.logger.info("Sending the report.", days=payload.days)
    return {"sent_to": payload.to, "days": payload.days}
