"""A durable run in one invocation: it answers the calls of the handler over the run's journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast

from hourhand.domain.runs.calls import RunCall
from hourhand.services.runs import child_calls, decisions, steps, waits
from hourhand.services.runs.records import Answers, RunRecords

R = TypeVar("R")

ANSWERS: Answers = {
    **steps.ANSWERS,
    **waits.ANSWERS,
    **child_calls.ANSWERS,
    **decisions.ANSWERS,
}


@dataclass(slots=True)
class Invocation(RunRecords):
    """Implements the port `OpenedRun`: the records of a run, and what answers calls with them."""

    @property
    def api_url(self) -> str:
        """The URL of the API, without a slash at its end; empty where it is not known."""
        return self.ports.api_url.rstrip("/")

    @property
    def newest_token(self) -> int:
        """The token of the newest record: of this invocation, or one before; 0 without one."""
        return self.journal.newest_token()

    def answer(self, call: RunCall[R]) -> R:
        """Answer a call of the handler; see the port."""
        return cast("R", ANSWERS[type(call)](self, call))
