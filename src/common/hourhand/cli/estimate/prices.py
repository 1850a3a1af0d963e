"""AWS's list prices, each with its source and day.

Prices of us-east-1, on demand, without free tiers, volume discounts, tax and data transfer, from
public copies of AWS's pages. ``as_of`` is the day that a copy names, `READ_ON` that of reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

REGION = "us-east-1"
READ_ON = "2026-11-21"

LEFT_OUT = (
    "Free tiers are left out: each month EventBridge Scheduler has 14 million invocations free, "
    "SQS, Lambda and CloudWatch's API a million requests each, Step Functions 4,000 transitions.",
    "AWS's pages do not say to which requests SQS's price for fair queues applies. The estimate "
    "counts every request for a message with a group, which is the most it can be.",
)


@dataclass(frozen=True, slots=True)
class Price:
    """``dollars`` for ``per`` units, by ``source`` as it was on ``as_of``."""

    dollars: float
    per: float
    unit: str
    source: str
    as_of: str


MILLION = 1e6
LIST, PAGE = "AWS Price List, offer {} (public copy)", "AWS, {} (public copy of the page)"
LAMBDA = PAGE.format("Lambda pricing"), "2026-09-20"
_DYNAMODB = LIST.format("AmazonDynamoDB"), "2026-08-15"
_SQS = LIST.format("AWSQueueService"), "2025-08-28"
_EVENTS = LIST.format("AWSEvents"), "2026-05-29"
_STATES = LIST.format("AmazonStates"), "2025-08-28"
_S3 = LIST.format("AmazonS3"), "2026-08-07"
_CLOUDWATCH = LIST.format("AmazonCloudWatch"), "2026-08-06"
_GATEWAY = PAGE.format("API Gateway pricing"), "2026-09-20"
_DASHBOARD = PAGE.format("CloudWatch pricing"), "2026-11"

PRICES: Mapping[str, Price] = {
    # Halved in November 2024; before, two write units cost $2.50 a million, and now $1.25.
    "write unit": Price(0.625, MILLION, "write request units, on demand", *_DYNAMODB),
    "read unit": Price(0.125, MILLION, "read request units, on demand", *_DYNAMODB),
    "table GB-month": Price(0.25, 1, "GB stored for a month", *_DYNAMODB),
    "recovery GB-month": Price(0.20, 1, "GB in point-in-time recovery for a month", *_DYNAMODB),
    "sqs request": Price(0.40, MILLION, "requests to standard queues, of 64 KB each", *_SQS),
    "fair queue request": Price(0.10, MILLION, "on top: requests with a message group", *_SQS),
    "lambda call": Price(0.20, MILLION, "function invocations", *LAMBDA),
    "lambda GB-s": Price(0.0000133334, 1, "GB-seconds on arm64", *LAMBDA),
    "http api request": Price(1.00, MILLION, "requests to an HTTP API, of 512 KB", *_GATEWAY),
    "scheduler invocation": Price(1.00, MILLION, "EventBridge Scheduler's invocations", *_EVENTS),
    "state transition": Price(0.025, 1_000, "transitions of Standard workflows", *_STATES),
    "s3 put": Price(0.005, 1_000, "PUT, COPY, POST and LIST requests", *_S3),
    "s3 get": Price(0.0004, 1_000, "GET and all other requests", *_S3),
    "s3 GB-month": Price(0.023, 1, "GB stored for a month", *_S3),
    "metric-month": Price(0.30, 1, "custom metrics for a month", *_CLOUDWATCH),
    "alarm metric-month": Price(0.10, 1, "metrics in alarms for a month", *_CLOUDWATCH),
    "dashboard-month": Price(3.00, 1, "dashboards for a month", *_DASHBOARD),
    "log GB": Price(0.50, 1, "GB of logs ingested", *_CLOUDWATCH),
    "log GB-month": Price(0.03, 1, "GB of logs stored for a month", *_CLOUDWATCH),
}
"""By the name that estimates and benchmarks count under."""

Usage = Mapping[str, float]
"""How much of what: amounts by the names of `PRICES`."""


def dollars(usage: Usage, prices: Mapping[str, Price] = PRICES) -> float:
    """Return what ``usage`` costs. Raises `KeyError` for what has no price."""
    return sum(amount * prices[name].dollars / prices[name].per for name, amount in usage.items())
