"""Every route of the API has a method of the client, a command, a line in the docs, a view.

Each method and each command of the table is run, and must send a request to its route.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hourhand.api.app import ROUTES
from hourhand.cli.connection import Connection
from hourhand.client import Client, ClientError
from tests.functions.cli_rig import PAST, Shell

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "common" / "hourhand" / "console" / "static"
SCHEDULE = {"expression": "@daily", "handler": "greet"}
EARLIER, NOW = datetime(2026, 1, 4, tzinfo=UTC), datetime(2026, 1, 5, tzinfo=UTC)
Call = Callable[[Client], Any]

TWINS: dict[str, tuple[Call, str]] = {
    "POST /jobs": (lambda c: c.submit("greet"), "jobs submit greet"),
    "POST /jobs/batch": (lambda c: c.submit_many([{"handler": "greet"}]), "jobs submit --file -"),
    "GET /jobs": (lambda c: list(c.list()), "jobs list"),
    "GET /jobs/{id}": (lambda c: c.get("x"), "jobs show x"),
    "PATCH /jobs/{id}": (
        lambda c: c.reschedule("x", priority="low"),
        "jobs reschedule x --priority low",
    ),
    "GET /jobs/{id}/events": (lambda c: c.events("x"), "jobs events x"),
    "GET /jobs/{id}/logs": (lambda c: list(c.logs("x")), "jobs logs x"),
    "POST /jobs/{id}/cancel": (lambda c: c.cancel("x"), "jobs cancel x"),
    "POST /jobs/{id}/redrive": (lambda c: c.redrive("x"), "jobs redrive x"),
    "POST /jobs/{id}/discard": (lambda c: c.discard("x"), "jobs discard x"),
    "POST /jobs/{id}/run-now": (lambda c: c.run_now("x"), "jobs run-now x"),
    "POST /jobs/{id}/signals/{name}": (
        lambda c: c.runs.signal("x", "approved"),
        "runs signal x approved",
    ),
    "GET /jobs/{id}/children": (lambda c: list(c.children("x")), "jobs children x"),
    "POST /graphs": (lambda c: c.graphs.submit({"nodes": {}}), "graphs submit -"),
    "GET /graphs/{id}": (lambda c: c.graphs.get("x"), "graphs show x"),
    "POST /graphs/{id}/rerun": (
        lambda c: c.graphs.rerun("x", ["a"]),
        "graphs rerun x --from a",
    ),
    "POST /batches": (lambda c: c.batches.submit([]), "batches submit -"),
    "GET /batches/{id}": (lambda c: c.batches.get("x"), "batches show x"),
    "POST /batches/{id}/jobs": (
        lambda c: c.batches.add("x", [{"handler": "greet"}], first_index=0),
        "batches add x - --first-index 0",
    ),
    "POST /batches/{id}/close": (lambda c: c.batches.close("x"), "batches close x"),
    "GET /jobs/{id}/steps": (lambda c: list(c.runs.steps("x")), "runs steps x"),
    "GET /jobs/{id}/journal": (lambda c: c.runs.journal("x"), "runs journal x"),
    "POST /callbacks/{token}/succeed": (lambda c: c.callbacks.succeed("cb_x"), ""),
    "POST /callbacks/{token}/fail": (lambda c: c.callbacks.fail("cb_x", "no"), ""),
    "POST /callbacks/{token}/heartbeat": (lambda c: c.callbacks.heartbeat("cb_x"), ""),
    "POST /jobs/cancel": (lambda c: c.cancel_many(all=True), "jobs cancel --all --yes"),
    "POST /jobs/redrive": (lambda c: c.redrive_many(all=True), "jobs redrive --all --yes"),
    "POST /jobs/discard": (lambda c: c.discard_many(all=True), "jobs discard --all --yes"),
    "GET /dead-letters/groups": (lambda c: c.dead_letter_groups(), "dead-letters list"),
    "PUT /schedules/{id}": (
        lambda c: c.schedules.put("x", SCHEDULE),
        "schedules put x -x @daily --handler greet",
    ),
    "GET /schedules": (lambda c: list(c.schedules.list()), "schedules list"),
    "GET /schedules/{id}": (lambda c: c.schedules.get("x"), "schedules show x"),
    "DELETE /schedules/{id}": (lambda c: c.schedules.delete("x"), "schedules delete x --yes"),
    "POST /schedules/preview": (
        lambda c: c.schedules.preview(SCHEDULE),
        "schedules preview -x @daily",
    ),
    "POST /schedules/{id}/pause": (lambda c: c.schedules.pause("x"), "schedules pause x"),
    "POST /schedules/{id}/resume": (lambda c: c.schedules.resume("x"), "schedules resume x"),
    "POST /schedules/{id}/trigger": (lambda c: c.schedules.trigger("x"), "schedules trigger x"),
    "POST /schedules/{id}/backfill": (
        lambda c: c.schedules.backfill("x", EARLIER, NOW),
        f"schedules backfill x {' '.join(PAST)} --yes",
    ),
    "GET /schedules/{id}/backfills": (
        lambda c: list(c.schedules.backfills("x")),
        "schedules backfills x",
    ),
    "POST /schedules/{id}/backfills/{n}/pause": (
        lambda c: c.schedules.pause_backfill("x", 1),
        "schedules backfill pause x 1",
    ),
    "POST /schedules/{id}/backfills/{n}/resume": (
        lambda c: c.schedules.resume_backfill("x", 1),
        "schedules backfill resume x 1",
    ),
    "POST /schedules/{id}/backfills/{n}/cancel": (
        lambda c: c.schedules.cancel_backfill("x", 1),
        "schedules backfill cancel x 1 --yes",
    ),
    "GET /schedules/{id}/occurrences": (
        lambda c: list(c.schedules.occurrences("x")),
        "schedules occurrences x",
    ),
    "GET /schedules/{id}/grid": (lambda c: c.schedules.grid("x"), "schedules grid x"),
    "PUT /calendars/{name}": (
        lambda c: c.calendars.put("x", ["2026-12-25"]),
        "calendars put x --exclude 2026-12-25",
    ),
    "GET /calendars": (lambda c: list(c.calendars.list()), "calendars list"),
    "GET /calendars/{name}": (lambda c: c.calendars.get("x"), "calendars show x"),
    "DELETE /calendars/{name}": (lambda c: c.calendars.delete("x"), "calendars delete x --yes"),
    "GET /audit": (lambda c: list(c.audit(job="x")), "audit --job x"),
    "GET /stats": (lambda c: c.stats(), "stats"),
    "POST /resweep": (lambda c: c.resweep(NOW), "resweep --since 1h --yes"),
    "GET /resweep": (lambda c: c.resweep_progress(), "resweep"),
    "GET /handlers": (lambda c: c.handlers(), "handlers list"),
    "GET /handlers/{name}": (lambda c: c.handler("x"), "handlers show x"),
    "POST /handlers/{name}/pause": (lambda c: c.pause_handler("x"), "handlers pause x"),
    "POST /handlers/{name}/resume": (lambda c: c.resume_handler("x"), "handlers resume x"),
    "GET /limits": (lambda c: list(c.limits.list()), "limits list"),
    "GET /limits/{name}": (lambda c: c.limits.get("x"), "limits show x"),
    "PUT /limits/{name}": (lambda c: c.limits.put("x", max=3), "limits set x 3"),
    "DELETE /limits/{name}": (lambda c: c.limits.delete("x"), "limits set x --restore"),
    "POST /limits/{name}/free": (lambda c: c.limits.free("x", "y"), "limits free x y"),
    "POST /limits/{name}/retime": (lambda c: c.limits.retime("x"), "limits retime x"),
    "GET /quotas": (lambda c: c.quotas(), "quotas list"),
    "PUT /quotas/tenant/{tenant}": (
        lambda c: c.put_quota("tenant", "x", live=3),
        "quotas set tenant x --live 3",
    ),
    "DELETE /quotas/tenant/{tenant}": (
        lambda c: c.delete_quota("tenant", "x"),
        "quotas remove tenant x",
    ),
    "PUT /quotas/caller/{caller}": (
        lambda c: c.put_quota("caller", "x", accepted_per_minute=3),
        "quotas set caller x --accepted-per-minute 3",
    ),
    "DELETE /quotas/caller/{caller}": (
        lambda c: c.delete_quota("caller", "x"),
        "quotas remove caller x",
    ),
    "GET /health": (lambda c: c.health(), ""),
}
STDIN = {
    "POST /batches": "[]",
    "POST /batches/{id}/jobs": '[{"handler": "greet"}]',
}
"""What the commands of these routes read, where it is no job."""

BY_A_SYSTEM = "another system completes a callback, not a person"
WITHOUT_COMMAND = {
    "GET /health": "`doctor` asks for it, without the client, and tests what came",
    "POST /callbacks/{token}/succeed": BY_A_SYSTEM,
    "POST /callbacks/{token}/fail": BY_A_SYSTEM,
    "POST /callbacks/{token}/heartbeat": BY_A_SYSTEM,
}
WITHOUT_TWINS = {
    "GET /openapi.json": "it describes the API to the tools that make clients",
    "GET /docs": "it is a page for a browser",
}
WITHOUT_VIEW = {
    "POST /jobs/batch": "a form submits one job",
    "GET /audit": "the history of a job has the callers; a search reads for minutes",
    "GET /limits": "a handler's page shows its limits; commands change them",
    "GET /limits/{name}": "a handler's page shows its limits; commands change them",
    "PUT /limits/{name}": "a handler's page shows its limits; commands change them",
    "DELETE /limits/{name}": "a handler's page shows its limits; commands change them",
    "POST /limits/{name}/free": "a handler's page shows its limits; commands change them",
    **dict.fromkeys((name for name in TWINS if "/quotas" in name), "commands change quotas"),
    "POST /graphs": "code or a file defines a graph, which a form cannot hold",
    "POST /batches": "code or a file has the jobs, which a form cannot hold",
    "POST /batches/{id}/jobs": "code or a file has the jobs, which a form cannot hold",
    "POST /batches/{id}/close": "whatever adds the jobs closes the batch; a command does so, too",
    "GET /jobs/{id}/steps": "commands show the steps of a run",
    "GET /jobs/{id}/journal": "a test replays it, so a command writes it to a file",
    "POST /jobs/{id}/signals/{name}": "a command sends it",
    "POST /callbacks/{token}/succeed": BY_A_SYSTEM,
    "POST /callbacks/{token}/fail": BY_A_SYSTEM,
    "POST /callbacks/{token}/heartbeat": BY_A_SYSTEM,
    "POST /resweep": "it follows a restore of the tables, of which the runbook has all commands",
    "GET /resweep": "it follows a restore of the tables, of which the runbook has all commands",
    "GET /openapi.json": "the link in the navigation shows it as a page",
    "GET /docs": "it is a link in the navigation",
}


def name_of(method: str, path: str) -> str:
    """Return the route that a request reaches."""
    route = next(r for r in ROUTES if r.method == method and r.match(path) is not None)
    return f"{route.method} {route.path.removeprefix('/v1')}"


def reached(shell: Shell) -> set[str]:
    return {name_of(sent.method, sent.url.path) for sent in shell.requests}


NAMES = {f"{route.method} {route.path.removeprefix('/v1')}" for route in ROUTES}


def test_each_route_has_twins_or_a_reason_why_not() -> None:
    assert TWINS.keys() | WITHOUT_TWINS.keys() == NAMES
    assert not TWINS.keys() & WITHOUT_TWINS.keys()
    assert WITHOUT_VIEW.keys() <= NAMES


@pytest.mark.parametrize("route", TWINS)
def test_a_route_has_a_method_of_the_client(shell: Shell, route: str) -> None:
    call, _ = TWINS[route]
    with Connection().open() as client, suppress(ClientError):
        call(client)

    assert route in reached(shell)


@pytest.mark.parametrize("route", sorted(TWINS.keys() - WITHOUT_COMMAND.keys()))
def test_a_route_has_a_command(shell: Shell, route: str) -> None:
    shell.type(*TWINS[route][1].split(), stdin=STDIN.get(route, '{"handler": "greet"}\n'))

    assert route in reached(shell)


@pytest.mark.parametrize("route", sorted(NAMES))
def test_a_route_has_a_row_in_the_docs(route: str) -> None:
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")

    assert f"| `{route}` |" in page


@pytest.mark.parametrize("route", sorted(NAMES - WITHOUT_VIEW.keys()))
def test_a_route_is_used_by_the_console(route: str) -> None:
    method, path = route.split(" ")
    wanted = path.strip("/").split("/")

    assert any(
        called == method and len(parts) == len(wanted) and all(map(_fits, parts, wanted))
        for called, parts in console_calls()
    )


def console_calls() -> list[tuple[str, list[str]]]:
    """Return the requests in the sources of the console: the method, and the path as it is made."""
    sources = [source.read_text(encoding="utf-8") for source in STATIC.rglob("*.js")]
    found = [call for source in sources for call in CALL.findall(source)]
    return [
        (METHODS.get(function, method), [part.strip() for part in path.split(",")])
        for function, method, path in found
    ]


CALL = re.compile(
    r'\b(get|collectPage|post|put|remove|request|exchange)\((?:"(\w+)", )?\[([^\]]+)\]'
)
VERBS = {"cancel", "redrive", "run-now", "discard", "pause", "resume"}
METHODS = {"get": "GET", "collectPage": "GET", "post": "POST", "put": "PUT", "remove": "DELETE"}


def _fits(made: str, wanted: str) -> bool:
    """Whether a segment is made by this expression; ``verb`` is a name of an operation."""
    if wanted.startswith("{"):
        return not made.startswith('"')
    return made == f'"{wanted}"' or (made == "verb" and wanted in VERBS)
