"""Durable runs: their steps and journals, signals, callbacks, and redrives of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hourhand.answers.jobs import Job
from hourhand.answers.runs import Accepted, JournalPage, JournalRecord, RedrivePlan, Step
from hourhand.client._operations._asking import ask_for, named, pages, target
from hourhand.client._operations._job_logs import OLDEST
from hourhand.client._steps import Operation, Session, Stream
from hourhand.client._values import A, UnexpectedAnswer, encoded

JOURNAL_PAGE = 200
MAX_JOURNAL_PAGES = 1_000


def steps(
    session: Session,
    job_id: str,
    *,
    order: str = OLDEST,
    page_size: int = 100,
    limit: int | None = None,
) -> Stream[Step]:
    """Iterate over the recorded calls of a run: the ``oldest`` first, or the ``newest``.

    Raises `NotFound`, and `Conflict` (``not_durable``) for a job that is no durable run.
    """
    listing = ("jobs", named("id", job_id), "steps")
    query = {"order": order}
    yield from pages(session, Step, listing, "steps", page_size=page_size, limit=limit, query=query)


def signal(
    session: Session,
    job_id: str,
    name: str,
    payload: Any = None,
    *,
    id: str | None = None,  # noqa: A002 (the name of the field)
) -> Operation[Accepted]:
    """Send a signal to a run.

    ``id``: the same one again changes nothing, so a call that failed may be repeated with it.
    Raises `NotFound`, `Invalid`, and `Conflict` (``run_ended``, ``not_durable``).
    """
    fields = {"payload": payload} if id is None else {"payload": payload, "id": id}
    at = target("jobs", named("id", job_id), "signals", named("name", name))
    return ask_for(Accepted, session, "POST", at, encoded(fields, "payload"))


def journal(session: Session, job_id: str) -> Operation[dict[str, Any]]:
    """Return the whole journal of a run as JSON, for `hourhand.testing.replay`.

    Raises as `steps`.
    """
    records: list[JournalRecord] = []
    cursor: str | None = None
    for _ in range(MAX_JOURNAL_PAGES):
        query = {"limit": JOURNAL_PAGE, "cursor": cursor}
        at = target("jobs", named("id", job_id), "journal", query=query)
        page = yield from ask_for(JournalPage, session, "GET", at)
        records += page.records
        if page.next_cursor is None:
            return {**page.raw, "records": [dict(one.raw) for one in records]}
        cursor = page.next_cursor
    raise UnexpectedAnswer("The journal has more pages than any journal can have.")


def redrive(
    session: Session,
    job_id: str,
    *,
    paths: Sequence[str] | None = None,
    fresh: bool = False,
    new_keys: bool = False,
) -> Operation[Job]:
    """Run a run again: what failed; or the calls at ``paths`` too, also of a run that succeeded.

    With a path, all below a branch or a map of that name runs again. Its steps keep their
    idempotency keys; ``new_keys`` gives them other ones, so that they have their effect again.
    ``fresh``: the whole run in a new segment, with an empty journal and new keys. Raises
    `NotFound`, `Invalid`, and `Conflict` (``compensated``: its steps were reversed, so only
    ``fresh`` is possible).
    """
    fields: dict[str, Any] = {} if paths is None else {"from": list(paths)}
    fields |= {"fresh": True} if fresh else {}
    fields |= {"new_keys": True} if new_keys else {}
    return _redrive(Job, session, job_id, fields)


def plan_redrive(
    session: Session, job_id: str, paths: Sequence[str], *, new_keys: bool = False
) -> Operation[RedrivePlan]:
    """Return which calls a redrive from ``paths`` would run again; it changes nothing.

    Raises as `redrive`.
    """
    fields = {"from": list(paths), "dry_run": True, **({"new_keys": True} if new_keys else {})}
    return _redrive(RedrivePlan, session, job_id, fields)


def succeed(session: Session, token: str, result: Any = None) -> Operation[Accepted]:
    """Complete a callback with a result; the same call again changes nothing.

    Raises `NotFound`, `Invalid`, and `Conflict` (``already_completed``, ``run_ended``).
    """
    return _complete(session, token, "succeed", {"result": result})


def fail(
    session: Session,
    token: str,
    message: str,
    *,
    type: str = "Error",  # noqa: A002 (the name of the field)
) -> Operation[Accepted]:
    """Complete a callback as failed. Raises as `succeed`."""
    fields = {"error": {"type": type, "message": message}}
    return _complete(session, token, "fail", fields)


def heartbeat(session: Session, token: str) -> Operation[Accepted]:
    """Note that the work behind a callback goes on. Raises as `succeed`."""
    at = target("callbacks", named("token", token), "heartbeat")
    return ask_for(Accepted, session, "POST", at)


def _complete(
    session: Session, token: str, how: str, fields: dict[str, Any]
) -> Operation[Accepted]:
    at = target("callbacks", named("token", token), how)
    return ask_for(Accepted, session, "POST", at, encoded(fields, "result"))


def _redrive(kind: type[A], session: Session, job_id: str, fields: dict[str, Any]) -> Operation[A]:
    at = target("jobs", named("id", job_id), "redrive")
    return ask_for(kind, session, "POST", at, encoded(fields, "from"))
