"""Our PartiQL statements on moto: each done under its own condition, as DynamoDB does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from hourhand.aws.conditions import compile_move
from hourhand.aws.items import job_to_item
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.partiql import insert_of, statement_of
from hourhand.local.moto_statements import Insert, Update, read_statement, understand_statements
from hourhand.ports import Applied, Refused
from hourhand.testing import START, make_job
from tests.contract.aws_services import AwsServices, moto_services
from tests.contract.move_cases import CASES, BrokenCase, MoveCase, broken_cases

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_broken_case = pytest.mark.parametrize("case", [*broken_cases()], ids=lambda case: case.name)

NOW: datetime = START


@pytest.fixture(scope="module")
def services() -> Iterator[AwsServices]:
    assert understand_statements()
    with moto_services() as services:
        yield services


@pytest.fixture
def new_id(request: pytest.FixtureRequest) -> Callable[[], str]:
    names = iter(range(1_000_000))
    return lambda: f"{abs(hash(request.node.name))}-{next(names)}"


@pytest.fixture
def store(services: AwsServices) -> DynamoJobStore:
    return DynamoJobStore(services.dynamodb, services.settings.jobs_table, batch_marks=True)


def answers(services: AwsServices, *statements: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = services.dynamodb.batch_execute_statement(
        Statements=[*statements]
    )["Responses"]
    return found


# --- reading --------------------------------------------------------------------------------------


@each_case
def test_every_move_that_is_said_as_a_statement_is_understood(case: MoveCase) -> None:
    statement = statement_of(compile_move(case.build(case.job("job-1", NOW), NOW)), "jobs")
    if statement is not None:
        parsed = read_statement(statement["Statement"])
        assert isinstance(parsed, Update)
        assert parsed.parameters == len(statement["Parameters"])


def test_most_moves_are_said_as_statements() -> None:
    made = [
        statement_of(compile_move(case.build(case.job("job-1", NOW), NOW)), "jobs")
        for case in CASES
    ]
    assert sum(statement is not None for statement in made) > len(CASES) / 2


def test_an_update_is_read_word_by_word() -> None:
    parsed = read_statement(
        'UPDATE "jobs" SET "a" = ? SET "n" = "n" + ? SET "h"[9000] = ? REMOVE "r" REMOVE "q" '
        'WHERE "p" = ? AND "s" = ? AND "a" IN [?, ?] AND ("b" IS MISSING AND size("h") = ?) '
        'AND "x" < "y" AND "z" <> ?'
    )
    a, n, h, r, q, p, b, x, y, z = (f"#n{ord(each):x}" for each in "anhrqpbxyz")
    assert parsed == Update(
        table="jobs",
        expression=f"SET {a} = :v0, {n} = {n} + :v1, {h}[9000] = :v2 REMOVE {r}, {q}",
        condition=(
            f"attribute_exists({p}) AND {a} IN (:v5, :v6) AND (attribute_not_exists({b}) "
            f"AND size({h}) = :v7) AND {x} < {y} AND {z} <> :v8"
        ),
        names={f"#n{ord(each):x}": each for each in "anhrqpbxyz"},
        key={"p": 3, "s": 4},
        values=(0, 1, 2, 5, 6, 7, 8),
    )


def test_an_insert_names_its_attributes() -> None:
    statement = insert_of(job_to_item(make_job()), "jobs")
    assert read_statement(statement["Statement"]) == Insert("jobs", tuple(job_to_item(make_job())))


@pytest.mark.parametrize(
    "statement",
    [
        'SELECT * FROM "jobs" WHERE "p" = ?',
        'DELETE FROM "jobs" WHERE "p" = ? AND "s" = ?',
        """UPDATE "jobs" SET "a" = 'text' WHERE "p" = ?""",
        'UPDATE "jobs" SET "a" = ? WHERE "p" = ? OR "s" = ?',
        'UPDATE "jobs" SET "a" = ? WHERE "p" = ? AND contains("a", ?)',
        'UPDATE "jobs" SET "a" WHERE "p" = ?',
        'UPDATE "jobs" REMOVE "a" = ? WHERE "p" = ?',
        'UPDATE "jobs" SET "a" = ? RETURNING ALL NEW * WHERE "p" = ?',
        """INSERT INTO "jobs" VALUE {'p': 'text'}""",
        "",
    ],
)
def test_what_we_do_not_write_is_not_understood(statement: str) -> None:
    assert read_statement(statement) is None


# --- doing ----------------------------------------------------------------------------------------


@each_case
def test_a_move_in_a_batch_is_made_whole_when_every_clause_holds(
    case: MoveCase, store: DynamoJobStore, new_id: Callable[[], str]
) -> None:
    job = case.job(new_id(), NOW)
    store.put(job)
    move = case.build(job, NOW)
    assert store.transition_many([move]) == [True]
    assert store.get(job.id) == move.apply(job)


@each_broken_case
def test_a_statement_whose_condition_does_not_hold_changes_nothing_and_returns_the_item(
    case: BrokenCase, services: AwsServices, store: DynamoJobStore, new_id: Callable[[], str]
) -> None:
    job, move = case.job_and_move(new_id(), NOW)
    statement = statement_of(compile_move(move), services.settings.jobs_table)
    if statement is None:
        # It is made by itself.
        return
    store.put(job)
    (answer,) = answers(services, statement)
    assert answer["Error"]["Code"] == "ConditionalCheckFailed"
    assert answer["Error"]["Item"] == job_to_item(job)
    assert store.get(job.id) == job


@each_case
def test_a_statement_makes_no_job_that_is_not_there(
    case: MoveCase, store: DynamoJobStore, new_id: Callable[[], str]
) -> None:
    job = case.job(new_id(), NOW)
    assert store.transition_many([case.build(job, NOW)]) == [False]
    assert store.get(job.id) is None


def test_an_insert_makes_an_item_once(services: AwsServices, new_id: Callable[[], str]) -> None:
    table = services.settings.jobs_table
    job = make_job(id=new_id())
    first, second = (insert_of(job_to_item(each), table) for each in (job, replace(job, token=9)))
    assert answers(services, first) == [{"TableName": table}]
    (answer,) = answers(services, second)
    assert answer["Error"]["Code"] == "DuplicateItem"
    store = DynamoJobStore(services.dynamodb, table)
    assert store.get(job.id) == job


def test_each_of_a_batch_is_judged_alone(store: DynamoJobStore, new_id: Callable[[], str]) -> None:
    there = make_job(id=new_id())
    store.put(there)
    new = [make_job(id=new_id()) for _ in range(30)]
    results = store.put_many([*new[:15], replace(there, token=9), *new[15:]])
    assert results == [*map(Applied, new[:15]), Refused(there), *map(Applied, new[15:])]


def test_a_value_that_moto_refuses_is_an_answer_too(
    services: AwsServices, new_id: Callable[[], str]
) -> None:
    table = services.settings.jobs_table
    item = job_to_item(make_job(id=new_id())) | {"z": {"N": "no number"}}
    good = insert_of(job_to_item(make_job(id=new_id())), table)
    refused, made = answers(services, insert_of(item, table), good)
    assert refused["Error"]["Code"] == "ValidationError"
    assert made == {"TableName": table}


def test_an_update_that_is_not_understood_changes_nothing_and_is_told_so(
    services: AwsServices, new_id: Callable[[], str]
) -> None:
    table = services.settings.jobs_table
    store = DynamoJobStore(services.dynamodb, table)
    job = make_job(id=new_id())
    store.put(job)
    key = {name: job_to_item(job)[name] for name in ("p", "s")}
    change, where = 'SET "own" = ?', 'WHERE "p" = ? AND "s" = ? AND contains("own", ?)'
    text = f'UPDATE "{table}" {change} {where}'
    parameters = [{"S": "x"}, *key.values(), {"S": "y"}]
    (answer,) = answers(services, {"Statement": text, "Parameters": parameters})
    assert answer["Error"]["Code"] == "ValidationError"
    assert "own" not in services.dynamodb.get_item(TableName=table, Key=key)["Item"]


def test_a_statement_on_a_table_that_is_not_there_is_told_so(services: AwsServices) -> None:
    (answer,) = answers(services, insert_of(job_to_item(make_job()), "no-such-table"))
    assert answer["Error"]["Code"] == "ResourceNotFound"
