"""Tables, indexes, queues and the bucket as data: the one source for every place that makes them.

The local cloud and the tests create them by `hourhand.aws.provision`, a deployment by its stack.
Names are relative: `resource_name` puts the installation's prefix before them. The attributes of
an item are listed in `hourhand.aws.layout.jobs`. Every cold start creates these classes: named
tuples take a third of the time of dataclasses.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from hourhand.domain.jobs.job import Priority

KeyType = Literal["S", "N"]

ID_KEY = "id-key"
"""The record of the control table that the API may create, too: the rest is the scheduler's."""

CALLER_KEYS = "caller."
"""What stands before the key of a caller in the control table: only the API writes these."""


class Key(NamedTuple):
    """A key attribute and its DynamoDB type."""

    attribute: str
    type: KeyType = "S"


class Index(NamedTuple):
    """A global secondary index that shows the keys alone (KEYS_ONLY)."""

    name: str
    partition: Key
    sort: Key


class Table(NamedTuple):
    """A table, billed on demand. ``expiry`` names its TTL attribute (epoch seconds)."""

    name: str
    partition: Key
    sort: Key | None = None
    indexes: tuple[Index, ...] = ()
    expiry: str | None = None

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every key attribute of the table and its indexes, each once."""
        own = (self.partition, self.sort)
        of_indexes = (key for index in self.indexes for key in (index.partition, index.sort))
        return tuple(dict.fromkeys(key for key in (*own, *of_indexes) if key is not None))


RUN_AT_INDEX = Index(name="run_at", partition=Key("b"), sort=Key("k", "N"))
"""Which jobs are next due when: ``b`` is "<bucket>.<shard>", ``k`` is ``due_at`` in ms."""

LISTING_INDEX = Index(name="listing", partition=Key("l"), sort=Key("c"))
"""Every job by creation: ``l`` is "jobs.<shard>", ``c`` is "<created ms>.<tie>"."""

DEAD_INDEX = Index(name="dead", partition=Key("d"), sort=Key("c"))
"""Jobs in the state DEAD by creation: ``d`` is "dead.<shard>" while they are unresolved and
"discarded.<shard>" once they were discarded. It is absent in every other state."""

LISTING_SHARDS = 8
"""A partition takes 1,000 writes a second (DynamoDB quotas), so 8,000 jobs can be submitted."""

EXPIRY = "x"

JOBS = Table(
    name="jobs",
    partition=Key("p"),
    sort=Key("s"),
    indexes=(RUN_AT_INDEX, LISTING_INDEX, DEAD_INDEX),
    expiry=EXPIRY,
)
CONTROL = Table(name="control", partition=Key("p"))
RESWEEP_KEY = "resweep"
PAUSES_KEY = "pauses"
LIMITS_KEY = "limits"
"""The one record of the control table that the API writes: its role may write no other."""

IDEMPOTENCY = Table(name="idempotency", partition=Key("p"), expiry=EXPIRY)

DUE_INDEX = Index(name="due", partition=Key("d"), sort=Key("n", "N"))
"""Which schedules want a visit when: ``d`` is "due.<shard>", ``n`` is ``next_at`` in ms. Both are
absent where nothing is to come."""

NAMES_INDEX = Index(name="names", partition=Key("l"), sort=Key("p"))
"""Every schedule and calendar by name: ``l`` is "schedules" or "calendars"."""

SCHEDULES = Table(
    name="schedules",
    partition=Key("p"),
    sort=Key("s"),
    indexes=(DUE_INDEX, NAMES_INDEX),
    expiry=EXPIRY,
)

TABLES = (JOBS, CONTROL, IDEMPOTENCY, SCHEDULES)


class Queue(NamedTuple):
    """A standard queue. ``backstop``: where a message goes that was received too often."""

    name: str
    visibility_seconds: int
    retention_seconds: int
    backstop: str | None = None
    max_receives: int | None = None


LONGEST_RETENTION_SECONDS = 14 * 86_400
"""The longest that SQS keeps a message (SQS API reference, MessageRetentionPeriod)."""

FUNCTION_VISIBILITY_SECONDS = 900
"""Lambda refuses an event source whose messages reappear before the function's own timeout.

A worker shortens it to `Timings.visibility` as the first thing it does with a message.
"""

MAX_RECEIVES = 1000
"""Throttled and early messages gain receive count too; the job's own attempts are what counts."""

BACKSTOP = Queue(
    name="backstop",
    visibility_seconds=60,
    retention_seconds=LONGEST_RETENTION_SECONDS,
)
DEAD_LETTERS = Queue(
    name="dead-letters",
    visibility_seconds=60,
    retention_seconds=LONGEST_RETENTION_SECONDS,
)
CLOCK = Queue(name="clock", visibility_seconds=1, retention_seconds=60)
"""Carries the messages by which SQS is asked for the time; what is left over goes by itself."""

TICK_FAILURES = Queue(
    name="tick-failures",
    visibility_seconds=60,
    retention_seconds=LONGEST_RETENTION_SECONDS,
)
"""Ticks that EventBridge or Lambda could not deliver, or whose function failed. Only a deployment
has it."""

PRIORITY_QUEUES = {
    priority: Queue(
        name=priority.value,
        visibility_seconds=FUNCTION_VISIBILITY_SECONDS,
        retention_seconds=LONGEST_RETENTION_SECONDS,
        backstop=BACKSTOP.name,
        max_receives=MAX_RECEIVES,
    )
    for priority in Priority
}

# In the order in which they can be made: a backstop before the queues that name it.
QUEUES = (BACKSTOP, DEAD_LETTERS, CLOCK, *PRIORITY_QUEUES.values())


class Bucket(NamedTuple):
    """The bucket for large payloads and results.

    An object carries the tag ``state``, ``live`` or ``finished``. A finished one also carries
    ``days``, one of ``expiry_days``: the lifecycle rule for both tags deletes it so many days
    after it was last written, which is when it was marked.
    """

    name: str
    expiry_days: tuple[int, ...]


STATE_TAG = "state"
DAYS_TAG = "days"
LIVE = "live"
FINISHED = "finished"

BUCKET = Bucket(name="contents", expiry_days=tuple(2**n for n in range(13)))


def resource_name(prefix: str, name: str) -> str:
    """Return the full name of the resource ``name`` of the installation ``prefix``."""
    return f"{prefix}-{name}"


def log_group_name(prefix: str, function: str) -> str:
    """Return the log group of a function of the installation ``prefix``."""
    return f"/aws/lambda/{resource_name(prefix, function)}"
