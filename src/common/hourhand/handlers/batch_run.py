"""The built-in handler of batches: it submits the members, waits for them, and runs callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hourhand.domain.durable.built_in import MEMBERS
from hourhand.domain.durable.joins import ChildrenCall, JoinedCall
from hourhand.domain.durable.run_calls import MembersTotal
from hourhand.domain.jobs.parents import ChildSpec
from hourhand.handlers._errors import BatchFailed, InvalidCall
from hourhand.handlers.run_context import RunContext


def run_batch(ctx: RunContext, payload: dict) -> dict[str, int]:  # type: ignore[type-arg]
    """Run a batch: its jobs, then its callbacks."""
    total, spec_of = _members(ctx, payload)
    if total is None:
        raise ctx.wait_for_children()
    succeeded = failed = 0
    if total:
        # Woken by the first failure, so that its callback need not wait for all other members.
        call = ChildrenCall(total=total, handler="", is_map=True, tolerate=0)
        joined = _submitted(ctx, call, spec_of)
        succeeded, failed = joined.succeeded, joined.failed
        if failed:
            _call_back(ctx, payload, "on_failure")
        if not joined.is_over:
            raise ctx.wait_for_children()
    _call_back(ctx, payload, "on_complete")
    if failed:
        raise BatchFailed(f"{failed} of {total} jobs of the batch failed.")
    _call_back(ctx, payload, "on_success")
    return {"total": total, "succeeded": succeeded, "failed": failed}


def _members(
    ctx: RunContext, payload: dict[str, Any]
) -> tuple[int | None, Callable[[int], ChildSpec]]:
    """Return how many members a batch has, ``None`` while it is open, and each by its index."""
    if not payload.get("open"):
        members = payload["jobs"]
        return len(members), lambda index: ChildSpec(members[index])

    def unknown(index: int) -> ChildSpec:
        # The request that added a member put its job before it confirmed the member.
        raise InvalidCall(f"The member {index} of the batch does not exist.")

    return ctx.run.answer(MembersTotal(MEMBERS)), unknown


def _submitted(
    ctx: RunContext, call: ChildrenCall, spec_of: Callable[[int], ChildSpec]
) -> JoinedCall:
    """Submit all members, also after one of them failed."""
    while True:
        joined = ctx.submit_all(MEMBERS, call, spec_of)
        if not joined.has_room:
            return joined


def _call_back(ctx: RunContext, payload: dict[str, Any], name: str) -> None:
    """Submit a callback, once in all rounds: its id follows from its name."""
    if payload.get(name) is not None:
        ctx.submit_spec(name, ChildSpec(payload[name]), is_abandoned=True)
