"""The whole system, stepped at random: whatever happens in whatever order, every job ends once.

Hypothesis looks for an order of submissions, operations, ticks, deliveries, deaths, losses and
duplicates that breaks an invariant, and shows the shortest one that it finds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hourhand.domain.errors import IdempotencyConflict, InvalidInput, Unavailable, WrongState
from hourhand.domain.jobs.history import KEEP_FIRST, is_over_budget
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Outgoing
from hourhand.testing import Crash
from tests.examples import examples
from tests.world.checks import check_world
from tests.world.faults import Faults, When
from tests.world.runs import (
    Behaviour,
    HandlerKilled,
    fail,
    fail_for_good,
    kill_process,
    snooze,
    stop_if_told,
    succeed,
)
from tests.world.world import Process, World

MINUTES_TO_REST = 120
"""After the last fault; the longest wait is that for a message that a backlog explained."""

PAYLOADS = {"inline": "x", "beside": "x" * 400, "in the bucket": "x" * 300_000}

SIMPLE: dict[str, Behaviour] = {
    "succeed": succeed,
    "fail": fail,
    "fail for good": fail_for_good,
    "snooze": snooze(50),
    "stop if told": stop_if_told,
    "die": kill_process,
}
BODIES = st.fixed_dictionaries(
    {
        "delay_seconds": st.sampled_from([0, 1.5, 40, 200, 400, 700]),
        "priority": st.sampled_from(["high", "medium", "low"]),
        "retry": st.sampled_from([{"max_attempts": n, "base_seconds": 20} for n in (1, 2, 3)]),
        "on_lost": st.sampled_from(["retry", "dead"]),
        "payload": st.sampled_from([*PAYLOADS]),
    },
    optional={"idempotency_key": st.sampled_from(["a", "b"])},
)
PATCHES = st.sampled_from(
    [{"delay_seconds": 5}, {"delay_seconds": 500}, {"priority": "high"}, {"payload": "new"}]
)
OPERATIONS = st.sampled_from(["cancel", "run_now", "redrive", "discard"])
SOME = st.integers(min_value=0, max_value=9)
METHODS = [
    *("jobs.put", "jobs.transition", "jobs.transition_many", "jobs.get", "jobs.get_many"),
    *("jobs.get_details", "jobs.put_text", "jobs.get_text", "jobs.put_failure"),
    *("queues.send", "queues.hide", "queues.send_dead_letter", "queues.view"),
    *("control.read_shard_map", "control.renew_lease", "control.write_watermark"),
    *("idempotency.begin", "idempotency.finish", "objects.put", "objects.mark_finished"),
]


@dataclass(frozen=True)
class Trouble:
    """What goes wrong for one process: a death at a call, or a call without an answer."""

    kind: str
    method: str
    number: int

    def plan(self) -> Faults:
        """Return faults that hold this trouble."""
        faults = Faults()
        match self.kind:
            case "throttle":
                faults.throttle(self.method, nth=self.number)
            case "lose answer":
                faults.lose_answer(self.method, nth=self.number)
            case side:
                faults.crash(self.number, When(side))
        return faults


TROUBLES = st.builds(
    Trouble,
    kind=st.sampled_from([*When, "throttle", "lose answer"]),
    method=st.sampled_from(METHODS),
    number=st.integers(min_value=1, max_value=12),
)


class WorldMachine(RuleBasedStateMachine):
    """People, workers, leaders, AWS and bad luck, one step at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(timings=Timings())

    # --- people ---------------------------------------------------------------------------------

    @rule(body=BODIES)
    def submit(self, body: dict[str, Any]) -> None:
        self._submit(self.world.process(), body)

    @rule(body=BODIES, trouble=TROUBLES)
    def submit_in_trouble(self, body: dict[str, Any], trouble: Trouble) -> None:
        self._in_trouble(trouble, lambda process: self._submit(process, body))

    def _submit(self, process: Process, body: dict[str, Any]) -> None:
        with suppress(IdempotencyConflict):
            payload = PAYLOADS[body["payload"]]
            self.world.submit(by=process.api, **{**body, "payload": payload})

    @precondition(lambda self: self.world.store.jobs())
    @rule(operation=OPERATIONS, number=SOME)
    def operate(self, operation: str, number: int) -> None:
        self._operate(self.world.process(), operation, number)

    @precondition(lambda self: self.world.store.jobs())
    @rule(operation=OPERATIONS, number=SOME, trouble=TROUBLES)
    def operate_in_trouble(self, operation: str, number: int, trouble: Trouble) -> None:
        self._in_trouble(trouble, lambda p: self._operate(p, operation, number))

    def _operate(self, process: Process, operation: str, number: int) -> None:
        operate = getattr(process.api.operations, operation)
        with suppress(WrongState):
            operate(self._pick(number).id, actor="caller")

    @precondition(lambda self: self.world.store.jobs())
    @rule(patch=PATCHES, number=SOME)
    def change(self, patch: dict[str, Any], number: int) -> None:
        with suppress(WrongState, InvalidInput):
            self.world.change(self._pick(number), **patch)

    def _pick(self, number: int) -> Job:
        jobs = sorted(self.world.store.jobs().values(), key=lambda job: (job.created_at, job.id))
        return jobs[number % len(jobs)]

    # --- schedulers and workers -----------------------------------------------------------------

    @rule()
    def tick(self) -> None:
        self.world.tick()

    @rule(trouble=TROUBLES)
    def tick_in_trouble(self, trouble: Trouble) -> None:
        self._in_trouble(trouble, lambda process: self.world.tick(process.scheduler))

    @rule(behaviour=st.sampled_from(sorted(SIMPLE)))
    def work(self, behaviour: str) -> None:
        self._work(self.world.process(), SIMPLE[behaviour])

    @rule(behaviour=st.sampled_from(sorted(SIMPLE)), trouble=TROUBLES)
    def work_in_trouble(self, behaviour: str, trouble: Trouble) -> None:
        self._in_trouble(trouble, lambda p: self._work(p, SIMPLE[behaviour]))

    @rule(then=st.sampled_from(sorted(SIMPLE)), seconds=st.sampled_from([50, 70, 200]))
    def work_paused(self, then: str, seconds: int) -> None:
        """A process stands still in the midst of its handler, while everybody else goes on."""

        def behave(job: Job, pulse: Pulse) -> Finished:
            self.world.advance(seconds)
            self.world.tick()
            self._work(self.world.process(), succeed)
            return SIMPLE[then](job, pulse)

        self._work(self.world.process(), behave)

    def _work(self, process: Process, behaviour: Behaviour) -> None:
        """Work off one message, the first that is visible."""
        for queue in list(self.world.queues.counts()):
            for delivery in self.world.queues.receive(queue, 1):
                with suppress(HandlerKilled):
                    self.world.handle(delivery, behaviour, process.worker)
                return

    def _in_trouble(self, trouble: Trouble, act: Callable[[Process], object]) -> None:
        with suppress(Crash, Unavailable):
            act(self.world.process(trouble.plan()))

    # --- AWS and time ---------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 10, 60, 300, 1900]))
    def let_time_pass(self, seconds: int) -> None:
        self.world.advance(seconds)

    @precondition(lambda self: self.world.queues.messages())
    @rule(number=SOME)
    def duplicate_a_message(self, number: int) -> None:
        messages = self.world.queues.messages()
        original = messages[number % len(messages)]
        copy = Outgoing(message=original.message, queue=original.queue, delay_seconds=0)
        self.world.queues.send([copy])

    @precondition(lambda self: self.world.queues.messages())
    @rule()
    def lose_a_message(self) -> None:
        for delivery in self.world.receive()[:1]:
            self.world.queues.delete(delivery)

    @rule()
    def purge_the_queues(self) -> None:
        self.world.queues.purge()

    # --- what must be true after each step ------------------------------------------------------

    @invariant()
    def every_job_that_is_not_final_is_where_the_sweep_looks(self) -> None:
        state = self.world.control.read_watermark()
        for job in self.world.store.jobs().values():
            if job.status.is_final:
                continue
            assert job.due_at is not None
            assert job.shard is not None
            bucket = bucket_of(job.due_at)
            page = self.world.store.read_bucket(bucket, job.shard, position=None, limit=1000)
            assert job.id in {entry.job_id for entry in page.entries}
            assert state is None or bucket >= state.low or bucket in state.open

    @invariant()
    def a_final_job_is_in_the_index_only_while_something_is_owed(self) -> None:
        for job in self.world.store.jobs().values():
            if job.status.is_final and job.due_at is not None:
                large = job.payload.key is not None
                assert job.status is JobStatus.DEAD or large
                assert job.keep_until is None, "what is owed would be deleted"

    @invariant()
    def only_a_running_job_has_an_owner(self) -> None:
        for job in self.world.store.jobs().values():
            assert (job.lease is not None) is (job.status is JobStatus.RUNNING)

    @invariant()
    def no_job_has_more_attempts_than_it_may(self) -> None:
        for job in self.world.store.jobs().values():
            assert 0 <= job.attempt <= job.retry.max_attempts
            assert job.attempt <= job.token

    @invariant()
    def a_history_is_bounded_and_keeps_its_beginning(self) -> None:
        for job in self.world.store.jobs().values():
            assert job.history[0].kind is EventKind.SUBMITTED
            assert not is_over_budget(job.history) or len(job.history) <= KEEP_FIRST + 1

    def teardown(self) -> None:
        """Once all trouble is over, every job comes to its end."""
        self.world.settle(minutes=MINUTES_TO_REST)
        check_world(self.world)


WorldMachine.TestCase.settings = examples(250, stateful_step_count=30)
TestWorld = WorldMachine.TestCase
TestWorld.pytestmark = [pytest.mark.timeout(600)]  # type: ignore[attr-defined]
