"""A durable run in one invocation: it answers the calls of the handler over the run's journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from hourhand.domain.durable.run_calls import RunCall
from hourhand.services.durable import run_children, run_decisions, run_steps, run_waits
from hourhand.services.durable.run_records import Answers, RunRecords

R = TypeVar("R")

ANSWERS: Answers = {
    **run_steps.ANSWERS,
    **run_waits.ANSWERS,
    **run_children.ANSWERS,
    **run_decisions.ANSWERS,
}


@dataclass(frozen=True, slots=True)
class Invocation:
    """Implements the port `DurableRun` over the records of a run."""

    records: RunRecords

    @property
    def run_id(self) -> str:
        """The id of the run's job."""
        return self.records.run_id

    @property
    def segment(self) -> int:
        """How often the run restarted."""
        return self.records.segment

    @property
    def api_url(self) -> str:
        """The URL of the API, without a slash at its end; empty where it is not known."""
        return self.records.ports.api_url.rstrip("/")

    @property
    def new_records(self) -> int:
        """How many records the invocation wrote, without starts."""
        return self.records.new_records

    @property
    def newest_token(self) -> int:
        """The token of the newest record: of this invocation, or one before; 0 without one."""
        return self.records.journal.newest_token()

    def answer(self, call: RunCall[R]) -> R:
        """Answer a call of the handler; see the port."""
        return cast("R", ANSWERS[type(call)](self.records, call))

    def replaying(self, call: Callable[[], R]) -> R:
        """Make a call that may write nothing: it raises `RunLost` instead."""
        return self.records.replaying(call)
