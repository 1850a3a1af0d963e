"""The page of the API names each route, field, event and error."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import get_type_hints

import pytest
from pydantic import BaseModel

import hourhand
import hourhand.client
import hourhand.handlers
import hourhand.testing
from hourhand.answers import children, graphs, jobs, schedules, system
from hourhand.answers.answered import Answered
from hourhand.api import problems
from hourhand.api.app import ROUTES
from hourhand.api.openapi_texts import NODE_PROPERTIES
from hourhand.api.requests.batches import BatchInput
from hourhand.api.requests.filters import BulkDiscard, BulkRequest, JobFilters
from hourhand.api.requests.graphs import GraphInput
from hourhand.api.requests.jobs import JobSubmission, RetryInput
from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.domain.errors import HourhandError
from hourhand.domain.graphs.rules import OnFailure, TriggerRule
from hourhand.domain.jobs.job import EventKind
from hourhand.handlers import JobContext
from hourhand.json_dataclasses import json_name
from tests.docs.pages import anchors, code, names, read, rows, section

PAGE = read("reference/api.md")
SCHEDULES = read("reference/schedule-answers.md")
GRAPHS = read("reference/graphs-and-batches.md")


def _fields(model: type[BaseModel | Answered]) -> set[str]:
    if issubclass(model, Answered):
        hints = get_type_hints(model, include_extras=True)
        return {json_name(field.name, hints[field.name]) for field in fields(model)}
    return {field.alias or name for name, field in model.model_fields.items()}


def _named(text: str) -> set[str]:
    """Return what is set as code anywhere in ``text``."""
    return set(re.findall(r"`([^`]+)`", text))


def test_the_page_lists_each_route_in_a_row() -> None:
    shown = names(section(PAGE, "Routes").split("\n### ")[0])

    assert sorted(shown) == sorted(f"{r.method} {r.path.removeprefix('/v1')}" for r in ROUTES)


def test_a_job_is_submitted_with_the_fields_of_the_page() -> None:
    retry = {f"retry.{name}" for name in RetryInput.model_fields}

    assert set(names(section(PAGE, "A job as submitted"))) == _fields(JobSubmission) | retry


def test_a_job_is_returned_with_the_fields_of_the_page() -> None:
    submitted = _fields(JobSubmission) - {"delay_seconds", "concurrency_key", "unique", "debounce"}
    returned = set(names(section(PAGE, "A job as returned")))

    assert submitted | returned == _fields(jobs.Job)
    assert not submitted & returned


@pytest.mark.parametrize(
    ("title", "models"),
    [
        ("A graph as returned", [graphs.Graph, graphs.GraphNode]),
        ("A batch", [BatchInput]),
        ("A batch as returned", [children.Batch]),
    ],
)
def test_a_graph_and_a_batch_have_the_fields_of_the_page(
    title: str, models: list[type[BaseModel | Answered]]
) -> None:
    fields_of_all = {name for model in models for name in _fields(model)}

    assert fields_of_all <= _named(section(GRAPHS, title))


def test_a_graph_is_submitted_with_the_fields_of_the_page() -> None:
    table, nodes = section(GRAPHS, "A graph").split("\n\n| field of a node", 1)

    assert set(names(table)) == _fields(GraphInput)
    assert set(names("| field of a node" + nodes)) == {"handler", "payload", *NODE_PROPERTIES}
    assert {str(rule) for rule in TriggerRule} | {str(one) for one in OnFailure} <= _named(nodes)


def test_a_log_line_and_a_group_have_the_fields_of_the_page() -> None:
    page = read("reference/errors-and-logs.md")

    assert set(names(section(page, "Logs"))) == _fields(jobs.LogLine)
    assert set(names(section(page, "Dead letters in groups"))) == _fields(jobs.DeadLetterGroup)


def test_a_schedule_has_the_fields_of_the_page() -> None:
    text = section(PAGE, "A schedule")
    own = set(names(text))
    of_a_job = _named(text.split("\n|")[0]) - {"PUT"}

    assert own | of_a_job == _fields(ScheduleInput)
    returned = _named(text.rsplit("A returned schedule", 1)[1]) - {"pool", "concurrency_key"}
    assert (own | of_a_job | returned) - {"pool", "concurrency_key"} == _fields(schedules.Schedule)


def test_an_occurrence_has_the_fields_of_the_page() -> None:
    assert set(names(section(SCHEDULES, "An occurrence"))) == _fields(schedules.Occurrence)


@pytest.mark.parametrize(
    ("title", "model"),
    [
        ("A recent run", schedules.RecentRun),
        ("A previewed day", schedules.PreviewedDay),
        ("An effect", schedules.ScheduleEffect),
        ("What a resume would do", schedules.ScheduleResumption),
    ],
)
def test_a_part_of_a_schedule_has_the_fields_of_the_page(title: str, model: type[Answered]) -> None:
    assert set(names(section(SCHEDULES, title))) == _fields(model)


def test_a_backfill_has_the_fields_of_the_page() -> None:
    text = section(SCHEDULES, "A backfill")
    own = set(names(text))
    returned = _named(text.rsplit("A returned backfill", 1)[1]) - {"dry_run"}

    assert own == _fields(BackfillInput)
    assert (own | returned) - {"dry_run"} == _fields(schedules.Backfill)


def test_a_filter_is_one_of_the_page() -> None:
    assert set(names(section(PAGE, "Filters"))) == _fields(JobFilters)
    of_bulk_calls = {"all", "dry_run", "expected_count", "cursor"}
    assert _fields(BulkRequest) - _fields(JobFilters) == of_bulk_calls
    assert of_bulk_calls - {"all"} <= _named(section(PAGE, "Routes"))
    assert _fields(BulkDiscard) - _fields(BulkRequest) == {"note"}


@pytest.mark.parametrize(
    "model",
    [
        system.Stats,
        system.QueueStats,
        system.LatenessStats,
        system.Resweep,
    ],
)
def test_the_page_names_the_figures_of_the_installation(model: type[Answered]) -> None:
    assert _fields(model) <= _named(section(PAGE, "Stats and resweep"))


def test_the_page_names_what_a_handler_answers_with() -> None:
    (row,) = [row for row in rows(PAGE) if row[0] == "`GET /handlers`"]

    assert _fields(system.Handler) == set(re.findall(r'"(\w+)"', row[2])) - {"handlers"}


def test_the_page_has_each_kind_of_event() -> None:
    text = section(read("reference/audit.md"), "Events of a job")
    assert sorted(names(text)) == sorted(kind.name for kind in EventKind)


def test_the_page_has_each_error_with_its_status() -> None:
    statuses = {error.code: error.status for error in _errors(HourhandError)}
    statuses["internal_error"] = 500
    shown = {
        code(row[0])[0]: int(row[1])
        for row in rows(section(read("reference/errors-and-logs.md"), "Errors"))
    }

    assert shown == {name: statuses[name] for name in problems._TITLES}


def _errors(error: type[HourhandError]) -> list[type[HourhandError]]:
    return [error, *(each for child in error.__subclasses__() for each in _errors(child))]


@pytest.mark.parametrize("row", rows(section(PAGE, "Python"))[:4], ids=lambda row: row[0])
def test_a_name_of_the_python_packages_can_be_imported(row: list[str]) -> None:
    packages = {
        "hourhand": hourhand,
        "hourhand.handlers": hourhand.handlers,
        "hourhand.client": hourhand.client,
        "hourhand.testing": hourhand.testing,
    }
    package = packages[code(row[0])[0]]
    wanted = {name for name in code(row[1]) if name.isidentifier()} - {"hourhand_jobs"}

    assert {name for name in wanted if not hasattr(package, name)} == set()
    if package is hourhand:
        assert wanted == set(hourhand.__all__)


def test_the_page_has_each_attribute_of_a_context() -> None:
    text = section(PAGE, "Python").split("| `JobContext` | |")[1].split("\n\n")[0]
    shown = {
        name.split("(")[0] for line in text.splitlines()[2:] for name in code(line.split("|")[1])
    }

    assert shown == {name for name in dir(JobContext) if not name.startswith("_")}


def test_each_link_within_the_page_leads_somewhere() -> None:
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= anchors(PAGE)
