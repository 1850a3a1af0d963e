"""A trace as a story: when, who, the call and its answer in words, and the job as it is then."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hourhand.domain.errors import HourhandError
from hourhand.domain.jobs.job import Job, JobMessage
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports.job_store import Applied, IndexPage, Refused
from hourhand.ports.queues import Delivery, Outgoing
from proof.explorer.effects import JOBS, Widened
from proof.explorer.histories import History
from proof.explorer.machine import Machine
from proof.explorer.scenario import Limits, Scenario
from proof.explorer.script import Answer, Call
from proof.explorer.states import State, Step, Violation

MAX_WORDS = 160


class UnknownChoice(HourhandError):
    """This choice does not exist in the state that the choices before it lead to."""


def replay(machine: Machine, choices: Sequence[str]) -> list[tuple[State, Step]]:
    """Return the state before each choice, and its step. Raises `UnknownChoice`."""
    for _ in range(100):
        try:
            return _replay(machine, choices)
        except Widened:
            machine.begin_anew()
    raise AssertionError("the world moves in more and more places")


def _replay(machine: Machine, choices: Sequence[str]) -> list[tuple[State, Step]]:
    state, told = machine.first(), []
    for choice in choices:
        steps = [step for step in machine.steps(state) if step.choice == choice]
        if not steps:
            names = ", ".join(step.choice for step in machine.steps(state))
            raise UnknownChoice(f"{choice!r} is not possible here; possible are: {names}")
        told.append((state, steps[0]))
        state = steps[0].state
    return told


def tell(scenario: Scenario, limits: Limits, violation: Violation) -> list[str]:
    """Return the story of a trace, a line for each choice."""
    with scenario.in_force():
        return _tell(scenario, limits, violation)


def _tell(scenario: Scenario, limits: Limits, violation: Violation) -> list[str]:
    machine = Machine.for_replay(scenario, limits, violation)
    lines = []
    for before, step in replay(machine, violation.choices):
        seconds = step.state.now_ms / 1000
        lines.append(f"{seconds:9.3f}  {step.choice:24} {_what(machine, before, step)}")
        changed = before.parts[JOBS] != step.state.parts[JOBS]
        if changed:
            lines += [f"{'':36} = {_job(job)}" for job in _changed(machine, before, step.state)]
        lines += [f"{'':34} !!! {sentence}" for sentence in step.broke]
    return lines


def _changed(machine: Machine, before: State, after: State) -> list[Job]:
    known = machine.effects.jobs(before.parts[JOBS])
    return [job for job in machine.effects.jobs(after.parts[JOBS]) if job not in known]


def _what(machine: Machine, before: State, step: Step) -> str:
    """Tell the call and its answer, by comparing who is where before and after."""
    gone = [n for n in before.actors if n not in step.state.actors]
    new = [n for n in step.state.actors if n not in before.actors]
    if step.choice.startswith("time"):
        return "time passes"
    if step.choice.startswith("kill"):
        call = machine.effects.calls.value(machine.histories[gone[0]].call or 0)
        return f"dies before {_call(call)}"
    if step.choice.startswith("purge"):
        return "the message is lost"
    if not new:
        return _last_words(machine, gone)
    history = machine.histories[new[0]]
    if history.parent is None:
        call = machine.effects.calls.value(history.call or 0)
        return f"begins, and is about to {_call(call)}"
    return _step(machine, history)


def _last_words(machine: Machine, gone: Sequence[int]) -> str:
    if not gone:
        return "begins and ends without a call"
    history = machine.histories[gone[0]]
    call = machine.effects.calls.value(history.call or 0)
    return f"{_call(call)}, and is done"


def _step(machine: Machine, history: History) -> str:
    assert history.parent is not None
    call = machine.effects.calls.value(history.parent.call or 0)
    answer: Answer = machine.histories.answers.value(history.answer)
    told = f"{_call(call)} -> {_answer(answer)}"
    return told if len(told) <= MAX_WORDS else told[: MAX_WORDS - 3] + "..."


def _call(call: Call) -> str:
    given = [_value(each) for each in call.args] + [
        f"{name}={_value(value)}"
        for name, value in call.kwargs
        if name not in {"position", "limit", "margin"}
    ]
    return f"{call.port}.{call.method}({', '.join(given)})"


def _answer(answer: Answer) -> str:
    if answer.error is not None:
        return f"{type(answer.error).__name__}: {answer.error}"
    return _value(answer.value)


def _value(value: Any) -> str:  # noqa: PLR0911, PLR0912, C901 - one line for each kind of thing
    match value:
        case Transition():
            return f"{value.name} {value.job_id}"
        case Applied():
            return "applied"
        case Refused():
            return f"refused: {_job(value.current)}" if value.current else "refused: no such job"
        case Job():
            return _job(value)
        case Delivery():
            return f"{value.message_id} for generation {value.message.generation}"
        case Outgoing():
            return f"{_value(value.message)} to {value.queue} in {value.delay_seconds} s"
        case JobMessage():
            return f"generation {value.generation} of {value.job_id}"
        case IndexPage():
            return f"[{', '.join(entry.job_id for entry in value.entries)}]"
        case datetime():
            return f"{value:%H:%M:%S.%f}"[:-3]
        case tuple() | list():
            return f"[{', '.join(_value(each) for each in value)}]"
        case dict():
            return "{" + ", ".join(f"{k}: {_value(v)}" for k, v in value.items()) + "}"
        case _:
            return str(value)


def _job(job: Job) -> str:
    told = f"{job.id} {job.status} generation {job.generation} attempt {job.attempt}"
    if job.due_at is not None:
        told += f" due {job.due_at:%H:%M:%S.%f}"[:-3]
    if job.lease is not None:
        told += f" of {job.lease.owner} until {job.lease.until:%H:%M:%S.%f}"[:-3]
    return told if job.cancel_requested_at is None else f"{told} (asked to stop)"
