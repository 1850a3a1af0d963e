"""AWS as a script: what each call answers, and the findings that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import OUTPUTS, Deployment
from hourhand.cli.doctor.findings import Finding, Look, Status, run_look
from hourhand.memory import MemoryClock

REGION, ACCOUNT = "eu-central-1", "123456789012"
STACK_ID = f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/hourhand-dev/1"

_NAMES = {
    "ApiUrl": "https://abc123.execute-api.eu-central-1.amazonaws.com",
    "Installation": "hourhand-dev",
    "JobsTable": "hourhand-dev-jobs",
    "ControlTable": "hourhand-dev-control",
    "IdempotencyTable": "hourhand-dev-idempotency",
    "SchedulesTable": "hourhand-dev-schedules",
    "ApiFunction": "hourhand-dev-api",
    "SchedulerFunction": "hourhand-dev-scheduler",
    "WorkerFunction": "hourhand-dev-worker",
    "TickRule": "hourhand-dev-tick",
}
_QUEUES = {
    "QueueHighUrl": "high",
    "QueueMediumUrl": "medium",
    "QueueLowUrl": "low",
    "DeadLetterQueueUrl": "dead-letters",
    "BackstopQueueUrl": "backstop",
    "ClockQueueUrl": "clock",
    "TickFailuresQueueUrl": "tick-failures",
}
STACK_OUTPUTS = _NAMES | {
    output: f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/hourhand-dev-{name}"
    for output, name in _QUEUES.items()
}
assert set(STACK_OUTPUTS) == set(OUTPUTS)

DEPLOYMENT = Deployment(STACK_ID, STACK_OUTPUTS)

Answer = Mapping[str, Any] | Exception | Callable[..., Any]


def client_error(code: str, message: str = "", status: int = 400) -> ClientError:
    """Return an error as AWS answers it, with a Date."""
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {
            "HTTPStatusCode": status,
            "HTTPHeaders": {"date": "Mon, 05 Jan 2026 09:00:00 GMT"},
        },
    }
    return ClientError(response, "Call")


class FakeClient:
    """Answers each method as the script says; a call that the script lacks fails the test."""

    def __init__(self, service: str, script: Mapping[str, Answer]) -> None:
        methods = {key.partition(".")[2] for key in script if key.startswith(f"{service}.")}
        self.meta = SimpleNamespace(
            method_to_api_mapping={
                method: "".join(part.capitalize() for part in method.split("_"))
                for method in methods
            }
        )
        for method in methods:
            setattr(self, method, self._method(script[f"{service}.{method}"]))

    @staticmethod
    def _method(answer: Answer) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer(**arguments) if callable(answer) else answer

        return call


class FakeSession:
    """Makes clients of one script; its credentials are nobody's."""

    region_name = REGION

    def __init__(self, script: Mapping[str, Answer]) -> None:
        self.script = script
        self.endpoints: list[str | None] = []

    def client(self, service: str, *, config: Any, endpoint_url: str | None) -> FakeClient:
        self.endpoints.append(endpoint_url)
        return FakeClient(service, self.script)

    def get_credentials(self) -> Credentials:
        return Credentials("testing", "testing")


def fake_aws(
    script: Mapping[str, Answer], clock: MemoryClock | None = None, endpoint: str | None = None
) -> Aws:
    """Return AWS that answers by ``script``: "service.method" to an answer, error or function."""
    session: Any = FakeSession(script)
    return Aws(session, clock or MemoryClock(), endpoint)


def found(looks: Iterable[Look]) -> list[Finding]:
    """Return what every look finds."""
    return [finding for look in looks for finding in run_look(look)]


def statuses(findings: Iterable[Finding]) -> list[Status]:
    """Return their statuses; check that whatever is not well says what to do."""
    listed = list(findings)
    assert all(bool(f.fix) == (f.status is not Status.OK) for f in listed), listed
    return [finding.status for finding in listed]
