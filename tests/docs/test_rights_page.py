"""The page of rights lists what each function may do."""

from __future__ import annotations

from hourhand.aws.permissions import GRANTS
from tests.docs.pages import code, read, rows, section

ROWS = rows(section(read("reference/iam.md"), "The functions"))


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
