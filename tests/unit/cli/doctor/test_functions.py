from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hourhand.cli.doctor.findings import Status
from hourhand.cli.doctor.functions import (
    NEEDS,
    function_looks,
    judge_environment,
    judge_loop,
    judge_reserve,
    judge_state,
    judge_timeout,
)
from hourhand.settings import Settings, settings_environment
from tests.unit.cli.doctor.fakes import DEPLOYMENT, STACK_OUTPUTS, client_error, fake_aws, found
from tests.unit.cli.doctor.fakes import statuses as statuses_of

SETTINGS = Settings(
    installation="hourhand-dev",
    jobs_table="hourhand-dev-jobs",
    control_table="hourhand-dev-control",
    idempotency_table="hourhand-dev-idempotency",
    schedules_table="hourhand-dev-schedules",
    bucket="contents-1",
    queue_high=STACK_OUTPUTS["QueueHighUrl"],
    queue_medium=STACK_OUTPUTS["QueueMediumUrl"],
    queue_low=STACK_OUTPUTS["QueueLowUrl"],
    dead_letter_queue=STACK_OUTPUTS["DeadLetterQueueUrl"],
    clock_queue=STACK_OUTPUTS["ClockQueueUrl"],
    handlers="my.jobs",
    manifest="manifest.json",
)


def configuration(**changes: str) -> dict[str, Any]:
    variables = settings_environment(SETTINGS) | changes
    return {
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "Runtime": "python3.13",
        "Timeout": 900,
        "Environment": {"Variables": variables},
    }


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, Status.OK),
        ({"State": "Pending"}, Status.WARNING),
        ({"State": "Inactive"}, Status.WARNING),
        ({"LastUpdateStatus": "InProgress"}, Status.WARNING),
        ({"State": "Failed", "StateReason": "no subnet"}, Status.FAILED),
        ({"LastUpdateStatus": "Failed", "LastUpdateStatusReason": "no subnet"}, Status.FAILED),
    ],
)
def test_a_function_must_be_ready_and_its_last_change_taken(
    changes: dict[str, str], status: Status
) -> None:
    findings = list(judge_state("api", configuration() | changes))
    assert statuses_of(findings) == [status]
    assert ("no subnet" in findings[0].seen) == (status is Status.FAILED)


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_an_environment_of_this_stack_is_complete(name: str) -> None:
    assert statuses_of(judge_environment(name, configuration(), STACK_OUTPUTS)) == [Status.OK]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"HOURHAND_JOBS_TABLE": ""}, "HOURHAND_JOBS_TABLE must be set"),
        ({"HOURHAND_TIMINGS": "[]"}, "HOURHAND_TIMINGS"),
        ({"HOURHAND_QUEUE_LOW_URL": "https://elsewhere"}, "queue_low is https://elsewhere"),
        ({"HOURHAND_INSTALLATION": "other"}, "installation is other"),
    ],
)
def test_a_function_that_knows_too_little_or_something_else_is_told(
    changes: dict[str, str], named: str
) -> None:
    (finding,) = judge_environment("worker", configuration(**changes), STACK_OUTPUTS)
    assert statuses_of([finding]) == [Status.FAILED]
    assert named in finding.seen


def test_an_environment_that_is_not_shown_is_skipped() -> None:
    hidden = {"Environment": {"Error": {"ErrorCode": "AccessDenied", "Message": "no kms"}}}
    (finding,) = judge_environment("api", hidden, STACK_OUTPUTS)
    assert statuses_of([finding]) == [Status.SKIPPED]
    assert "kms:Decrypt" in finding.mend


def test_messages_must_stay_hidden_for_as_long_as_the_worker_may_take() -> None:
    assert statuses_of([judge_timeout(900, {"high": 900, "low": 900})]) == [Status.OK]
    finding = judge_timeout(900, {"high": 900, "low": 899})
    assert statuses_of([finding]) == [Status.FAILED]
    assert "low 899 s" in finding.seen
    assert "high" not in finding.seen


def test_the_worker_must_be_allowed_its_loop() -> None:
    assert statuses_of([judge_loop("w", "Allow")]) == [Status.OK]
    finding = judge_loop("w", "Terminate")
    assert statuses_of([finding]) == [Status.FAILED]
    assert "--function-name w --recursive-loop Allow" in finding.mend


def looked(
    script: Mapping[str, dict[str, Any] | Exception | Callable[..., Any]],
) -> dict[str, list[str]]:
    standard = {
        "lambda.get_function_configuration": configuration(),
        "lambda.get_function_concurrency": {},
        "lambda.get_function_recursion_config": {"RecursiveLoop": "Allow"},
        "sqs.get_queue_attributes": {"Attributes": {"VisibilityTimeout": "900"}},
    }
    told: dict[str, list[str]] = {}
    for finding in found(function_looks(fake_aws({**standard, **script}), DEPLOYMENT)):
        told.setdefault(finding.check, []).append(f"{finding.status}: {finding.seen}")
    return told


def test_each_function_is_looked_at() -> None:
    assert looked({})["function worker"] == [
        "OK: active, python3.13",
        "OK: environment complete",
        "OK: may take 900 s",
        "OK: may send to its own queues",
    ]


def test_an_endpoint_that_knows_no_loops_hides_nothing_else() -> None:
    told = looked({"lambda.get_function_recursion_config": client_error("UnknownOperation")})
    assert told["function worker"][:3] == looked({})["function worker"][:3]
    assert told["function worker"][3].startswith("SKIPPED: ")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"HOURHAND_LEADER": "standby"}, "HOURHAND_LEADER is standby"),
        ({"HOURHAND_LOOK_AHEAD_SECONDS": "299"}, "looks 299 s ahead"),
    ],
)
def test_flags_that_make_jobs_late_are_told_of_the_scheduler(
    changes: dict[str, str], named: str
) -> None:
    findings = list(judge_environment("scheduler", configuration(**changes), STACK_OUTPUTS))
    assert statuses_of(findings) == [Status.OK, Status.WARNING]
    assert named in findings[1].seen
    api = judge_environment("api", configuration(**changes), STACK_OUTPUTS)
    assert statuses_of(api) == [Status.OK]


def test_a_function_of_which_none_may_run_is_switched_off() -> None:
    assert list(judge_reserve("worker", "w", None)) == []
    assert statuses_of(judge_reserve("worker", "w", 5)) == [Status.OK]
    (finding,) = judge_reserve("worker", "w", 0)
    assert statuses_of([finding]) == [Status.FAILED]
    assert finding.mend.endswith("--function-name w")
    for name in NEEDS:
        told = looked({"lambda.get_function_concurrency": {"ReservedConcurrentExecutions": 0}})
        assert any("is switched off" in seen for seen in told[f"function {name}"])


def test_what_is_read_is_the_version_that_the_alias_is_at() -> None:
    def answer(Qualifier: str, **_: str) -> dict[str, Any]:  # noqa: N803 (Lambda's)
        return configuration() | ({"Timeout": 901, "Version": "7"} if Qualifier == "live" else {})

    told = looked({"lambda.get_function_configuration": answer})
    assert any("may take 901 s" in seen for seen in told["function worker"])


def test_a_function_without_its_alias_is_told() -> None:
    gone = looked({"lambda.get_function_configuration": client_error("ResourceNotFoundException")})
    assert gone["function api"] == [
        "FAILED: there is no function hourhand-dev-api:live (ResourceNotFoundException)"
    ]
