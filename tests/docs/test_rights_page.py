"""The page of rights lists what each function may do."""

from __future__ import annotations

import pytest

from hourhand.api.access import Bound
from hourhand.api.app import ROUTES
from hourhand.aws.permissions import GRANTS
from tests.docs.pages import code, names, read, rows, section

PAGE = read("reference/iam.md")
ROWS = rows(section(PAGE, "The functions"))
BOUND_BY_ID = {Bound.JOB, Bound.SCHEDULE}
"""What "any route with the id of a job or a schedule" stands for."""


def test_the_page_lists_each_right_of_each_function() -> None:
    shown = [(row[0], code(row[1]), code(row[2])) for row in ROWS]

    assert shown == [
        (function, [f"{grant.service}:{action}" for action in grant.actions], [*grant.resources])
        for function, grants in GRANTS.items()
        for grant in grants
    ]


def test_the_page_names_the_records_to_which_a_right_is_limited() -> None:
    limited = [grant.leading_keys for grants in GRANTS.values() for grant in grants]
    shown = [code(row[3]) for row in ROWS if row[3].startswith("only the records")]

    assert [sorted(keys) for keys in shown] == [sorted(keys) for keys in limited if keys]


@pytest.mark.parametrize(
    "path",
    sorted({route.path for route in ROUTES if route.access.bound not in BOUND_BY_ID}),
)
def test_the_page_says_what_each_route_does_for_a_caller_of_one_tenant(path: str) -> None:
    shown = {name.split()[-1] for name in names(section(PAGE, "Tenants"))}

    assert path.removeprefix("/v1") in shown
