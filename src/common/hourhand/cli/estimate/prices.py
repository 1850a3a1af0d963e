"""AWS's list prices, each with where it was read and when.

Prices of us-east-1, on demand, in dollars, without free tiers, volume discounts, tax and data
transfer. AWS's pages were read in public copies, not live: where such a copy names the day of the
price list or page, ``as_of`` is that day. `READ_ON` is when all of them were looked up here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

REGION = "us-east-1"
READ_ON = "2026-11-21"
MILLION = 1e6

LEFT_OUT = (
    "Free tiers are left out: each month EventBridge Scheduler has 14 million invocations free, "
    "SQS, Lambda and CloudWatch's API a million requests each, Step Functions 4,000 transitions.",
    "Not found: to which requests SQS's price for fair queues applies (here: every request for a "
    "message with a group, which is the most it can be), and whether a retried step of a durable "
    "function is an operation more (here: left out).",
)
"""What whoever reads a sum of these prices has to know."""


@dataclass(frozen=True, slots=True)
class Price:
    """``dollars`` for ``per`` units, by ``source`` as it was on ``as_of``."""

    dollars: float
    per: float
    unit: str
    source: str
    as_of: str


def _price_list(offer: str, day: str) -> tuple[str, str]:
    return f"AWS Price List, offer {offer} (public copy)", day


def _page(name: str, day: str) -> tuple[str, str]:
    return f"AWS, {name} (public copy of the page)", day


_DYNAMODB = _price_list("AmazonDynamoDB", "2026-08-15")
_SQS = _price_list("AWSQueueService", "2025-08-28")
_EVENTS = _price_list("AWSEvents", "2026-05-29")
_STATES = _price_list("AmazonStates", "2025-08-28")
_S3 = _price_list("AmazonS3", "2026-08-07")
_CLOUDWATCH = _price_list("AmazonCloudWatch", "2026-08-06")
_FARGATE = _price_list("AmazonECS", "2026-07-07")
_LAMBDA = _page("Lambda pricing", "2026-09-20")
_GATEWAY = _page("API Gateway pricing", "2026-09-20")
_DASHBOARD = _page("CloudWatch pricing", "2026-11")
_RATE = _page("EventBridge pricing", "2026-11")

PRICES: Mapping[str, Price] = {
    # Halved in November 2024; before, two write units cost $2.50 a million, and now $1.25.
    "write unit": Price(0.625, MILLION, "write request units, on demand", *_DYNAMODB),
    "read unit": Price(0.125, MILLION, "read request units, on demand", *_DYNAMODB),
    "table GB-month": Price(0.25, 1, "GB stored for a month", *_DYNAMODB),
    "recovery GB-month": Price(0.20, 1, "GB in point-in-time recovery for a month", *_DYNAMODB),
    "sqs request": Price(0.40, MILLION, "requests to standard queues, of 64 KB each", *_SQS),
    "fair queue request": Price(0.10, MILLION, "on top: requests with a message group", *_SQS),
    "lambda call": Price(0.20, MILLION, "calls of functions", *_LAMBDA),
    "lambda GB-s": Price(0.0000133334, 1, "GB-seconds on arm64", *_LAMBDA),
    "http api request": Price(1.00, MILLION, "requests to an HTTP API, of 512 KB", *_GATEWAY),
    "scheduler invocation": Price(1.00, MILLION, "EventBridge Scheduler's invocations", *_EVENTS),
    "rule event": Price(0.0, MILLION, "events of a rule's own rate or cron", *_RATE),
    "state transition": Price(0.025, 1_000, "transitions of Standard workflows", *_STATES),
    "express request": Price(1.00, MILLION, "starts of Express workflows", *_STATES),
    "express GB-s": Price(0.00001667, 1, "GB-seconds of Express workflows", *_STATES),
    "durable operation": Price(8.00, MILLION, "operations of durable functions", *_LAMBDA),
    "durable GB written": Price(0.25, 1, "GB written by durable functions", *_LAMBDA),
    "durable GB-month": Price(0.15, 1, "GB kept for a month by them", *_LAMBDA),
    "s3 put": Price(0.005, 1_000, "PUT, COPY, POST and LIST requests", *_S3),
    "s3 get": Price(0.0004, 1_000, "GET and all other requests", *_S3),
    "s3 GB-month": Price(0.023, 1, "GB stored for a month", *_S3),
    "metric-month": Price(0.30, 1, "metrics of one's own for a month", *_CLOUDWATCH),
    "alarm metric-month": Price(0.10, 1, "metrics in alarms for a month", *_CLOUDWATCH),
    "dashboard-month": Price(3.00, 1, "dashboards for a month", *_DASHBOARD),
    "log GB": Price(0.50, 1, "GB of logs taken in", *_CLOUDWATCH),
    "log GB-month": Price(0.03, 1, "GB of logs stored for a month", *_CLOUDWATCH),
    "fargate vCPU-hour": Price(0.03238, 1, "hours of a vCPU on arm64", *_FARGATE),
    "fargate GB-hour": Price(0.00356, 1, "hours of a GB of memory on arm64", *_FARGATE),
}
"""By the name that estimates and benchmarks count under."""

Usage = Mapping[str, float]
"""How much of what: amounts by the names of `PRICES`."""


def dollars(usage: Usage) -> float:
    """Return what ``usage`` costs. Raises `KeyError` for what has no price."""
    return sum(amount * PRICES[name].dollars / PRICES[name].per for name, amount in usage.items())


def dollars_a_million(usage: Usage) -> float:
    """Return what a million times ``usage`` costs."""
    return MILLION * dollars(usage)


def table() -> list[dict[str, str | float]]:
    """Return the prices for a result file."""
    return [
        {
            "name": name,
            "dollars": price.dollars,
            "per": price.per,
            "unit": price.unit,
            "source": price.source,
            "as of": price.as_of,
            "read on": READ_ON,
        }
        for name, price in PRICES.items()
    ]
