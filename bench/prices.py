"""The prices of `hourhand estimate`, and of the ways to run jobs that it leaves out."""

from __future__ import annotations

from collections.abc import Mapping

from hourhand.cli.estimate import prices as estimated
from hourhand.cli.estimate.prices import LAMBDA, LIST, MILLION, PAGE, READ_ON, Price, Usage

LEFT_OUT = (
    *estimated.LEFT_OUT,
    "Not found: whether a retried step of a durable function is one more operation (here: left "
    "out).",
)
_FARGATE = LIST.format("AmazonECS"), "2026-07-07"
_RATE = PAGE.format("EventBridge pricing"), "2026-11"
_STATES = LIST.format("AmazonStates"), "2025-08-28"

PRICES: Mapping[str, Price] = {
    **estimated.PRICES,
    "rule event": Price(0.0, MILLION, "events of a rule's own rate or cron", *_RATE),
    "express request": Price(1.00, MILLION, "starts of Express workflows", *_STATES),
    "express GB-s": Price(0.00001667, 1, "GB-seconds of Express workflows", *_STATES),
    "durable operation": Price(8.00, MILLION, "operations of durable functions", *LAMBDA),
    "durable GB written": Price(0.25, 1, "GB written by durable functions", *LAMBDA),
    "durable GB-month": Price(0.15, 1, "GB kept for a month by them", *LAMBDA),
    "fargate vCPU-hour": Price(0.03238, 1, "hours of a vCPU on arm64", *_FARGATE),
    "fargate GB-hour": Price(0.00356, 1, "hours of a GB of memory on arm64", *_FARGATE),
}


def dollars(usage: Usage) -> float:
    """Return what ``usage`` costs. Raises `KeyError` for what has no price."""
    return estimated.dollars(usage, PRICES)


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
