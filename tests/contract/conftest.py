"""One fixture per port, over every store there is: in memory, moto, and emulators if given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from typing import Protocol, TypeVar, cast

import pytest

from hourhand.aws.control_store import DynamoControlStore
from hourhand.aws.idempotency_store import DynamoIdempotencyStore
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.object_store import S3ObjectStore
from hourhand.aws.schedule_store import DynamoCalendarStore, DynamoScheduleStore
from hourhand.aws.side_item_store import DynamoSideItemStore
from hourhand.local.remote_ports import PortServer, RemotePorts
from hourhand.memory import (
    MemoryControlStore,
    MemoryIdempotencyStore,
    MemoryJobStore,
    MemoryObjectStore,
    MemoryScheduleStore,
    MemorySideItemStore,
)
from hourhand.ports.calendar_store import CalendarStore
from hourhand.ports.control_store import ControlStore
from hourhand.ports.idempotency_store import IdempotencyStore
from hourhand.ports.job_store import JobStore
from hourhand.ports.object_store import ObjectStore
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.side_item_store import SideItemStore
from hourhand.settings import DispatchMode
from tests.contract.aws_services import (
    DISPATCH,
    ENDPOINTS,
    AwsServices,
    empty_moto,
    endpoint_services,
    moto_services,
)
from tests.contract.fresh import new_day
from tests.contract.queue_rig import MemoryQueueRig, QueueRig, SqsQueueRig

STORES = ["memory", "moto"]
if any(variable in os.environ for variable in ENDPOINTS.values()):
    STORES.append("endpoint")
MAKERS = {"moto": moto_services, "endpoint": endpoint_services}

Services = Callable[[str, str], AwsServices]
"""Returns the installation on a kind of store, given the service that is under test."""


@pytest.fixture
def now() -> datetime:
    return new_day()


def _require(kind: str, service: str) -> None:
    if kind == "endpoint" and ENDPOINTS[service] not in os.environ:
        pytest.skip(f"{ENDPOINTS[service]} is not set")


# Wider than a module, it would outlive the first test elsewhere that resets moto.
@pytest.fixture(scope="module")
def shared_services() -> Iterator[Services]:
    with ExitStack() as stack:
        made: dict[str, AwsServices] = {}

        def services(kind: str, service: str) -> AwsServices:
            _require(kind, service)
            if kind not in made:
                made[kind] = stack.enter_context(MAKERS[kind]())
            return made[kind]

        yield services


@pytest.fixture
def services(shared_services: Services) -> Services:
    """Return the installations of a module. That on moto holds nothing: it searches slowly."""
    empty_moto()
    return shared_services


@pytest.fixture
def own_services(services: Services) -> Iterator[Services]:
    """Return installations that hold nothing."""
    with ExitStack() as stack:

        def made(kind: str, service: str) -> AwsServices:
            _require(kind, service)
            if kind == "endpoint":
                return stack.enter_context(endpoint_services())
            return services(kind, service)

        yield made


A = TypeVar("A")


class Remote(Protocol):
    """Returns a memory adapter as another process of the local cloud uses it."""

    def __call__(self, adapter: A) -> A:
        """Return what calls it over a socket."""


@pytest.fixture(scope="session")
def remote() -> Iterator[Remote]:
    """Let every call of a memory adapter travel: what passes so, passes at home, too."""
    key = b"of these tests"
    adapters: dict[str, object] = {}
    server = PortServer(adapters, key)
    ports = RemotePorts(server.address, key)

    def reached(adapter: A) -> A:
        name = f"adapter-{len(adapters)}"
        adapters[name] = adapter
        return cast("A", getattr(ports, name))

    yield reached
    server.close()


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    """Name a kind of store: tests of several ports have all of them of one kind."""
    return str(request.param)


@pytest.fixture
def memory_schedules(remote: Remote) -> MemoryScheduleStore:
    """Return the one store in memory that holds schedules and calendars."""
    return remote(MemoryScheduleStore())


@pytest.fixture
def job_store(kind: str, services: Services, remote: Remote) -> JobStore:
    if kind == "memory":
        return remote(MemoryJobStore())
    aws = services(kind, "dynamodb")
    batch_marks = kind == "endpoint" and os.environ.get(DISPATCH) == DispatchMode.BATCH
    return DynamoJobStore(aws.dynamodb, aws.settings.jobs_table, batch_marks=batch_marks)


@pytest.fixture
def own_job_store(kind: str, own_services: Services, remote: Remote) -> JobStore:
    """Return a store that no other test uses."""
    if kind == "memory":
        return remote(MemoryJobStore())
    aws = own_services(kind, "dynamodb")
    return DynamoJobStore(aws.dynamodb, aws.settings.jobs_table)


@pytest.fixture
def control_store(kind: str, own_services: Services, remote: Remote) -> ControlStore:
    if kind == "memory":
        return remote(MemoryControlStore())
    aws = own_services(kind, "dynamodb")
    return DynamoControlStore(aws.dynamodb, aws.settings.control_table)


@pytest.fixture
def idempotency_store(kind: str, services: Services, remote: Remote) -> IdempotencyStore:
    if kind == "memory":
        return remote(MemoryIdempotencyStore())
    aws = services(kind, "dynamodb")
    return DynamoIdempotencyStore(aws.dynamodb, aws.settings.idempotency_table)


@pytest.fixture
def object_store(kind: str, services: Services, remote: Remote) -> ObjectStore:
    if kind == "memory":
        return remote(MemoryObjectStore())
    aws = services(kind, "s3")
    return S3ObjectStore(aws.s3, aws.settings.bucket)


@pytest.fixture
def queue_rig(kind: str, own_services: Services, remote: Remote) -> QueueRig:
    if kind == "memory":
        return MemoryQueueRig(remote)
    aws = own_services(kind, "sqs")
    return SqsQueueRig(aws, is_emulator=kind == "endpoint")


@pytest.fixture
def schedule_store(
    kind: str, services: Services, memory_schedules: MemoryScheduleStore
) -> ScheduleStore:
    if kind == "memory":
        return memory_schedules
    aws = services(kind, "dynamodb")
    return DynamoScheduleStore(aws.dynamodb, aws.settings.schedules_table)


@pytest.fixture
def own_schedule_store(kind: str, own_services: Services, remote: Remote) -> ScheduleStore:
    """Return a store that no other test uses."""
    if kind == "memory":
        return remote(MemoryScheduleStore())
    aws = own_services(kind, "dynamodb")
    return DynamoScheduleStore(aws.dynamodb, aws.settings.schedules_table)


@pytest.fixture
def calendar_store(
    kind: str, services: Services, memory_schedules: MemoryScheduleStore
) -> CalendarStore:
    if kind == "memory":
        return memory_schedules
    aws = services(kind, "dynamodb")
    return DynamoCalendarStore(aws.dynamodb, aws.settings.schedules_table)


@pytest.fixture
def side_item_store(kind: str, services: Services, remote: Remote) -> SideItemStore:
    if kind == "memory":
        return remote(MemorySideItemStore())
    aws = services(kind, "dynamodb")
    return DynamoSideItemStore(aws.dynamodb, aws.settings.jobs_table)
