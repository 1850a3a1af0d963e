"""Both clients have the same methods with the same arguments, for people and for type checkers."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, assert_type

import pytest

from hourhand import AsyncClient as LazyAsyncClient
from hourhand import Client as LazyClient
from hourhand import client
from hourhand.client import (
    AsyncCalendars,
    AsyncClient,
    AsyncSchedules,
    AsyncSubmitStream,
    BulkReport,
    Calendar,
    Calendars,
    Client,
    ClientError,
    Invalid,
    Job,
    JobSummary,
    Occurrence,
    Preview,
    Schedule,
    Schedules,
    SubmitStream,
    Submitted,
)

TWINS = [(Client, AsyncClient), (Schedules, AsyncSchedules), (Calendars, AsyncCalendars)]
OWN = {"close", "aclose"}


def methods(kind: type) -> dict[str, Any]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: method for name, method in found if name[0] != "_" and name not in OWN}


@pytest.mark.parametrize(("blocking", "awaiting"), TWINS)
def test_both_clients_have_the_same_methods_and_arguments(blocking: type, awaiting: type) -> None:
    ours, theirs = methods(blocking), methods(awaiting)

    assert ours
    assert ours.keys() == theirs.keys()
    for name, method in ours.items():
        signature, other = inspect.signature(method), inspect.signature(theirs[name])
        assert signature.parameters == other.parameters, name
        assert method.__doc__ == theirs[name].__doc__
        assert method.__doc__, name


def test_both_are_made_with_the_same_arguments_but_for_the_transport() -> None:
    ours = dict(inspect.signature(Client).parameters)
    theirs = dict(inspect.signature(AsyncClient).parameters)

    assert ours.pop("transport").name == theirs.pop("transport").name
    assert ours == theirs


def test_help_tells_every_argument() -> None:
    told = str(inspect.signature(Client.submit))

    assert told.startswith("(self, /, handler: 'str', payload: 'Any' = None, *, run_at: ")
    assert told.endswith("-> 'Job'")
    assert "retry: 'RetryPolicy | Mapping[str, Any] | None' = None" in told
    assert str(inspect.signature(AsyncClient.list)).endswith("-> 'AsyncIterator[JobSummary]'")
    assert str(inspect.signature(Client.list)).endswith("-> 'Iterator[JobSummary]'")


def test_both_are_found_at_the_top() -> None:
    assert (LazyClient, LazyAsyncClient) == (Client, AsyncClient)


def test_a_traceback_names_an_error_by_where_it_is_imported_from() -> None:
    errors = [one for one in vars(client).values() if inspect.isclass(one)]
    errors = [one for one in errors if issubclass(one, ClientError)]

    assert len(errors) >= 12
    assert {one.__module__ for one in errors} == {"hourhand.client"}
    lost = pickle.loads(pickle.dumps(Invalid("No.")))  # noqa: S301 - our own
    assert type(lost) is Invalid


if TYPE_CHECKING:
    # Never run: mypy reads it.

    def blocking_types(client: Client) -> None:
        assert_type(client.submit("greet", {"a": 1}, delay=5, priority="high"), Job)
        assert_type(client.get("j1"), Job)
        assert_type(client.wait("j1", timeout_seconds=5.0), Job)
        assert_type(client.list(status="DEAD", limit=5), Iterator[JobSummary])
        assert_type(client.submit_many([{"handler": "greet"}], parallel=2), list[Submitted])
        assert_type(client.submit_each([]), SubmitStream)
        assert_type(next(client.submit_each([])), Submitted)
        assert_type(client.cancel_many(handler="greet", dry_run=True), BulkReport)
        assert_type(client.schedules.put("a", expression="@daily", handler="greet"), Schedule)
        assert_type(client.schedules.list(), Iterator[Schedule])
        assert_type(client.schedules.occurrences("a"), Iterator[Occurrence])
        assert_type(client.schedules.preview(expression="@daily"), Preview)
        assert_type(client.calendars.put("c", ["2026-12-25"]), Calendar)
        client.submit("greet", shape="round")  # type: ignore[call-arg] # a mistake is seen
        client.submit("greet", delay="soon")  # type: ignore[arg-type] # so is this one
        client.list(stauts="DEAD")  # type: ignore[call-arg] # and this one
        client.schedules.put("a", expresion="@daily")  # type: ignore[call-arg] # and this

    async def awaiting_types(client: AsyncClient) -> None:
        assert_type(await client.submit("greet", {"a": 1}, delay=5), Job)
        assert_type(await client.get("j1"), Job)
        assert_type(client.list(status="DEAD", limit=5), AsyncIterator[JobSummary])
        assert_type(await client.submit_many([{"handler": "greet"}]), list[Submitted])
        assert_type(client.submit_each([]), AsyncSubmitStream)
        assert_type(await anext(client.submit_each([])), Submitted)
        assert_type(await client.redrive_many(all=True), BulkReport)
        assert_type(await client.schedules.put("a", expression="@daily"), Schedule)
        assert_type(client.schedules.list(), AsyncIterator[Schedule])
        assert_type(await client.calendars.put("c", ["2026-12-25"]), Calendar)
        await client.submit("greet", shape="round")  # type: ignore[call-arg] # a mistake is seen
