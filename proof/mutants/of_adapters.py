"""Mutants of the adapters to AWS: what a store or a queue promises, seen by the contract suite."""

from __future__ import annotations

from proof.mutants.mutant import Mutant, Patch

_AWS = "hourhand.aws"
_MAP_HAS_VERSION = '"(attribute_not_exists(map_version) OR map_version = :expected)"'

_CLAUSES = (
    *("StatusIn", "Is", "Absent", "Below", "AtMost"),
    *("AttemptsLeft", "HistoryLengthIs", "AnyOf"),
)
"""Those that the moves have as a whole: `Above` comes only within `AnyOf`."""


def _mutant(name: str, rule: str, module: str, old: str, new: str, *killers: str) -> Mutant:
    return Mutant(
        name=name,
        rule=rule,
        patches=(Patch(f"{_AWS}.{module}", old, new),),
        killers=tuple(f"contract: {killer}" for killer in killers),
    )


LEASES_AND_WATERMARK = (
    _mutant(
        "DynamoDB: a lease is renewed in whatever epoch",
        "A lease is renewed where holder and epoch still stand.",
        "control_store",
        '"holder = :holder AND epoch = :epoch",\n            _lease_attributes(renewed),',
        '"holder = :holder",\n            _lease_attributes(renewed),',
        "control_store, a lease of an older epoch is lost even to the same holder",
    ),
    _mutant(
        "DynamoDB: a lease is renewed by whoever knows its epoch",
        "A lease is renewed where holder and epoch still stand.",
        "control_store",
        '"holder = :holder AND epoch = :epoch",\n            _lease_attributes(renewed),',
        '"(holder = :holder OR epoch >= :epoch)",\n            _lease_attributes(renewed),',
        "control_store, a lease that another took can be neither renewed nor given up",
    ),
    _mutant(
        "DynamoDB: a lease is given up in whatever epoch",
        "A lease is given up where holder and epoch still stand.",
        "control_store",
        '"holder = :holder AND epoch = :epoch",\n            _identity(lease),',
        '"(holder = :holder OR epoch = :epoch)",\n            _identity(lease),',
        "control_store, a lease of an older epoch is lost even to the same holder",
    ),
    _mutant(
        "DynamoDB: a watermark over another than was read",
        "The watermark is written where the record is as it was read.",
        "control_store",
        'is_as_read = "watermark_hash = :previous"',
        'is_as_read = "(watermark_hash = :previous OR attribute_exists(watermark_hash))"',
        "control_store, a watermark is replaced only by one who knows all of it",
    ),
    _mutant(
        "DynamoDB: a first watermark over one that stands",
        "The watermark is written where the record is as it was read.",
        "control_store",
        'is_as_read = "attribute_not_exists(watermark_hash)"',
        'is_as_read = "(attribute_not_exists(watermark_hash) OR attribute_exists(p))"',
        "control_store, the first watermark is stored where there is none",
    ),
    _mutant(
        "DynamoDB: a shard map of a newer version is no obstacle",
        "Map and watermark are written where the map has the version that was read.",
        "control_store",
        _MAP_HAS_VERSION,
        '"(attribute_not_exists(map_version) OR map_version >= :expected)"',
        "control_store, a watermark of an older shard map is not stored",
        "control_store, a shard map is not stored where another was stored meanwhile",
    ),
)

RECORDS = (
    _mutant(
        "DynamoDB: a text is kept for as long as its last writer says",
        "`JobStore.put_text`: what is kept for one submission never ends sooner for another.",
        "job_store",
        '_ENDS_SOONER = "(attribute_not_exists(x) OR x < :until)"',
        '_ENDS_SOONER = "(attribute_not_exists(x) OR x < :until OR x >= :until)"',
        "job_items, a text that is kept twice has the later end",
    ),
    _mutant(
        "DynamoDB: any attempt of a job notes a result under its key",
        "A result is noted by the job and token that hold the record.",
        "idempotency_store",
        'f"j = :job AND c = :created AND f = :token AND {NOT_NEWER}"',
        'f"c = :created AND (j = :job OR f = :token) AND {NOT_NEWER}"',
        "idempotency_store, a result is not noted after another attempt took over",
    ),
    _mutant(
        "DynamoDB: another job begins under a key in progress",
        "A key in progress is taken over by its own job alone.",
        "idempotency_store",
        '"(g = :in_progress AND j = :job AND c = :created AND f <= :token)"',
        '"(g = :in_progress AND c = :created AND (j = :job OR f <= :token))"',
        "idempotency_store, another job cannot begin while one is in progress",
    ),
    _mutant(
        "DynamoDB: the record of a deleted job stands in the way of the next one",
        "`IdempotencyStore.begin`: a record stands for one job, named by its id and its creation.",
        "idempotency_store",
        '_EARLIER_JOB = "(j = :job AND c < :created)"',
        '_EARLIER_JOB = "(j = :job AND c < :created AND u < :now)"',
        "idempotency_store, a record of an earlier job of the same id gives way",
    ),
    _mutant(
        "DynamoDB: a zombie of a deleted job takes the key of the next one",
        "`IdempotencyStore.begin`: a record stands for one job, named by its id and its creation.",
        "idempotency_store",
        '_EARLIER_JOB = "(j = :job AND c < :created)"',
        '_EARLIER_JOB = "(j = :job AND c <> :created)"',
        "idempotency_store, an attempt of an earlier job of the same id neither begins nor notes a "
        "result",
    ),
    _mutant(
        "DynamoDB: a zombie of a deleted job notes its result for the next one",
        "`IdempotencyStore.finish`: only where job, creation and token are those of the record.",
        "idempotency_store",
        'f"j = :job AND c = :created AND f = :token AND {NOT_NEWER}"',
        'f"j = :job AND c > :token AND f = :token AND :created > :token AND {NOT_NEWER}"',
        "idempotency_store, an attempt of an earlier job of the same id neither begins nor notes a "
        "result",
    ),
    _mutant(
        "DynamoDB: a record over a later one than was read",
        "Slots, schedules and their kin name the sequence that they follow.",
        "records",
        'condition = f"q = :previous AND {NOT_NEWER}"',
        'condition = f"q >= :previous AND {NOT_NEWER}"',
        "slot_store, of two that take one place only the first has it",
        "schedule_items, of two that change one state the second is shown the first ones",
    ),
    _mutant(
        "DynamoDB: a first record over one that stands",
        "What is new is written where nothing stands.",
        "records",
        'return self._write(kind, item, (), f"attribute_not_exists(p) AND {NOT_NEWER}", {})',
        "return self._write(kind, item, (), NOT_NEWER, {})",
        "slot_store, of two that take one place only the first has it",
        "schedule_items, of two that create a schedule the second is shown the first",
    ),
    _mutant(
        "DynamoDB: a calendar is deleted though it changed",
        "A calendar is deleted only as it was seen.",
        "records",
        'f"attribute_not_exists(p) OR (q = :previous AND {NOT_NEWER})"',
        'f"attribute_not_exists(p) OR (q >= :previous AND {NOT_NEWER})"',
        "calendar_store, a calendar is deleted only as it was seen",
    ),
    _mutant(
        "DynamoDB: slots whose answer was lost count as refused",
        "A write whose answer was lost is known again by its write id.",
        "slot_store",
        'return refused.item is not None and read_text(refused.item["u"]) == slots.write_id',
        "return False",
        "slot_store, a writer whose answer was lost recognises its write",
    ),
)

JOBS = (
    _mutant(
        "DynamoDB: a job is put over one of its id",
        "Put where no job of that id exists.",
        "job_store",
        'ConditionExpression="attribute_not_exists(p)",',
        'ConditionExpression="attribute_not_exists(p) OR attribute_exists(p)",',
        "job_items, a second put under one id is refused and shows the first",
    ),
    *(
        _mutant(
            f"DynamoDB: no condition for the clause {kind}",
            "Each clause of a move is in its conditional write.",
            "conditions",
            "*(self._clause(clause) for clause in clauses)",
            f"*(self._clause(clause) for clause in clauses if type(clause).__name__ != {kind!r})",
            "moves, a move is refused when one clause does not hold",
        )
        for kind in _CLAUSES
    ),
    _mutant(
        "DynamoDB: the entry of a job that ended stays",
        "What is final and owed nothing leaves the index.",
        "transitions",
        'changed.update({"b": None, "k": None})',
        "pass",
        "job_indexes, an entry goes when the job succeeds",
    ),
    _mutant(
        "DynamoDB: a redriven job is still listed as dead",
        "The index of dead jobs shows them while they are dead.",
        "transitions",
        'changed["d"] = None',
        "pass",
        "job_indexes, the listing of dead jobs shows jobs while they are dead",
    ),
    _mutant(
        "DynamoDB: an index is read to its first page",
        "A bucket is read to the last page of every shard.",
        "records",
        'answer.get("LastEvaluatedKey")',
        "None",
        "job_indexes, every entry is on one page in the order of due times",
    ),
    _mutant(
        "DynamoDB: keys that were not processed are left",
        "Every read and write of a batch is of all that was asked.",
        "batches",
        "        if not left:\n            return found\n",
        "        if not left or left:\n            return found\n",
        "job_items, many jobs are read at once and missing ones left out, in part",
    ),
)

QUEUES = (
    _mutant(
        "SQS: a message that failed in its batch counts as sent",
        "A job is marked as sent when SQS acknowledged its message.",
        "queues",
        'accepted = {sent["Id"] for sent in answer.get("Successful", [])}',
        "accepted = {str(entry.index) for entry in batch}",
        "queues, more messages than one call takes all arrive once, in part",
    ),
    _mutant(
        "SQS: a delay is not told",
        "A message that is sent ahead is not seen before its job is due.",
        "queues",
        '"DelaySeconds": self.delay_seconds,',
        '"DelaySeconds": 0,',
        "queues, a delayed message is not seen yet",
    ),
    _mutant(
        "SQS: all jobs without a tenant are one group",
        "Only a tenant's jobs are a group, which SQS may hold back as noisy.",
        "queues",
        'return {} if group is None else {"MessageGroupId": group}',
        'return {"MessageGroupId": group or "pool.default"}',
        "queues, one batch takes messages with and without a group",
        "queues, a dead letter carries the group of its tenant",
    ),
    _mutant(
        "SQS: no message names its tenant's group",
        "SQS shares a queue out among tenants by their groups.",
        "queues",
        'return {} if group is None else {"MessageGroupId": group}',
        "return {}",
        "queues, one batch takes messages with and without a group",
    ),
    _mutant(
        "SQS: a receipt that is not valid hides its message",
        "Who cannot hide its message is told so.",
        "queues",
        "return not isinstance(answer, Expected)",
        "return True",
        "queues, a deleted message cannot be hidden and never comes again",
        "queues, a receipt that never was hides nothing",
    ),
)

MUTANTS = (*LEASES_AND_WATERMARK, *RECORDS, *JOBS, *QUEUES)
