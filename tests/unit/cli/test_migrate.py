"""``hourhand migrate``: its names, its lines, its exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner

from hourhand.aws.clients import client_config
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.migration import WALKED, Found, Tally
from hourhand.aws.migration_cursor import Cursor, WalkedTable, cursor_text
from hourhand.aws.migration_steps import key_attributes
from hourhand.aws.provision import provision
from hourhand.cli.doctor.deployment import TABLE_OUTPUTS
from hourhand.cli.main import app
from hourhand.cli.migrate import MigrateOptions, follow, lines_of
from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.testing import make_job

RUNNER = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})
OPTIONS = MigrateOptions(stack="s")
TABLES = [WalkedTable(f"acme-{table.name}", key_attributes(table)) for table in WALKED]


@pytest.fixture
def installed() -> Iterator[Any]:
    """Make an installation ``acme`` with three jobs, and a stack that names its tables."""
    with mock_aws():
        clients = [boto3.client(name, config=client_config()) for name in ("dynamodb", "sqs", "s3")]
        dynamodb: Any = clients[0]
        made = provision(*clients, prefix="acme")  # type: ignore[arg-type]
        store = DynamoJobStore(dynamodb, made.jobs_table)
        for number in range(3):
            store.put(make_job(id=f"job-{number}"))
        yield dynamodb


def run(*arguments: str, environment: dict[str, str] | None = None) -> Any:
    return RUNNER.invoke(app, ["migrate", *arguments], env=environment)


def test_it_counts_what_there_is(installed: Any) -> None:
    told = run("--prefix", "acme", "--dry-run")
    assert told.exit_code == 0, told.output
    lines = told.stdout.splitlines()
    assert lines[0].split() == ["kind", "version", "items", "outcome"]
    assert lines[1].split() == ["job", "1", "3", "current"]
    assert lines[2].startswith("3 items; 0 migrated, 0 raced;")
    assert lines[3] == "Nothing was written: this was a dry run."


def test_what_is_newer_makes_it_fail(installed: Any) -> None:
    installed.put_item(TableName="acme-idempotency", Item={"p": {"S": "k"}, "v": {"N": "2"}})
    told = run("--prefix", "acme")
    assert told.exit_code == 1
    assert "idempotency record         2            1  newer" in told.stdout


def test_it_stops_after_so_many_pages_and_goes_on_from_its_cursor(installed: Any) -> None:
    first = run("--prefix", "acme", "--pages", "1")
    assert first.exit_code == 1
    assert "3 items" in first.stdout
    cursor = first.stdout.split("--cursor ")[1].strip()
    rest = run("--prefix", "acme", "--cursor", cursor)
    assert (rest.exit_code, rest.stdout.split(";")[0]) == (0, "0 items")
    assert "This is of a part alone: acme-schedules from the cursor on, and the" in rest.stdout


def test_a_slice_does_not_speak_for_the_whole(installed: Any) -> None:
    told = run("--prefix", "acme", "--segment", "1/4")
    assert told.exit_code == 0
    assert "This is of a part alone: every table; slice 1 of 4." in told.stdout
    assert "a part alone" not in run("--prefix", "acme").stdout


def test_a_stack_that_is_named_wins_over_a_prefix_of_the_environment(installed: Any) -> None:
    told = run("--stack", "nobody", environment={"HOURHAND_INSTALLATION": "acme"})
    assert isinstance(told.exception, InvalidInput)
    assert told.exception.errors[0].field == "--stack"


def test_a_prefix_that_is_named_wins_over_a_stack_of_the_environment(installed: Any) -> None:
    told = run("--prefix", "acme", environment={"HOURHAND_STACK": "nobody"})
    assert told.exit_code == 0
    assert "Walking acme-jobs, acme-schedules, acme-idempotency, acme-control." in told.stderr


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--stack", "ours", "--prefix", "acme"], {}),
        ([], {"HOURHAND_STACK": "ours", "HOURHAND_INSTALLATION": "acme"}),
    ],
)
def test_a_stack_and_a_prefix_that_are_named_alike_are_refused(
    installed: Any, arguments: list[str], environment: dict[str, str]
) -> None:
    told = run(*arguments, environment=environment)
    assert isinstance(told.exception, InvalidInput)
    assert told.exception.errors[0].field == "--prefix"


def test_an_odd_item_is_named_and_makes_it_fail(installed: Any) -> None:
    installed.put_item(TableName="acme-idempotency", Item={"p": {"S": "k"}, "v": {"S": "x"}})
    told = run("--prefix", "acme")
    assert told.exit_code == 1
    assert "idempotency record         ?            1  without a readable version" in told.stdout
    assert "acme-idempotency p={'S': 'k'}: the attribute v must be a whole number" in told.stdout
    assert "job                        1            3  current" in told.stdout


def test_a_stack_names_its_tables(installed: Any) -> None:
    outputs = {output: {"Value": f"acme-{table}"} for table, output in TABLE_OUTPUTS.items()}
    template = {
        "Resources": {"Q": {"Type": "AWS::SQS::Queue"}},
        "Outputs": outputs,
    }
    cloudformation = boto3.client("cloudformation", config=client_config())
    cloudformation.create_stack(StackName="ours", TemplateBody=json.dumps(template))
    assert "job" in run("--stack", "ours").stdout
    del template["Outputs"]
    cloudformation.create_stack(StackName="other", TemplateBody=json.dumps(template))
    failed = run("--stack", "other")
    assert isinstance(failed.exception, InvalidInput)
    assert "has no output JobsTable, SchedulesTable" in failed.exception.errors[0].message


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--stack", "nobody"], "--stack"),
        (["--segment", "2/2", "--prefix", "acme"], "--segment"),
        (["--segment", "all", "--prefix", "acme"], "--segment"),
        (["--segment", "²/4", "--prefix", "acme"], "--segment"),
        (["--cursor", "?", "--prefix", "acme"], "--cursor"),
        (["--profile", "nobody", "--prefix", "acme"], "--profile"),
    ],
)
def test_what_is_wrong_is_named(installed: Any, arguments: list[str], field: str) -> None:
    told = run(*arguments)
    assert isinstance(told.exception, InvalidInput)
    assert told.exception.errors[0].field == field


PLACE = Cursor(table=2)


def interrupted(error: BaseException) -> Iterator[Tally]:
    yield Tally(cursor=PLACE)
    raise error


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (Unavailable("It was throttled."), 1)]
)
def test_a_walk_that_is_cut_off_says_where_to_go_on(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert follow(interrupted(error), Cursor(), OPTIONS, TABLES) == code
    assert f"To go on: --cursor {cursor_text(PLACE, TABLES)}" in capsys.readouterr().out


def test_a_long_walk_tells_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally()
    tally.found[Found("job", 1, "current")] = 10_000
    assert follow((tally for _ in range(50)), Cursor(), OPTIONS, TABLES) == 0
    assert capsys.readouterr().err == "10,000 items so far ...\n"


def test_the_lines_are_in_the_order_of_kind_and_version() -> None:
    tally = Tally()
    for found in (Found("text", 1, "current"), Found("job", 2, "current"), Found("job", 1, "x")):
        tally.found[found] = 1
    shown = [line.split()[:2] for line in lines_of(tally, is_dry=False)][1:4]
    assert shown == [["job", "1"], ["job", "2"], ["text", "1"]]
