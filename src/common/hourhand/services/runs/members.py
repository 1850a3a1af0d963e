"""Checks the jobs of a graph or a batch before it is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from hourhand.domain.errors import FieldError, InvalidInput, TooLarge
from hourhand.domain.graphs.definition import GraphDefinition, Node
from hourhand.domain.jobs.submission import NewJob
from hourhand.ports.clock import Clock
from hourhand.ports.handler_directory import HandlerDirectory, HandlerInfo
from hourhand.services.jobs.new_job import Drafts, require_handler

MAX_PROBLEMS = 20
"""How many problems an error lists."""

NODE_FIELDS = ("map", "after", "when", "on_failure")
"""What a node states beside the fields of its job."""

_WORK = ("handler", "payload")

ParseMember: TypeAlias = "Callable[[object, Sequence[str]], NewJob]"
"""Reads a job, beside which the caller may state other fields. Raises `InvalidInput`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A job that a run is to submit, as the caller stated it.

    ``field``: its place in the request. ``work``: the place of its handler and payload, of a map
    another one. ``around``: the fields beside those of the job. ``has_payload``: the payload is
    known before the run begins.
    """

    field: str
    fields: object
    work: str | None = None
    around: Sequence[str] = ()
    has_payload: bool = True

    def place(self, field: str) -> str:
        """Return the place of one of its fields in the request."""
        if field == "body":
            return self.field
        is_work = any(field == name or field.startswith((f"{name}.", f"{name}[")) for name in _WORK)
        return f"{(self.work if is_work else None) or self.field}.{field}"


@dataclass(frozen=True, slots=True)
class MemberChecks:
    """Checks jobs as their submission would be, and that each can be a child."""

    drafts: Drafts
    clock: Clock
    parse: ParseMember

    def require_valid(self, what: str, members: Iterable[Member]) -> None:
        """Raise `InvalidInput` naming the wrong fields of the first members that have any."""
        problems = tuple(islice(self._problems(members), MAX_PROBLEMS))
        if problems:
            first = problems[0]
            raise InvalidInput(
                f"The {what} is invalid: {first.field} {first.message}.", errors=problems
            )

    def _problems(self, members: Iterable[Member]) -> Iterator[FieldError]:
        for member in members:
            try:
                self._require_valid(member)
            except (InvalidInput, TooLarge) as error:
                for one in error.errors:
                    yield FieldError(member.place(one.field), one.message)

    def _require_valid(self, member: Member) -> None:
        request = self.parse(member.fields, member.around)
        handler = require_child_handler(self.drafts.handlers, request.handler)
        if member.has_payload:
            self.drafts.require_valid(request, handler, self.clock.now())
        else:
            self.drafts.require_valid_policies(request, handler, self.clock.now())


def require_child_handler(handlers: HandlerDirectory, name: str) -> HandlerInfo:
    """Return a handler whose jobs can be children; raise `InvalidInput` for any other."""
    handler = require_handler(handlers, name)
    if handler.unique is not None or handler.debounce is not None:
        message = f"{handler.name} is unique or debounced, so it cannot be that of a child"
        raise InvalidInput(f"The handler {message}.", errors=(FieldError("handler", message),))
    return handler


def members_of_graph(definition: GraphDefinition) -> Iterator[Member]:
    """Yield the job of each node; of a map, what all of its jobs have in common."""
    for node in definition.nodes.values():
        if node.map is None or node.map.over:
            yield _member_of_node(node)


def _member_of_node(node: Node) -> Member:
    field = f"nodes.{node.name}"
    fields: dict[str, Any] = {**node.policies, "handler": node.handler}
    if node.map is not None:
        return Member(
            field=field, fields=fields, work=f"{field}.map", around=NODE_FIELDS, has_payload=False
        )
    if node.referenced:
        return Member(field=field, fields=fields, around=NODE_FIELDS, has_payload=False)
    return Member(field=field, fields={**fields, "payload": node.payload}, around=NODE_FIELDS)


def members_of_batch(
    jobs: Sequence[object], callbacks: Mapping[str, object] | None = None
) -> Iterator[Member]:
    """Yield the jobs of a batch by their places in a list, then its callbacks."""
    for position, fields in enumerate(jobs):
        yield Member(field=f"jobs[{position}]", fields=fields)
    for name, fields in (callbacks or {}).items():
        yield Member(field=name, fields=fields)
