"""The whole command, on moto: what a deployment looks like of which half was removed by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from hourhand.aws.clock import SystemClock
from hourhand.aws.control_store import DynamoControlStore
from hourhand.cli.connection import DeploymentFlags
from hourhand.cli.doctor.asking import LOOKING_SECONDS
from hourhand.cli.doctor.findings import Finding, Status, run_look
from hourhand.cli.doctor.run import (
    examine,
    find,
    lines_of,
    looks_of,
    report_of,
    run_doctor,
)
from hourhand.cli.exits import CommandError
from hourhand.cli.session import Manner, Session
from hourhand.json_dataclasses import record_text
from hourhand.memory import START, MemoryClock
from hourhand.ports.control_store import TickRecord
from tests.unit.cli.doctor.conftest import PREFIX, Made
from tests.unit.cli.doctor.fakes import (
    DEPLOYMENT,
    STACK_ID,
    STACK_OUTPUTS,
    Answer,
    client_error,
    fake_aws,
    statuses,
)

# moto warns of an error that its own CloudFormation does not have.
pytestmark = pytest.mark.filterwarnings("ignore:.*UnknownAction.*InvalidAction:UserWarning")


@pytest.fixture(scope="module")
def deployed(made: Made) -> None:
    """Make a stack that names what is made; there are no functions, and no API."""
    urls = {
        output: made.sqs.get_queue_url(QueueName=url.rpartition("/")[2])["QueueUrl"]
        for output, url in STACK_OUTPUTS.items()
        if output.startswith("Queue")
    }
    named = {**STACK_OUTPUTS, **urls}
    template = {
        # A stack needs some resource; this one is asked for nothing.
        "Resources": {"Mark": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {name: {"Value": value} for name, value in named.items() if name != "ApiUrl"},
    }
    made.stacks.create_stack(StackName=PREFIX, TemplateBody=json.dumps(template))
    record = TickRecord(at=datetime.now(UTC), holder="h-1", epoch=1)
    DynamoControlStore(made.dynamodb, made.settings.control_table).write_tick(record)


@pytest.fixture(scope="module")
def findings(deployed: None) -> list[Finding]:
    """Return what is found of it: that takes a client of each service."""
    return find(DeploymentFlags(stack=PREFIX), SystemClock())


def by_check(findings: list[Finding]) -> dict[str, list[Finding]]:
    told: dict[str, list[Finding]] = {}
    for finding in findings:
        told.setdefault(finding.check, []).append(finding)
    return told


def test_what_is_there_is_well_and_what_is_not_is_named(findings: list[Finding]) -> None:
    told = by_check(findings)
    for well in ("credentials", "queue high", "queue clock", "dead jobs", "last tick"):
        assert Status.OK in statuses(told[well]), told[well]
    assert told["drift"][0].seen.startswith("not available here: ")
    assert statuses(told["drift"]) == [Status.SKIPPED]
    assert told["function api"][0].seen.startswith("there is no function hourhand-dev-api")
    assert told["tick rule"][0].seen.startswith("there is no rule hourhand-dev-tick")
    assert told["API"][0].seen == "not checked: the stack has no output ApiUrl"
    assert any("has no output ApiUrl" in f.seen for f in told["stack"])


def test_the_exit_code_tells_a_program_and_json_tells_it_the_rest(
    deployed: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_doctor(Session(manner=Manner(json=True)), DeploymentFlags(stack=PREFIX)) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["stack"], report["is_well"]) == (PREFIX, False)
    assert {
        "check": "dead jobs",
        "status": "OK",
        "seen": "no dead job is unresolved",
        "fix": "",
    } in (report["findings"])


def test_the_terminal_shows_what_to_do_below_what_is_not_well(
    findings: list[Finding], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hourhand.cli.doctor.run.find", lambda *_: findings)
    assert run_doctor(Session(), DeploymentFlags(stack=PREFIX)) == 1
    lines = capsys.readouterr().out.splitlines()
    place = next(n for n, line in enumerate(lines) if "function api" in line)
    assert lines[place].startswith("FAILED   function api")
    assert lines[place + 1].startswith("         to do: If it was deleted by hand")
    assert lines[-1].startswith("The deployment needs fixes: ")


def test_a_stack_that_is_not_there_ends_it_with_what_to_do(deployed: None) -> None:
    findings = find(DeploymentFlags(stack="other"), SystemClock())
    assert [f.check for f in findings[2:]] == ["stack", "everything else"]
    assert "--stack" in findings[2].fix
    report = report_of("other", findings)
    assert (report["verdict"], report["is_well"]) == ("failed", False)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            NoCredentialsError(),
            "This terminal has no AWS credentials: type `aws sso login` or `aws configure`, or "
            "give --profile NAME.",
        ),
        (
            EndpointConnectionError(endpoint_url="https://sts.example"),
            "AWS does not answer at https://sts.example: check the network and its proxy, and "
            "type the same command again.",
        ),
    ],
)
def test_without_credentials_or_a_network_one_sentence_says_what_to_type(
    error: Exception, sentence: str
) -> None:
    # The script knows no other call: nothing else is tried.
    aws = fake_aws({"sts.get_caller_identity": error})
    with pytest.raises(CommandError) as raised:
        examine(aws, MemoryClock(), PREFIX)
    assert str(raised.value) == sentence


def test_ages_are_by_the_time_of_aws_and_not_of_this_machine() -> None:
    # AWS's Date says 09:00:00; the machine is 20 minutes ahead, and the tick was just now.
    clock = MemoryClock(skew=timedelta(minutes=20))
    record = record_text(TickRecord, TickRecord(at=START, holder="h-1", epoch=1))
    outputs = [{"OutputKey": "ControlTable", "OutputValue": "control"}]
    stack = {"StackId": STACK_ID, "StackName": PREFIX, "StackStatus": "CREATE_COMPLETE"}
    dated = {"ResponseMetadata": {"HTTPHeaders": {"date": "Mon, 05 Jan 2026 09:00:00 GMT"}}}
    script: dict[str, Answer] = {
        "sts.get_caller_identity": {"Arn": "arn:aws:iam::1:user/ada", **dated},
        "cloudformation.describe_stacks": {"Stacks": [{**stack, "Outputs": outputs}]},
        "dynamodb.get_item": {"Item": {"p": {"S": "tick"}, "tick": {"S": record}}},
    }
    told = by_check(examine(fake_aws(script, clock), clock, PREFIX))
    assert statuses(told["this machine's clock"]) == [Status.FAILED]
    assert told["last tick"][0].status is Status.OK
    assert abs(clock.now() - START) <= timedelta(seconds=1)


def test_a_profile_that_does_not_exist_is_a_sentence() -> None:
    with pytest.raises(CommandError, match="has no profile nobody: type `aws configure list-"):
        find(DeploymentFlags(stack=PREFIX, profile="nobody"), SystemClock())


def test_what_there_was_no_time_for_is_not_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = MemoryClock()
    outputs = [{"OutputKey": key, "OutputValue": value} for key, value in STACK_OUTPUTS.items()]
    stack = {"StackId": STACK_ID, "StackName": PREFIX, "StackStatus": "UPDATE_COMPLETE"}

    def slow(**_: str) -> dict[str, object]:
        clock.advance(LOOKING_SECONDS)
        return {"Stacks": [{**stack, "Outputs": outputs}]}

    who = {"Arn": "arn:aws:iam::1:user/ada"}
    script: dict[str, Answer] = {
        "sts.get_caller_identity": who,
        "cloudformation.describe_stacks": slow,
        "cloudformation.detect_stack_drift": client_error("InvalidAction"),
    }
    findings = examine(fake_aws(script, clock), clock, PREFIX)
    assert set(statuses(findings)) == {Status.OK, Status.SKIPPED, Status.UNKNOWN}
    monkeypatch.setattr("hourhand.cli.doctor.run.find", lambda *_: findings)
    assert run_doctor(Session(), DeploymentFlags(stack=PREFIX)) == 3
    assert "Too little was checked to know" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("check", "script"),
    [
        ("last tick", "dynamodb.get_item"),
        ("tick rule", "events.describe_rule"),
        ("event source high", "lambda.list_event_source_mappings"),
        ("queue high", "sqs.get_queue_attributes"),
        ("function worker", "lambda.get_function_configuration"),
    ],
)
def test_nothing_is_well_without_what_is_essential(check: str, script: str) -> None:
    aws = fake_aws({script: client_error("UnknownOperationException")})
    looks = [look for look in looks_of(aws, DEPLOYMENT) if look.check == check]
    # The script knows but one call: what makes another fails in another way.
    told = [finding for look in looks for finding in run_look(look)]
    unknowns = [f for f in told if "not available here" in f.seen and f.status is Status.UNKNOWN]
    assert len(unknowns) == 1


def test_all_well_exits_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    well = [Finding("credentials", Status.OK, "ada"), Finding("x", Status.WARNING, "so", "do")]
    monkeypatch.setattr("hourhand.cli.doctor.run.find", lambda *_: well)
    assert run_doctor(Session(), DeploymentFlags(stack=PREFIX)) == 0
    assert "The deployment works: 1 OK, 1 WARNING." in capsys.readouterr().out
    assert len(list(lines_of(well))) == 5
