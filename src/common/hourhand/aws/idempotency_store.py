"""The idempotency table in DynamoDB: one item a key.

| attribute | what |
|---|---|
| ``p`` | the record's key |
| ``v`` | the version of this layout (`hourhand.aws.layout.versions`); absent in the oldest ones |
| ``j``, ``f`` | job and fencing token of the attempt that holds or held it |
| ``c`` | when that job was created, in ms: the next job under the key has the same id |
| ``i`` | hash of the inputs |
| ``g`` | whether it is done |
| ``o`` | the result, packed as in a job's item |
| ``u``, ``x`` | until when it is kept: in ms for conditions, in seconds for TTL |
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from hourhand.aws.failures import ConditionRefused
from hourhand.aws.layout.jobs import content_value, read_content
from hourhand.aws.layout.values import (
    Item,
    Value,
    expiry_seconds,
    number,
    read_text,
    read_time,
    text,
    time,
)
from hourhand.aws.layout.versions import NOT_NEWER, Kind, known_value, require_known, version_value
from hourhand.aws.records import Records
from hourhand.domain.errors import Unavailable
from hourhand.ports.idempotency_store import IdempotencyRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MAX_BEGIN_TRIES = 3
"""Writes of a claim whose obstacle was gone when it was looked at."""

_NOT_THERE = "attribute_not_exists(p)"
_OVER = "u < :now"
_SAME_ATTEMPT_OR_OLDER = "(g = :in_progress AND j = :job AND c = :created AND f <= :token)"
_EARLIER_JOB = "(j = :job AND c < :created)"
_GIVES_WAY = f"{_NOT_THERE} OR {_OVER} OR {_SAME_ATTEMPT_OR_OLDER} OR {_EARLIER_JOB}"
_MAY_CLAIM = f"{NOT_NEWER} AND ({_GIVES_WAY})"


class DynamoIdempotencyStore:
    """Implements the port `IdempotencyStore` on one table."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        """Call nothing yet."""
        self._records = Records(client, table_name)

    def begin(self, record: IdempotencyRecord, *, now: datetime) -> IdempotencyRecord | None:
        """Claim the key for an attempt; ``None`` when written, else the record that stands.

        Raises `Unavailable` where records come and go under every try.
        """
        for _ in range(MAX_BEGIN_TRIES):
            answer = self._records.write(
                "PutItem",
                Item=_item_of(record),
                ConditionExpression=_MAY_CLAIM,
                ExpressionAttributeValues={
                    ":now": time(now),
                    ":in_progress": {"BOOL": False},
                    ":job": text(record.job_id),
                    ":created": time(record.job_created_at),
                    ":token": number(record.token),
                    ":known": known_value(Kind.IDEMPOTENCY),
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
            if not isinstance(answer, ConditionRefused):
                return None
            standing = answer.item or self._records.read({"p": text(record.key)})
            if standing is not None:
                require_known(Kind.IDEMPOTENCY, standing, record.job_id)
                return _record_from(standing)
        raise Unavailable("The idempotency record changed during every try to claim it; try again.")

    def finish(self, record: IdempotencyRecord) -> bool:
        """Store the result, if the record is still ours (job, creation, token). Whether it was."""
        kept = {name: value for name, value in _item_of(record).items() if name != "p"}
        answer = self._records.write(
            "UpdateItem",
            Key={"p": text(record.key)},
            UpdateExpression="SET " + ", ".join(f"{name} = :{name}" for name in kept),
            ConditionExpression=f"j = :job AND c = :created AND f = :token AND {NOT_NEWER}",
            ExpressionAttributeValues={
                **{f":{name}": value for name, value in kept.items()},
                ":job": text(record.job_id),
                ":created": time(record.job_created_at),
                ":token": number(record.token),
                ":known": known_value(Kind.IDEMPOTENCY),
            },
        )
        return not isinstance(answer, ConditionRefused)


def _item_of(record: IdempotencyRecord) -> dict[str, Value]:
    item: dict[str, Value] = {
        "p": text(record.key),
        "v": version_value(Kind.IDEMPOTENCY),
        "j": text(record.job_id),
        "c": time(record.job_created_at),
        "f": number(record.token),
        "i": text(record.inputs_hash),
        "g": {"BOOL": record.is_done},
        "u": time(record.keep_until),
        "x": number(expiry_seconds(record.keep_until)),
    }
    if record.result is not None:
        item["o"] = content_value(record.result)
    return item


def _record_from(item: Item) -> IdempotencyRecord:
    return IdempotencyRecord(
        key=read_text(item["p"]),
        job_id=read_text(item["j"]),
        job_created_at=read_time(item["c"]),
        token=int(item["f"]["N"]),
        inputs_hash=read_text(item["i"]),
        is_done=bool(item["g"]["BOOL"]),
        keep_until=read_time(item["u"]),
        result=read_content(item["o"]) if "o" in item else None,
    )
