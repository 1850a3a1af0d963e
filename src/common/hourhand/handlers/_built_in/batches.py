"""The built-in handler of batches: it submits the members, waits for them, and runs callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hourhand.domain.jobs.parents import ChildSpec
from hourhand.domain.runs.built_in import MEMBERS
from hourhand.domain.runs.calls import MembersTotal, NextChildren
from hourhand.domain.runs.joins import ChildrenCall, JoinedCall
from hourhand.handlers._errors import BatchFailed, InvalidCall
from hourhand.handlers._runs.calls import ANY_CHILD, Branch
from hourhand.handlers._runs.child_calls import submit, submit_next
from hourhand.handlers._runs.context import RunContext, branch_of


def run_batch(ctx: RunContext, payload: dict) -> dict[str, int]:  # type: ignore[type-arg]
    """Run a batch: its jobs, then its callbacks."""
    branch = branch_of(ctx)
    total, spec_of = _members(branch, payload)
    if total is None:
        raise branch.unwind(ANY_CHILD)
    succeeded = failed = 0
    if total:
        # Woken by the first failure, so that its callback need not wait for all other members.
        call = ChildrenCall(total=total, handler="", is_map=True, tolerate=0)
        joined = _submitted(branch, NextChildren(MEMBERS, call, spec_of))
        succeeded, failed = joined.succeeded, joined.failed
        if failed:
            _call_back(branch, payload, "on_failure")
        if not joined.is_over:
            raise branch.unwind(ANY_CHILD)
    _call_back(branch, payload, "on_complete")
    if failed:
        raise BatchFailed(f"{failed} of {total} jobs of the batch failed.")
    _call_back(branch, payload, "on_success")
    return {"total": total, "succeeded": succeeded, "failed": failed}


def _members(
    branch: Branch, payload: dict[str, Any]
) -> tuple[int | None, Callable[[int], ChildSpec]]:
    """Return how many members a batch has, ``None`` while it is open, and each by its index."""
    if not payload.get("open"):
        members = payload["jobs"]
        return len(members), lambda index: ChildSpec(members[index])

    def unknown(index: int) -> ChildSpec:
        # The request that added a member put its job before it confirmed the member.
        raise InvalidCall(f"The member {index} of the batch does not exist.")

    return branch.run.answer(MembersTotal(MEMBERS)), unknown


def _submitted(branch: Branch, members: NextChildren) -> JoinedCall:
    """Submit all members, also after one of them failed."""
    while True:
        joined: JoinedCall = branch.carry_out_now(submit_next(branch, members))
        if not joined.has_room:
            return joined


def _call_back(branch: Branch, payload: dict[str, Any], name: str) -> None:
    """Submit a callback, once in all rounds: its id follows from its name."""
    if payload.get(name) is not None:
        path, spec = branch.bind(name), ChildSpec(payload[name])
        call = ChildrenCall(total=1, handler=str(spec.fields.get("handler")), is_abandoned=True)
        # Beside the children that are bounded in number.
        submission = NextChildren(path, call, lambda _: spec)
        branch.carry_out_now(submit(branch, submission, is_bounded=False))
