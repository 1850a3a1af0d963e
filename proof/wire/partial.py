"""Batches that are done in part: what the answer names as refused is never sent, or is sent.

The proxy does not know what is inside a batch, so this is done to a call's parameters and to its
parsed answer, by the events of botocore.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from hourhand.aws.batches import MAX_BATCH_TRIES
from proof.wire.faults import INJECTED


@dataclass(frozen=True, kw_only=True, slots=True)
class PartialFault:
    """Members of a batch are refused: the first, or ``all`` of them.

    ``leaves``: how many of all are not refused. ``is_applied``: though they were done. ``most``:
    how many calls it lasts for at most, as many as a read of a batch is tried.
    """

    name: str
    told: str
    operations: frozenset[str]
    takes_all: bool = False
    leaves: int = 0
    is_applied: bool = False
    most: int = MAX_BATCH_TRIES


_SENDS = frozenset({"SendMessageBatch"})
_DELETES = frozenset({"DeleteMessageBatch"})
_READS = frozenset({"BatchGetItem"})
_MARKS = frozenset({"BatchExecuteStatement"})

ONE_REFUSED = PartialFault(
    name="one-refused",
    told="one member refused",
    operations=_SENDS | _DELETES | _READS | _MARKS,
)
ALL_REFUSED = PartialFault(
    name="all-refused",
    told="all members refused",
    operations=_SENDS | _DELETES | _READS | _MARKS,
    takes_all=True,
)
ONE_DOUBTED = PartialFault(
    name="one-doubted",
    told="one member applied, and reported as refused",
    operations=_SENDS | _DELETES | _MARKS,
    is_applied=True,
)
SHARD_FULL = PartialFault(
    name="shard-full",
    told="all members but one refused, as by a shard without capacity",
    operations=_MARKS,
    takes_all=True,
    leaves=1,
)

PARTIAL_FAULTS = (ONE_REFUSED, ALL_REFUSED, ONE_DOUBTED, SHARD_FULL)

_LISTS = {
    "SendMessageBatch": "Entries",
    "DeleteMessageBatch": "Entries",
    "BatchExecuteStatement": "Statements",
}


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken out of a call; ``sent``: how much is sent, ``is_whole``: nothing."""

    members: Any
    count: int
    is_whole: bool
    sent: int


def take_out(fault: PartialFault, operation: str, params: dict[str, Any]) -> Taken:
    """Take out of a call what shall be refused, unless it is done all the same, or is all of it.

    botocore sends no empty batch: that one is answered without being sent.
    """
    if operation == "BatchGetItem":
        ((table, asked),) = params["RequestItems"].items()
        keys = list(asked["Keys"])
        count = len(keys) if fault.takes_all else 1
        is_whole = count == len(keys)
        if not is_whole:
            params["RequestItems"] = {table: {**asked, "Keys": keys[count:]}}
        return Taken({table: {**asked, "Keys": keys[:count]}}, count, is_whole, len(keys) - count)
    name = _LISTS[operation]
    members = list(params[name])
    count = max(len(members) - fault.leaves, 1) if fault.takes_all else 1
    is_whole = count == len(members) and not fault.is_applied
    if not is_whole and not fault.is_applied:
        params[name] = members[count:]
    sent = len(members) if fault.is_applied else len(members) - count
    return Taken(members[:count], count, is_whole, sent)


def whole_answer(operation: str, taken: Taken) -> Any:
    """Return the answer to a call of which nothing is left to be sent, otherwise ``None``."""
    if not taken.is_whole:
        return None
    parsed: dict[str, Any] = {"ResponseMetadata": {"HTTPStatusCode": 200}}
    if operation == "BatchGetItem":
        parsed["Responses"] = {}
    return SimpleNamespace(status_code=200, headers={}), parsed


def put_back(fault: PartialFault, operation: str, taken: Taken, parsed: dict[str, Any]) -> None:
    """Let the answer name what was refused."""
    if operation == "BatchGetItem":
        parsed["UnprocessedKeys"] = taken.members
    elif operation == "BatchExecuteStatement":
        error = {"Error": {"Code": "ThrottlingError", "Message": INJECTED}}
        done = parsed.get("Responses", [])[taken.count if fault.is_applied else 0 :]
        parsed["Responses"] = [error] * taken.count + done
    else:
        ids = [member["Id"] for member in taken.members]
        parsed["Successful"] = [s for s in parsed.get("Successful", []) if s["Id"] not in ids]
        parsed["Failed"] = [_failed(one) for one in ids]


def is_done_in_part(
    fault: PartialFault, operation: str, taken: Taken, parsed: Mapping[str, Any]
) -> bool:
    """Whether AWS itself answers as if it had been asked for just what was left to be sent."""
    if taken.is_whole:
        return True
    if operation == "BatchGetItem":
        ((table, asked),) = taken.members.items()
        items = parsed.get("Responses", {}).get(table, [])
        return not any(key.items() <= item.items() for key in asked["Keys"] for item in items)
    if operation == "BatchExecuteStatement":
        return len(parsed.get("Responses", [])) == taken.sent
    done = {success["Id"] for success in parsed.get("Successful", [])}
    ids = {member["Id"] for member in taken.members}
    return ids <= done if fault.is_applied else not ids & done


def _failed(identifier: str) -> Mapping[str, Any]:
    return {
        "Id": identifier,
        "SenderFault": False,
        "Code": "InternalError",
        "Message": INJECTED,
    }
