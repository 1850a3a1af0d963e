"""The contract suite as killers: its tests, each over moto in this process.

A killer's name is that of a test without its first word: ``contract: slot_store, groups have
nothing to do with each other`` is `tests.contract.test_slot_store.test_groups_have_...`. Where it
ends in ``, in part``, the services do only a part of each batch, as the real ones may.
"""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

from hourhand.aws.calendar_store import DynamoCalendarStore
from hourhand.aws.control_store import DynamoControlStore
from hourhand.aws.idempotency_store import DynamoIdempotencyStore
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.schedule_store import DynamoScheduleStore
from hourhand.aws.slot_store import DynamoSlotStore
from hourhand.memory import START
from hourhand.testing import make_record
from tests.contract.aws_services import AwsServices, moto_services
from tests.contract.queue_rig import SqsQueueRig

IN_PART = ", in part"
DONE_OF_A_BATCH = 10
"""How many items of a read in part are given: the rest is for the next try."""

_FAKE_AWS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def contract_killer(what: str) -> Callable[[], None]:
    """Return the killer of that name, without ``contract:``. Raises `KeyError`."""
    module, _, told = what.removesuffix(IN_PART).partition(", ")
    tests = vars(import_module(f"tests.contract.test_{module}"))
    return partial(_run, tests[f"test_{told.replace(' ', '_')}"], what.endswith(IN_PART))


def _run(test: Callable[..., None], is_in_part: bool) -> None:
    """Run a test with each of its cases on an installation that is new."""
    os.environ.update(_FAKE_AWS)
    wanted = set(inspect.signature(test).parameters)
    cases = list(_cases(test))
    # The control table has one record of each kind; all other tests have names of their own.
    shared = [cases] if "control_store" not in wanted else [[case] for case in cases]
    for some in shared:
        with moto_services() as aws:
            for number, case in enumerate(some, 1):
                given = _fixtures(_in_part(aws) if is_in_part else aws, number)
                made = {name: given[name]() for name in wanted - case.keys()}
                test(**made, **case)


def _fixtures(aws: AwsServices, number: int) -> Mapping[str, Callable[[], Any]]:
    """Return what makes each of the suite's fixtures, over these services, for one case."""
    now = START + number * timedelta(days=2)
    until = now + timedelta(days=1)
    names, db = aws.settings, aws.dynamodb
    jobs = partial(DynamoJobStore, db, names.jobs_table, sleep=_do_not_sleep)
    schedules = partial(DynamoScheduleStore, db, names.schedules_table, sleep=_do_not_sleep)
    return {
        "now": lambda: now,
        "record": lambda: make_record(key=f"key-{number}", token=3, keep_until=until),
        "job_store": jobs,
        "own_job_store": jobs,
        "control_store": partial(DynamoControlStore, db, names.control_table),
        "idempotency_store": partial(DynamoIdempotencyStore, db, names.idempotency_table),
        "schedule_store": schedules,
        "own_schedule_store": schedules,
        "calendar_store": partial(DynamoCalendarStore, db, names.schedules_table),
        "slot_store": partial(DynamoSlotStore, db, names.jobs_table),
        "queue_rig": lambda: SqsQueueRig(aws, is_emulator=False),
    }


def _cases(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """Yield the arguments that the test is parametrized with: every combination of them."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    names = [mark.args[0] for mark in marks]
    for values in itertools.product(*(mark.args[1] for mark in marks)):
        yield dict(zip(names, values, strict=True))


def _do_not_sleep(seconds: float) -> None:
    """Go on at once: nobody is throttled for real."""


# --- services that do a part of a batch ---


class _Instead:
    """A client with one call in the place of its own."""

    def __init__(self, client: Any, **calls: Callable[..., Any]) -> None:
        self._client = client
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return self._calls.get(name) or getattr(self._client, name)


def _in_part(aws: AwsServices) -> AwsServices:
    return replace(
        aws,
        dynamodb=_Instead(aws.dynamodb, batch_get_item=partial(_read_some, aws.dynamodb)),
        sqs=_Instead(aws.sqs, send_message_batch=partial(_send_all_but_one, aws.sqs)),
    )


def _read_some(client: Any, **given: Any) -> Any:
    """Read half of the keys, once they are many, and hand the others back."""
    ((table, request),) = given["RequestItems"].items()
    keys = request["Keys"]
    count = max(DONE_OF_A_BATCH, len(keys) // 2)
    answer = client.batch_get_item(RequestItems={table: {**request, "Keys": keys[:count]}})
    left = {table: {**request, "Keys": keys[count:]}} if keys[count:] else {}
    return {**answer, "UnprocessedKeys": left}


def _send_all_but_one(client: Any, **given: Any) -> Any:
    """Send a batch without its first message, and say that it failed."""
    first, *others = given["Entries"]
    failed = [{"Id": first["Id"], "Code": "InternalError", "SenderFault": False}]
    if not others:
        return {"Successful": [], "Failed": failed}
    answer = client.send_message_batch(QueueUrl=given["QueueUrl"], Entries=others)
    return {**answer, "Failed": [*answer.get("Failed", []), *failed]}
