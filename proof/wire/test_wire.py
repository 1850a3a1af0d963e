"""A sample of the table of calls and faults, over moto, and that a planted fault is found."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from hourhand.aws import clients, failures
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.pipeline import LeanPipeline
from hourhand.aws.queues import SqsQueues
from hourhand.domain.errors import Unavailable
from hourhand.handlers import load_handlers
from hourhand.ports.job_store import Applied
from hourhand.settings import DispatchMode
from hourhand.wiring.adapters import aws_adapters
from proof.wire import partial, running
from proof.wire.calls import QUEUES, Call
from proof.wire.cells import NOT_MET, Outcome, how, play
from proof.wire.faults import (
    DENIED,
    FAULTS,
    GARBLED,
    INTERNAL,
    INVALID,
    LATE,
    LOST,
    RESET,
    SLOW,
    THROTTLED,
    Fault,
    Span,
    can_befall,
)
from proof.wire.listed import CALLS
from proof.wire.matrix import companions_of, scenes, send_alone
from proof.wire.partial import ALL_REFUSED, ONE_DOUBTED, ONE_REFUSED, PartialFault, Taken
from proof.wire.running import REHEARSALS, Run
from proof.wire.stage import Scene, Stage
from proof.wire.timeline import Timeline
from proof.wire.wire import Plan, Wire
from proof.wire.world import Cloud, World, installation

SCENES = {scene.name: scene for scene in scenes(can_batch=False)}
A_JOB, FAILURES, LOST_JOBS = SCENES["a job"], SCENES["failures"], SCENES["lost and owed"]
CHILDREN = SCENES["children"]
ONCE, OUTLASTING = Span.ONCE, Span.OUTLASTING

PUT = Call("api", "dynamodb", "PutItem", "jobs")
MOVE = Call("worker", "dynamodb", "UpdateItem", "jobs")
PUT_CHILD = Call("worker", "dynamodb", "PutItem", "jobs")
SEND = Call("api", "sqs", "SendMessageBatch", QUEUES)
HIDE = Call("worker", "sqs", "ChangeMessageVisibility", QUEUES)
LETTER = Call("worker", "sqs", "SendMessage", "dead-letters")
AGES = Call("scheduler", "cloudwatch", "GetMetricData", "metrics")
COUNTS = Call("scheduler", "sqs", "GetQueueAttributes", QUEUES)
PROBE = Call("scheduler", "sqs", "SendMessage", "clock")
DEAD = Call("scheduler", "dynamodb", "Query", "jobs (dead)")

_NUMBERS = itertools.count(1)

Cell = tuple[Scene, Call, Fault | PartialFault, Span, str]

CELLS: list[Cell] = [
    (A_JOB, PUT, THROTTLED, ONCE, "retried"),
    (A_JOB, PUT, INTERNAL, OUTLASTING, "503"),
    (A_JOB, PUT, LATE, OUTLASTING, "503"),
    (A_JOB, PUT, LOST, ONCE, "retried"),
    (A_JOB, PUT, SLOW, OUTLASTING, "unaffected"),
    (A_JOB, SEND, INTERNAL, OUTLASTING, "sweep"),
    (A_JOB, SEND, LATE, ONCE, "retried"),
    (A_JOB, SEND, GARBLED, ONCE, "unaffected"),
    (A_JOB, SEND, ONE_REFUSED, ONCE, "unaffected"),
    (A_JOB, SEND, ALL_REFUSED, OUTLASTING, "unaffected"),
    (A_JOB, SEND, ONE_DOUBTED, ONCE, "unaffected"),
    (A_JOB, MOVE, RESET, ONCE, "retried"),
    (A_JOB, MOVE, LOST, ONCE, "retried"),
    (A_JOB, MOVE, LOST, OUTLASTING, "unaffected"),
    (A_JOB, MOVE, LATE, ONCE, "retried"),
    (A_JOB, HIDE, INTERNAL, OUTLASTING, "message"),
    (FAILURES, LETTER, LOST, OUTLASTING, "message"),
    (CHILDREN, PUT_CHILD, INTERNAL, OUTLASTING, "unaffected"),
    (CHILDREN, PUT_CHILD, LOST, OUTLASTING, "sweep"),
    *[
        (LOST_JOBS, AGES, each, OUTLASTING, "unaffected")
        for each in (DENIED, INVALID, GARBLED, LATE)
    ],
    *[(LOST_JOBS, each, INVALID, OUTLASTING, "unaffected") for each in (COUNTS, PROBE, DEAD)],
]
"""The cell, and the word for how it ends."""

REFUSED = (ONE_REFUSED, ALL_REFUSED)

QUICK = [
    SCENES[name]
    for name in (
        "contents",
        "operations",
        "many at once",
        "callers",
        "questions",
        "later",
        "a pause",
        "children",
        "a graph",
        "a batch",
    )
]
"""Those that take a fraction of a second."""


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    timeline = Timeline()
    wire = Wire(timeline)
    with mock_aws(), wire.in_process(), timeline.rules():
        yield wire


@pytest.fixture
def world(wire: Wire, tmp_path: Path) -> Iterator[World]:
    prefix = f"w{next(_NUMBERS)}"
    with installation(Cloud(), prefix, wire.timeline, wire, tmp_path) as world:
        yield world


AS_EVER = Outcome()
"""How the two scenes of the cells end without a fault: nothing is told, and no minute passes."""


def outcome_of(world: World, scene: Scene, *plans: Plan) -> tuple[str, Outcome]:
    outcome = play(world, scene, 1, *plans)
    assert outcome.injected > 0
    assert outcome.without_trace() == []
    return how(outcome, AS_EVER), outcome


@pytest.mark.parametrize(
    ("scene", "call", "fault", "span", "word"),
    CELLS,
    ids=[f"{c.function}-{c.operation}-{c.resource}-{f.name}-{s}" for _, c, f, s, _ in CELLS],
)
def test_after_a_fault_every_job_ends_as_it_should(
    world: World, scene: Scene, call: Call, fault: Fault | PartialFault, span: Span, word: str
) -> None:
    ended, outcome = outcome_of(world, scene, Plan(call, fault, span))
    assert outcome.violations == []
    assert ended == word


def test_a_message_refused_in_its_batch_and_alone_is_sent_by_the_next_tick(world: World) -> None:
    plan = Plan(send_alone("api"), THROTTLED, OUTLASTING)
    alone = Plan(send_alone("api"), INTERNAL, OUTLASTING)
    for number, each in enumerate((plan, alone), start=1):
        outcome = play(world, A_JOB, number, each, *companions_of("api"))
        assert outcome.violations == []


def test_the_scenes_go_well_without_faults_and_make_no_call_beyond_the_list(world: World) -> None:
    for number, scene in enumerate((A_JOB, FAILURES, *QUICK), start=1):
        outcome = play(world, scene, number)
        assert replace(outcome, minutes=0) == AS_EVER, scene.name
        assert {call for call, _ in world.wire.seen} <= CALLS


def test_a_schedule_that_another_module_declares_is_not_in_the_scenes(
    wire: Wire, tmp_path: Path
) -> None:
    load_handlers("examples.schedules_as_code")
    with installation(Cloud(), f"w{next(_NUMBERS)}", wire.timeline, wire, tmp_path) as world:
        world.tick()
        assert world.schedules.list_schedules(after=None, limit=1).names == ()


def test_a_fault_that_retries_make_good_befalls_all_calls_of_a_scene_in_one_play(
    wire: Wire, tmp_path: Path
) -> None:
    run = Run(Cloud(), wire.timeline, wire, tmp_path, _numbers=_NUMBERS)
    results = list(run.play([A_JOB], lambda cell: cell.fault is RESET and not cell.companions))
    assert {result.word for result in results} == {"retried"}
    assert {result.cell.call for result in results} == run.calls - {send_alone("api")}
    assert run.plays == REHEARSALS + 1 + 1 + 1 + run.repeated
    assert run.broken_together == []


def test_batches_go_through_the_pipeline_that_is_deployed(world: World) -> None:
    settings = replace(world.settings, dispatch=DispatchMode.BATCH)
    assert isinstance(aws_adapters(settings, "scheduler").pipeline, LeanPipeline)


# --- the faults that are planted here must be found ---


def test_a_fault_that_nobody_brings_about_is_found(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Wire, "_befall", lambda _self, _fault, _request, apply: apply())
    monkeypatch.setattr(partial, "take_out", take_nothing_out)
    monkeypatch.setattr(running, "MOST_VAIN", 0)
    planted: tuple[Fault | PartialFault, ...] = (
        *(fault for fault in FAULTS if can_befall(fault, "dynamodb", "PutItem")),
        *REFUSED,
    )
    run = Run(Cloud(), wire.timeline, wire, tmp_path, _numbers=_NUMBERS)
    results = list(
        run.play(
            [A_JOB],
            lambda cell: (
                cell.span is ONCE
                and cell.fault in planted
                and cell.call == (SEND if cell.fault in REFUSED else PUT)
            ),
        )
    )
    assert sorted(r.cell.fault.name for r in results) == sorted(f.name for f in planted)
    for result in results:
        assert result.word == NOT_MET, result.cell
        assert any("left no trace" in told for told in result.violations), result.cell


def test_what_is_broken_under_faults_at_once_is_told_and_its_cells_are_played_again(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MAX_ATTEMPTS", 1)
    monkeypatch.setattr(DynamoJobStore, "put", put_and_hope)
    run = Run(Cloud(), wire.timeline, wire, tmp_path, _numbers=_NUMBERS)
    results = list(
        run.play([FAILURES], lambda cell: cell.fault is RESET and cell.call in {PUT, HIDE})
    )
    assert len(run.broken_together) > 0
    assert {result.cell.call for result in results if result.violations} == {PUT}
    assert {result.cell.call for result in results} == {PUT, HIDE}


_TAKE_OUT = partial.take_out


def take_nothing_out(fault: PartialFault, operation: str, params: dict[str, Any]) -> Taken:
    """Name what was to be refused, and send it all the same."""
    return replace(_TAKE_OUT(fault, operation, dict(params)), is_whole=False)


_PUT = DynamoJobStore.put


def put_and_hope(store: DynamoJobStore, job: Any) -> Any:
    try:
        return _PUT(store, job)
    except Unavailable:
        return Applied(job)


def test_a_put_that_is_taken_for_done_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DynamoJobStore, "put", put_and_hope)
    ended, outcome = outcome_of(world, FAILURES, Plan(PUT, INTERNAL, OUTLASTING))
    assert ended == "**broken**"
    assert any("is lost" in told for told in outcome.violations)


def test_a_dead_letter_that_is_taken_for_sent_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = SqsQueues.send_dead_letter

    def send_and_hope(queues: SqsQueues, body: str, *, tenant: str | None) -> None:
        try:
            send(queues, body, tenant=tenant)
        except Unavailable:
            return

    monkeypatch.setattr(SqsQueues, "send_dead_letter", send_and_hope)
    ended, outcome = outcome_of(world, FAILURES, Plan(LETTER, INTERNAL, OUTLASTING))
    assert ended == "**broken**"
    assert any("without a dead letter" in told for told in outcome.violations)


def test_a_child_that_is_taken_for_put_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DynamoJobStore, "put", put_and_hope)
    ended, outcome = outcome_of(world, CHILDREN, Plan(PUT_CHILD, INTERNAL, OUTLASTING))
    assert ended == "**broken**"
    assert any("the children of spreading-1 did not end" in told for told in outcome.violations)


def test_a_child_too_many_is_found(world: World) -> None:
    outcome = play(world, replace(CHILDREN, play=expect_one_child_less), 1)
    assert any("the children of spreading-1 did not end" in told for told in outcome.violations)


def expect_one_child_less(stage: Stage) -> None:
    CHILDREN.play(stage)
    stage.children["spreading-1"].pop()


def test_an_error_that_nobody_translates_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "translated", lambda error, _: error)
    ended, outcome = outcome_of(world, A_JOB, Plan(PUT, INTERNAL, OUTLASTING))
    assert ended == "**broken**"
    assert any("was answered 500" in told for told in outcome.violations)
