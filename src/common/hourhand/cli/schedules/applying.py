"""``hourhand schedules apply``: compares files with what there is, shows it, asks, and puts it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from hourhand.answers.schedules import Schedule
from hourhand.cli.exits import DONE, FAILED, REFUSED, CommandError
from hourhand.cli.output.harmless import cell
from hourhand.cli.schedules.definition import NOT_PUT, ApplyFlags
from hourhand.cli.schedules.files import FileSchedule, Problems, read_schedules
from hourhand.cli.session import Session

PAGE = 200
MAX_VALUE_CHARACTERS = 120
"""How much of a value a line of the difference shows."""

CREATE, CHANGE, KEEP, DELETE = "create", "change", "keep", "delete"
SIGNS = {CREATE: ("+", "green"), CHANGE: ("~", "yellow"), DELETE: ("-", "red"), KEEP: ("=", "dim")}
DONE_WORDS = {CREATE: "created", CHANGE: "changed", KEEP: "unchanged", DELETE: "deleted"}


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done with one schedule. ``changes``: the value before and after, by field."""

    id: str
    action: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    def as_json(self, *, is_dry: bool) -> dict[str, Any]:
        """Return the step as a line of --json."""
        changes = {name: {"from": old, "to": new} for name, (old, new) in self.changes.items()}
        return {"id": self.id, "action": self.action, "changes": changes, "dry_run": is_dry}


def apply(session: Session, paths: Sequence[str], how: ApplyFlags) -> int:
    """Apply the schedules of files; return the exit code.

    Raises `CommandError` for files that are wrong, before anything is written.
    """
    schedules = read_schedules(paths)
    steps = _steps(session, schedules, how)
    if how.prune:
        steps += _deletions(session, {schedule.id for schedule in schedules}, how.origin)
    differing = {step.id: step for step in steps if step.action != KEEP}
    if not session.is_json:
        _print_steps(session, steps)
    if how.dry_run:
        _report(session, steps, is_dry=True)
        return FAILED if differing else DONE
    deleted = [step.id for step in steps if step.action == DELETE]
    if deleted:
        session.confirm(_question(deleted, how.origin), is_sure=how.yes)
    done: set[str] = set()

    def act(schedule_id: str) -> None:
        _do(session, differing[schedule_id], how.origin)
        done.add(schedule_id)

    puts = [step.id for step in differing.values() if step.action != DELETE]
    code = session.do_to_each(puts, act)
    if code == DONE:
        code = session.do_to_each(deleted, act)
    elif deleted:
        session.remark("Nothing was deleted, because a schedule could not be put.", "yellow")
    _report(session, [s for s in steps if s.action == KEEP or s.id in done], is_dry=False)
    return code


def _steps(session: Session, schedules: Sequence[FileSchedule], how: ApplyFlags) -> list[Step]:
    """Return what each schedule of the files asks for, after the API has checked all of them."""
    from hourhand.client import Invalid, NotFound, TooLarge

    client, problems = session.client.schedules, Problems()
    taken: list[str] = []
    steps: list[Step] = []
    for schedule in schedules:
        fields = {**schedule.fields, "managed_by": how.origin}
        try:
            would = client.put(schedule.id, fields, dry_run=True)
        except (Invalid, TooLarge) as error:
            for name, message in _problems_of(error):
                problems.add(schedule.place.of(name), f"{schedule.id}: {message}")
            continue
        try:
            found: Schedule | None = client.get(schedule.id)
        except NotFound:
            found = None
        if found is not None and found.managed_by not in {None, how.origin}:
            taken.append(f"  {schedule.place.of('id')}: {schedule.id} is of {found.managed_by}")
        steps.append(_step(schedule.id, fields, found, would))
    problems.require_none()
    if taken and not how.take_over:
        head = (
            "Some schedules have another origin, so nothing was changed. Give them other IDs, "
            "remove them there, or use --take-over:"
        )
        raise CommandError("\n".join([head, *taken]), REFUSED)
    return steps


def _problems_of(error: Any) -> Iterator[tuple[str, str]]:
    """Yield each wrong field, and in words what is wrong; no field stands for the whole."""
    if not error.errors:
        yield "", error.detail
    for problem in error.errors:
        yield problem.field, f"{problem.field} {problem.message}"


def _step(
    schedule_id: str, fields: Mapping[str, Any], found: Schedule | None, would: Schedule
) -> Step:
    after = {name: value for name, value in would.raw.items() if name not in NOT_PUT}
    if found is None:
        return Step(schedule_id, CREATE, fields, {n: (None, v) for n, v in after.items()})
    changes = {
        name: (found.raw.get(name), value)
        for name, value in after.items()
        if found.raw.get(name) != value
    }
    return Step(schedule_id, CHANGE if changes else KEEP, fields, changes)


def _deletions(session: Session, kept: set[str], origin: str) -> list[Step]:
    listed = session.client.schedules.list(page_size=PAGE)
    return [
        Step(one.id, DELETE) for one in listed if one.managed_by == origin and one.id not in kept
    ]


def _question(deleted: Sequence[str], origin: str) -> str:
    counted = "1 schedule" if len(deleted) == 1 else f"{len(deleted)} schedules"
    return f"Delete {counted} of {origin} that no file has: {', '.join(deleted)}?"


def _do(session: Session, step: Step, origin: str) -> None:
    from hourhand.client import NotFound

    client = session.client.schedules
    if step.action != DELETE:
        client.put(step.id, step.fields)
        return
    try:
        # The listing may lag: another origin may have taken it over meanwhile.
        if client.get(step.id).managed_by == origin:
            client.delete(step.id)
    except NotFound:
        return


def _report(session: Session, steps: Sequence[Step], *, is_dry: bool) -> None:
    """Print what was done, or would be."""
    if session.is_json:
        for step in steps:
            session.print_json(step.as_json(is_dry=is_dry))
        return
    counts = Counter(step.action for step in steps)
    words = {KEEP: "unchanged"} if is_dry else DONE_WORDS
    counted = [
        f"{counts[action]:,} {words.get(action, f'to {action}')}"
        for action in SIGNS
        if counts[action]
    ]
    session.remark(f"{', '.join(counted) or 'There is no schedule'}.")


def _print_steps(session: Session, steps: Sequence[Step]) -> None:
    for step in steps:
        sign, style = SIGNS[step.action]
        if step.action == KEEP:
            continue
        session.print(Text.assemble(Text(f"{sign} ", style), cell(step.id, style)))
        for name, (old, new) in step.changes.items():
            if step.action == CREATE:
                if name in step.fields:
                    session.print(cell(f"    {name}: {_shown(new)}"))
            else:
                session.print(cell(f"    {name}: {_shown(old)} -> {_shown(new)}"))


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=dict)
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[: MAX_VALUE_CHARACTERS - 3]}..."
