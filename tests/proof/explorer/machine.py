"""The states of a scenario and the steps between them: all that may happen next."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from hourhand.domain.errors import Unavailable
from hourhand.domain.model import Job, JobStatus
from hourhand.ports import Delivery, Lease
from hourhand.services.submission import Submitted
from hourhand.testing import READS, START, FakeClock
from tests.proof.explorer.effects import (
    CONTROL,
    HANDLER,
    INVOKER,
    JOBS,
    KEYS,
    QUEUES,
    Effects,
    true_time,
)
from tests.proof.explorer.histories import Histories, History, Root
from tests.proof.explorer.process import worker_name
from tests.proof.explorer.rules import (
    Bounds,
    Run,
    Writer,
    judge_start,
    letters_owed,
    out_of_sight,
)
from tests.proof.explorer.scenario import Limits, Scenario
from tests.proof.explorer.script import MILLISECOND, Answer, Call
from tests.proof.explorer.world_parts import PORTS, fill, read_part
from tests.world.world import World

THROTTLED = Answer(error=Unavailable("It was throttled on purpose."))
LOST = Answer(error=Unavailable("Its answer was lost on purpose."))

FIRST_TICK, FIRST_DELIVERY, FIRST_SWEEP = 100, 200, 300
"""The numbers of processes, which decide their names and ids: one for each operation."""


class Budget(NamedTuple):
    """What may still go wrong."""

    crashes: int
    expiries: int
    throttles: int
    lost_answers: int
    stale: int
    duplicates: int
    losses: int


class Counts(NamedTuple):
    """What was begun: ticks, deliveries, sweeps of others' shards, operations; and what is over."""

    ticks: int
    deliveries: int
    sweeps: int
    begun: int
    over: int


class State(NamedTuple):
    """One state of the whole. ``shown``: the jobs as the index shows them, and until when.

    ``actors``: the histories of those in the middle of an operation, in the order of their starts.
    """

    now_ms: int
    parts: tuple[int, ...]
    shown: tuple[int, int] | None
    actors: tuple[int, ...]
    counts: Counts
    budget: Budget


class Step(NamedTuple):
    """What may happen next, by name, and what comes of it; ``broke``: which rules."""

    choice: str
    state: State
    broke: tuple[str, ...] = ()


class Machine:
    """Knows the first state of a scenario, and the steps from any state."""

    def __init__(self, scenario: Scenario, limits: Limits, *, reduced: bool = True) -> None:
        """Arrange the world. ``reduced``: calls that nobody can change need no turn."""
        self.scenario, self.limits, self.reduced = scenario, limits, reduced
        world = World(timings=scenario.timings, fan_out_entries=scenario.fan_out_entries)
        # An installation at work: what is done once, at the very first tick, is done.
        world.tick()
        scenario.arrange(world)
        self.start_ms = (world.clock.now() - START) // MILLISECOND
        self._skews = {
            worker_name(number): skew
            for label, skew in scenario.skews.items()
            for number in self._numbers(label)
        }
        ahead = max((timedelta(0), *scenario.skews.values()))
        bounds = Bounds(ahead, scenario.bounded, self._skew_of)
        self.effects = Effects(lambda: self.histories.answers, _parts_of(world), bounds)
        self.bounds = bounds
        self._note_first()
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget every history: more moves than was thought."""
        self.effects.forget()
        fixed = self.effects.fixed if self.reduced else self._never_fixed
        self.histories = Histories(self.scenario, self.effects.calls, fixed)
        self._throttled = self.histories.answers.number(THROTTLED)
        self._lost = self.histories.answers.number(LOST)
        self._none = self.histories.answers.number(Answer(None))
        self._looked: dict[tuple[int, int, int], tuple[tuple[str, str], ...]] = {}
        self._instants: dict[int, tuple[int, ...]] = {}
        self._run_numbers: dict[tuple[Run, ...], int] = {}
        self._taken: dict[tuple[int, str, int], tuple[int, Delivery, int]] = {}
        self._chosen = {
            name: self.histories.answers.number(Answer(name)) for name in self.scenario.handlers
        }

    def first(self) -> State:
        """Return the state in which nothing has begun."""
        limits = self.limits
        budget = Budget(
            limits.crashes,
            limits.expiries,
            limits.throttles,
            limits.lost_answers,
            limits.stale,
            limits.duplicates,
            limits.losses,
        )
        return State(self.start_ms, self.effects.first, None, (), Counts(0, 0, 0, 0, 0), budget)

    # --- what may happen next ---

    def steps(self, state: State) -> Iterator[Step]:
        """Yield everything that may happen next, in an order that is always the same.

        A call that commutes with all that others may do is made first, and nothing else is tried.
        """
        histories = [self.histories[number] for number in state.actors]
        if self.reduced:
            for place, history in enumerate(histories):
                if self._commutes(state, history):
                    yield from self._steps_of(state, place, history)
                    return
        for place, history in enumerate(histories):
            yield from self._steps_of(state, place, history)
        yield from self._begins(state)
        yield from self._deliveries(state)
        yield from self._times(state)

    def _commutes(self, state: State, history: History) -> bool:
        """Whether nobody else's doings, in any order, touch what the next call touches.

        A message that a worker holds is nobody else's while it is hidden; one that is being sent
        is nobody's yet (but for a look at how full the queues are, which nobody takes before
        messages can be missed); dead letters, and what is kept beside an attempt, are read by
        nobody who decides. Handlers start within their leases while no time passes.
        """
        call: Call = self.effects.calls.value(history.call or 0)
        method = call.method
        if call.port == "handler":
            return method == "end" or state.budget.expiries == 0
        if method in {"hide", "delete"}:
            return state.budget.duplicates == 0
        if method == "send":
            missed_ms = self.scenario.timings.redispatch_first // MILLISECOND
            return state.now_ms < self.start_ms + missed_ms
        return method in {"send_dead_letter", "put_failure"}

    def _steps_of(self, state: State, place: int, history: History) -> Iterator[Step]:
        label = history.root.label
        has_begun = history.parent is not None or label.startswith("worker")
        if has_begun and state.budget.crashes:
            yield self._die(state, place, history)
        call: Call = self.effects.calls.value(history.call or 0)
        if call.port == "clock" and call.args[0] > state.now_ms:
            return
        yield from self._calls(state, place, history, call, label)
        if history.at_ms != state.now_ms and history.reads_clock and history.parent is not None:
            late = self.histories.belated(history, state.now_ms)
            moved = _replaced(state, place, late.number)
            if late.has_ended:
                yield self._ended(moved, place, late, f"late {label}", late.complaints)
            else:
                call = self.effects.calls.value(late.call or 0)
                if call.port != "clock" or call.args[0] <= state.now_ms:
                    yield from self._calls(moved, place, late, call, f"late {label}")

    def _calls(
        self, state: State, place: int, history: History, call: Call, name: str
    ) -> Iterator[Step]:
        """Yield the ways in which the next call of an actor may come out."""
        if call.port == "handler":
            yield from self._handler(state, place, history, call, name)
            return
        if call.port == "clock":
            yield self._went_on(state, place, history, self._none, f"{name}", ())
            return
        budget = state.budget
        yield self._make(state, place, history, call, name)
        if call.method in READS:
            if call.method == "read_bucket" and state.shown is not None:
                yield self._make(state, place, history, call, f"stale {name}", is_stale=True)
        else:
            if budget.lost_answers:
                less = state._replace(budget=budget._replace(lost_answers=budget.lost_answers - 1))
                yield self._make(less, place, history, call, f"lost {name}", is_lost=True)
            if budget.stale and call.port == "jobs" and state.shown is None:
                lag_ms = self.scenario.timings.index_lag // MILLISECOND
                shown = (state.parts[JOBS], state.now_ms + lag_ms)
                less = state._replace(budget=budget._replace(stale=budget.stale - 1), shown=shown)
                yield self._make(less, place, history, call, f"hidden {name}")
        if budget.throttles:
            less = state._replace(budget=budget._replace(throttles=budget.throttles - 1))
            if call.method == "send" and len(call.args[0]) > 1:
                for entry in range(len(call.args[0])):
                    yield self._refuse(less, place, history, entry, name)
            yield self._went_on(less, place, history, self._throttled, f"throttled {name}", ())

    def _make(
        self,
        state: State,
        place: int,
        history: History,
        call: Call,
        name: str,
        *,
        is_stale: bool = False,
        is_lost: bool = False,
    ) -> Step:
        port = PORTS.index(call.port)
        part = state.parts[port]
        shown = state.shown[0] if is_stale and state.shown is not None else part
        answer, after, broke = self.effects.apply(
            history.call or 0,
            port,
            part,
            shown,
            state.now_ms,
            self._writer(history.root),
            history.root.label,
        )
        if after != part:
            parts = (*state.parts[:port], after, *state.parts[port + 1 :])
            state = state._replace(parts=parts)
        return self._went_on(state, place, history, self._lost if is_lost else answer, name, broke)

    def _refuse(self, state: State, place: int, history: History, entry: int, name: str) -> Step:
        """Send all messages of a batch but one, which SQS lists under ``Failed``."""
        call: Call = self.effects.calls.value(history.call or 0)
        taken = tuple(one for number, one in enumerate(call.args[0]) if number != entry)
        part = state.parts[QUEUES]
        root = history.root
        _, after, broke = self.effects.apply(
            self.effects.calls.number(Call("queues", "send", (taken,))),
            QUEUES,
            part,
            part,
            state.now_ms,
            self._writer(root),
            root.label,
        )
        told = [None if number != entry else "refused" for number in range(len(call.args[0]))]
        answer = self.histories.answers.number(Answer(told))
        parts = (*state.parts[:QUEUES], after, *state.parts[QUEUES + 1 :])
        moved = state._replace(parts=parts)
        return self._went_on(moved, place, history, answer, f"refused {entry} {name}", broke)

    def _went_on(
        self,
        state: State,
        place: int,
        history: History,
        answer: int,
        name: str,
        broke: tuple[str, ...],
    ) -> Step:
        after = self.histories.after(history, answer, state.now_ms)
        broke = (*broke, *after.complaints)
        if after.has_ended:
            return self._ended(_replaced(state, place, after.number), place, after, name, broke)
        moved = _replaced(state, place, after.number)
        return Step(name, moved, (*broke, *self._look(moved)))

    def _ended(
        self, state: State, place: int, history: History, name: str, broke: tuple[str, ...]
    ) -> Step:
        actors = (*state.actors[:place], *state.actors[place + 1 :])
        counts = state.counts
        if history.root.number < FIRST_TICK:
            counts = counts._replace(over=counts.over | 1 << (history.root.number - 1))
        ended = state._replace(actors=actors, counts=counts)
        told = (*broke, *self._look(ended), *self._promises(ended, history))
        return Step(name, ended, told)

    def _promises(self, state: State, history: History) -> Iterator[str]:
        """Yield what was promised to a caller and is not so."""
        result = history.result
        submitted = result if isinstance(result, list) else [result]
        known = {job.id for job in self.effects.jobs(state.parts[JOBS])}
        for each in submitted:
            if isinstance(each, Submitted) and each.job.id not in known:
                yield f"job {each.job.id} was acknowledged and is not there"

    def _die(self, state: State, place: int, history: History) -> Step:
        label = history.root.label
        budget = state.budget._replace(crashes=state.budget.crashes - 1)
        runs = self.effects.value(HANDLER, state.parts[HANDLER])
        left = tuple(run for run in runs if run.label != label)
        parts = self._with_runs(state.parts, left) if left != runs else state.parts
        actors = (*state.actors[:place], *state.actors[place + 1 :])
        dead = state._replace(actors=actors, parts=parts, budget=budget)
        if history.root.number < FIRST_TICK:
            over = dead.counts.over | 1 << (history.root.number - 1)
            dead = dead._replace(counts=dead.counts._replace(over=over))
        return Step(f"kill {label}", dead, tuple(self._look(dead)))

    # --- handlers ---

    def _handler(
        self, state: State, place: int, history: History, call: Call, name: str
    ) -> Iterator[Step]:
        runs: tuple[Run, ...] = self.effects.value(HANDLER, state.parts[HANDLER])
        label = history.root.label
        if call.method == "end":
            left = tuple(run for run in runs if run.label != label)
            moved = state._replace(parts=self._with_runs(state.parts, left))
            yield self._went_on(moved, place, history, self._none, name, ())
            return
        job: Job = call.args[0]
        broke = tuple(self._judge_start(state, job, runs, history.root))
        parts = self._with_runs(state.parts, (*runs, Run(job.id, job.token, label)))
        moved = state._replace(parts=parts)
        for chosen in self.scenario.handlers:
            answer = self._chosen[chosen]
            told = f"{name}: {chosen}" if len(self.scenario.handlers) > 1 else name
            yield self._went_on(moved, place, history, answer, told, broke)

    def _judge_start(
        self, state: State, job: Job, runs: tuple[Run, ...], root: Root
    ) -> Iterator[str]:
        now = true_time(state.now_ms)
        by_id = {each.id: each for each in self.effects.jobs(state.parts[JOBS])}
        stored = by_id.get(job.id)
        writer = self._writer(root)
        for told in judge_start(job, stored, runs, writer, now, self.bounds):
            yield f"job {job.id}: {told}"
        if job.idempotency_key is not None:
            records = self.effects.value(KEYS, state.parts[KEYS])[0]
            if not any(r.job_id == job.id and not r.is_done for r in records.values()):
                yield f"job {job.id}: a handler started whose idempotency key is not its own"
        if job.overlap is not None and job.overlap.max_running is not None:
            group = [by_id[run.job_id] for run in runs if run.job_id != job.id]
            live = [
                other
                for other in group
                if other.overlap is not None
                and other.overlap.group == job.overlap.group
                and other.lease_until is not None
                and other.lease_until >= now
            ]
            if len(live) >= job.overlap.max_running:
                yield f"job {job.id}: more of its group run than may"

    def _with_runs(self, parts: tuple[int, ...], runs: tuple[Run, ...]) -> tuple[int, ...]:
        number = self._run_numbers.get(runs)
        if number is None:
            ordered = tuple(sorted(runs, key=lambda run: (run.job_id, run.token, run.label)))
            number = self._run_numbers[runs] = self.effects.parts[HANDLER].number(ordered)
        return (*parts[:HANDLER], number, *parts[HANDLER + 1 :])

    # --- what begins ---

    def _begins(self, state: State) -> Iterator[Step]:
        counts, scenario = state.counts, self.scenario
        for index, operation in enumerate(scenario.operations):
            bit = 1 << index
            if counts.begun & bit or not self._may_begin(operation.after, counts.over):
                continue
            root = Root(operation.name, index + 1, operation.act)
            begun = state._replace(counts=counts._replace(begun=counts.begun | bit))
            yield from self._start(begun, root)
        running = [self.histories[number].root.number for number in state.actors]
        ticking = sum(FIRST_TICK <= number < FIRST_DELIVERY for number in running)
        if counts.ticks < scenario.ticks and ticking < scenario.schedulers:
            number = counts.ticks + 1
            root = Root(f"tick {number}", FIRST_TICK + number, lambda process: process.tick())
            begun = state._replace(counts=counts._replace(ticks=number))
            yield from self._start(begun, root)
        invoked = self.effects.value(INVOKER, state.parts[INVOKER])[1]
        if counts.sweeps < len(invoked):
            asked, number = invoked[counts.sweeps], counts.sweeps + 1
            root = Root(
                f"sweeper {number}",
                FIRST_SWEEP + number,
                lambda p: p.sweep_shards(asked.shards, asked.epoch, asked.tick_at),
                self.histories.answers.number(asked),
            )
            begun = state._replace(counts=counts._replace(sweeps=number))
            yield from self._start(begun, root)

    def _may_begin(self, after: tuple[str, ...], over: int) -> bool:
        names = [operation.name for operation in self.scenario.operations]
        return all(over >> names.index(name) & 1 for name in after)

    def _start(self, state: State, root: Root) -> Iterator[Step]:
        """Yield the first call of an operation in all its ways; or its start alone.

        That somebody read its clock and stands still before its first call matters to some.
        """
        begun = self._begin(state, root, f"start {root.label}")
        stalls = self.scenario.stalls and state.budget.expiries > 0
        if stalls or not self.reduced or len(begun.state.actors) == len(state.actors):
            yield begun
            return
        place, history = len(state.actors), self.histories[begun.state.actors[-1]]
        call = self.effects.calls.value(history.call or 0)
        for step in self._calls(begun.state, place, history, call, root.label):
            yield step._replace(choice=f"start {step.choice}", broke=(*begun.broke, *step.broke))

    def _begin(self, state: State, root: Root, name: str) -> Step:
        history = self.histories.begin(root, state.now_ms)
        begun = state._replace(actors=(*state.actors, history.number))
        if history.has_ended:
            return self._ended(begun, len(state.actors), history, name, history.complaints)
        return Step(name, begun, history.complaints)

    def _deliveries(self, state: State) -> Iterator[Step]:
        counts, budget = state.counts, state.budget
        messages = self.effects.value(QUEUES, state.parts[QUEUES])[0]
        if not messages:
            return
        roots = [self.histories[number].root.number for number in state.actors]
        working = sum(FIRST_DELIVERY <= number < FIRST_SWEEP for number in roots)
        is_free = counts.deliveries < self.scenario.deliveries and working < self.scenario.workers
        now = true_time(state.now_ms)
        for message in messages:
            message_id, visible_at, receives = message[0], message[5], message[6]
            if is_free and visible_at <= now:
                yield self._deliver(state, message_id, "deliver")
            elif is_free and budget.duplicates and receives:
                less = budget._replace(duplicates=budget.duplicates - 1)
                yield self._deliver(state._replace(budget=less), message_id, "deliver again")
            if budget.losses:
                less = budget._replace(losses=budget.losses - 1)
                lost = self._without(state._replace(budget=less), message_id)
                yield Step(f"purge {message_id}", lost, tuple(self._look(lost)))

    def _deliver(self, state: State, message_id: str, verb: str) -> Step:
        key = (state.parts[QUEUES], message_id, state.now_ms)
        found = self._taken.get(key)
        if found is None:
            found = self._taken[key] = self._take(*key)
        part, delivery, subject = found
        ordinal = state.counts.deliveries + 1
        taken = state._replace(
            parts=(*state.parts[:QUEUES], part, *state.parts[QUEUES + 1 :]),
            counts=state.counts._replace(deliveries=ordinal),
        )
        label = f"worker {ordinal}"
        root = Root(label, FIRST_DELIVERY + ordinal, _works_off(delivery), subject)
        return self._begin(taken, root, f"{verb} {message_id}")

    def _take(self, part: int, message_id: str, now_ms: int) -> tuple[int, Delivery, int]:
        """Return the queues after a message was delivered, the delivery, and its number."""
        clock = FakeClock(true_time(now_ms))
        messages, letters = self.effects.value(QUEUES, part)
        (message,) = [each for each in messages if each[0] == message_id]
        visible = (*message[:5], clock.now(), *message[6:])
        queues = fill("queues", ((visible,), ()), clock)
        (delivery,) = queues.receive(message[2])
        (taken,) = read_part("queues", queues)[0]
        kept = tuple(taken if each[0] == message_id else each for each in messages)
        after = self.effects.parts[QUEUES].number((kept, letters))
        return after, delivery, self.histories.answers.number(delivery)

    def _without(self, state: State, message_id: str) -> State:
        messages, letters = self.effects.value(QUEUES, state.parts[QUEUES])
        kept = tuple(each for each in messages if each[0] != message_id)
        part = self.effects.parts[QUEUES].number((kept, letters))
        return state._replace(parts=(*state.parts[:QUEUES], part, *state.parts[QUEUES + 1 :]))

    # --- time ---

    def _times(self, state: State) -> Iterator[Step]:
        """Yield moves of time. To where a sleeper wakes it moves at no cost."""
        wakes = [
            call.args[0]
            for number in state.actors
            if (call := self.effects.calls.value(self.histories[number].call or 0)).port == "clock"
            and call.args[0] > state.now_ms
        ]
        free = min(wakes, default=None)
        if free is not None:
            yield self._time(state, free)
        if state.budget.expiries:
            less = state.budget._replace(expiries=state.budget.expiries - 1)
            for instant in self._next_instants(state):
                if instant != free:
                    yield self._time(state._replace(budget=less), instant)

    def _time(self, state: State, now_ms: int) -> Step:
        shown = state.shown if state.shown is not None and now_ms <= state.shown[1] else None
        return Step(f"time {now_ms}", state._replace(now_ms=now_ms, shown=shown))

    def _next_instants(self, state: State) -> list[int]:
        instants = set(self._instants_of(state.parts[JOBS]))
        for message in self.effects.value(QUEUES, state.parts[QUEUES])[0]:
            instants.add(_ms(message[5]))
        if self.scenario.control == "real":
            tenures = self.effects.value(CONTROL, state.parts[CONTROL])[0]
            for tenure in tenures.values():
                lease: Lease | None = tenure.lease
                if lease is not None:
                    instants.add(_ms(lease.until + self.scenario.offsets[0]))
        instants.update(offset // MILLISECOND for offset in self.scenario.instants)
        return sorted(instant for instant in instants if instant > state.now_ms)

    def _instants_of(self, part: int) -> tuple[int, ...]:
        found = self._instants.get(part)
        if found is None:
            instants: set[int] = set()
            for job in self.effects.jobs(part):
                if job.status is JobStatus.RUNNING and job.lease_until is not None:
                    for offset in self.scenario.offsets:
                        instants.add(_ms(job.lease_until + offset))
                elif job.status.is_waiting and job.due_at is not None:
                    instants.add(_ms(job.due_at))
            found = self._instants[part] = tuple(sorted(instants))
        return found

    # --- the rules of states ---

    def _look(self, state: State) -> Iterator[str]:
        parts = state.parts
        key = (parts[JOBS], parts[CONTROL], parts[QUEUES])
        found = self._looked.get(key)
        if found is None:
            found = self._looked[key] = tuple(self._look_at(parts))
        for job_id, told in found:
            if not self._is_excused(state, job_id):
                yield told

    def _look_at(self, parts: tuple[int, ...]) -> Iterator[tuple[str, str]]:
        jobs = self.effects.jobs(parts[JOBS])
        _, shard_map, watermark, _ = self.effects.value(CONTROL, parts[CONTROL])
        yield from out_of_sight(jobs, shard_map, watermark)
        letters = self.effects.value(QUEUES, parts[QUEUES])[1]
        for told in letters_owed(jobs, letters):
            yield "", told

    def _is_excused(self, state: State, job_id: str) -> bool:
        """Whether a job may be out of sight: its writer is about to notice that it stalled.

        If that writer died, the deep re-read of the last day finds it: the continuation shows it.
        """
        if not job_id:
            return False
        if state.budget.crashes < self.limits.crashes:
            return True
        for number in state.actors:
            history: History | None = self.histories[number]
            while history is not None and history.parent is not None:
                value = self.histories.answers.value(history.answer).value
                if getattr(getattr(value, "job", None), "id", None) == job_id:
                    return True
                history = history.parent
        return False

    # --- parts ---

    def _writer(self, root: Root) -> Writer:
        worker = root.worker
        return Writer(worker, self._skews.get(worker, timedelta(0)))

    def _skew_of(self, worker: str | None) -> timedelta:
        return self._skews.get(worker or "", timedelta(0))

    def _numbers(self, label: str) -> range:
        kind, _, ordinal = label.partition(" ")
        first = {"tick": FIRST_TICK, "worker": FIRST_DELIVERY, "sweeper": FIRST_SWEEP}.get(kind)
        if first is None:
            names = [operation.name for operation in self.scenario.operations]
            return range(names.index(label) + 1, names.index(label) + 2)
        return (
            range(first + int(ordinal), first + int(ordinal) + 1)
            if ordinal
            else range(first + 1, first + 100)
        )

    def _never_fixed(self, call: Call) -> Answer | None:
        return None

    def _note_first(self) -> None:
        for job in self.effects.jobs(self.effects.first[JOBS]):
            if job.due_at is not None:
                self.effects.moving.add(((job.due_at - _EPOCH) // timedelta(minutes=1), job.shard))


_EPOCH = datetime(1970, 1, 1, tzinfo=START.tzinfo)


def _works_off(delivery: Delivery) -> Any:
    return lambda process: process.work(delivery)


def _ms(instant: datetime) -> int:
    return (instant - START) // MILLISECOND


def _replaced(state: State, place: int, number: int) -> State:
    actors = state.actors
    return state._replace(actors=(*actors[:place], number, *actors[place + 1 :]))


def _parts_of(world: World) -> tuple[Any, ...]:
    adapters = {
        "jobs": world.store,
        "control": world.control,
        "queues": world.queues,
        "keys": world.keys,
        "slots": world.slots,
        "schedules": world.schedules,
        "objects": world.objects,
        "invoker": world.invoker,
    }
    return (*(read_part(port, adapters[port]) for port in PORTS[:-1]), ())
