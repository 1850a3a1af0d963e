"""A report, sent in the background."""

from dataclasses import dataclass

from hourhand import JobContext, Retry, job


@dataclass
class Report:
    to: str
    days: int = 1


@job("send-report", timeout=60, retry=Retry(max_attempts=5))
def send_report(ctx: JobContext, payload: Report) -> str:
    ctx.logger.info("Sending the report.", days=payload.days)
    deliver(payload)  # if it raises, the job is retried
    return f"Sent the report to {payload.to}."


def deliver(report: Report) -> None:
    """Put your own code here."""
