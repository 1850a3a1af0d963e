"""The handler that Hourhand runs."""

from __future__ import annotations

from typing import TypedDict

from bench.peers import runs
from hourhand import JobContext, job

NAME = "peers-work"


class Work(TypedDict):
    name: str
    seconds: float


@job(NAME)
def work(ctx: JobContext, payload: Work) -> dict[str, str]:  # noqa: ARG001 - the signature of one
    return runs.work(payload["name"], payload["seconds"])
