"""Pages in the order of names: cut to what an answer holds, continued by a cursor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hourhand.api.http_response import MAX_ANSWER_BYTES
from hourhand.api.pages import answer_page
from hourhand.api.requests.schedule_operations import PageRequest
from hourhand.domain.errors import InvalidInput
from hourhand.services.cursors import seal

NAMES = [f"n{number}" for number in range(5)]


def page(
    query: dict[str, str], *, size_bytes: int = 0, listing: str = "things"
) -> tuple[list[str], str | None]:
    """Return the names on a page of `NAMES`, each of an entry of that size, and the cursor."""

    def read(after: str | None, limit: int) -> tuple[list[str], str | None]:
        left = [name for name in NAMES if after is None or name > after]
        return left[:limit], left[limit - 1] if len(left) > limit else None

    def tell(name: str) -> tuple[str, dict[str, Any]]:
        return name, {"name": name, "text": "x" * size_bytes}

    answer = answer_page(listing, PageRequest.parse(query), read, tell)
    assert answer.size_bytes <= MAX_ANSWER_BYTES
    body = json.loads(answer.body)
    return [entry["name"] for entry in body[listing]], body["next_cursor"]


@pytest.mark.parametrize("size_bytes", [0, 1_000_000, 1_400_000, 2_500_000, 4_400_000])
@pytest.mark.parametrize("limit", ["1", "2", "5", "50"])
def test_a_walk_by_cursor_meets_every_entry_once(size_bytes: int, limit: str) -> None:
    seen: list[str] = []
    names, cursor = page({"limit": limit}, size_bytes=size_bytes)
    while cursor is not None:
        assert names
        seen += names
        names, cursor = page({"limit": limit, "cursor": cursor}, size_bytes=size_bytes)
    assert [*seen, *names] == NAMES


def test_a_page_holds_as_many_as_an_answer_does() -> None:
    assert page({}, size_bytes=1_000_000)[0] == NAMES[:4]
    assert page({}, size_bytes=800_000) == (NAMES, None)


def test_the_longest_name_fits_a_cursor() -> None:
    longest = seal(("n" * 100,), "names of things")
    assert page({"cursor": longest}) == ([], None)


@pytest.mark.parametrize(
    "cursor",
    [
        "nonsense",
        "A" * 1000,
        seal(("n1",), "names of others"),
        seal((1,), "names of things"),
        seal(("n1", "n2"), "names of things"),
        seal(("",), "names of things"),
        seal(("n 1",), "names of things"),
        seal(("n" * 101,), "names of things"),
    ],
)
def test_no_other_cursor_is_taken(cursor: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        page({"cursor": cursor})
    assert [fault.field for fault in caught.value.errors] == ["cursor"]
