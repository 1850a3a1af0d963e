"""What the work can do without: logged and counted, and all else goes on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hourhand.domain.errors import HourhandError, Unavailable, WrittenByNewer
from hourhand.memory import RecordingTelemetry
from hourhand.ports import Found
from hourhand.services.optional import IDS_LOGGED, log_newer, read_readable


def test_a_line_names_some_of_many_and_the_counter_counts_them_all() -> None:
    telemetry = RecordingTelemetry()
    log_newer(telemetry, WrittenByNewer("many", ids=[f"job-{n:02}" for n in range(20)]))
    (line,) = telemetry.warnings
    assert len(line.fields["ids"]) == IDS_LOGGED
    assert telemetry.total("items_newer") == 20


class Damaged:
    """A read of many that fails as a whole where one of them is damaged."""

    def __init__(self) -> None:
        self.raises: dict[str, Exception] = {"b": ValueError("damaged")}
        self.newer = {"n"}
        self.asked: list[list[str]] = []
        self.noted: list[str] = []

    def read(self, ids: Sequence[str]) -> Found[str, str]:
        self.asked.append([*ids])
        for each in ids:
            if each in self.raises:
                raise self.raises[each]
        left = self.newer & set(ids)
        known = {each: each.upper() for each in ids if each not in left}
        return Found(known, WrittenByNewer(ids=left) if left else None)

    def read_readable(self, *ids: str) -> Found[str, str]:
        return read_readable(
            ids, self.read, lambda each, error: self.noted.append(f"{each} {error}")
        )


def test_what_is_damaged_is_left_out_and_what_is_newer_is_named() -> None:
    table = Damaged()
    found = table.read_readable("a", "b", "n", "c")
    assert found == {"a": "A", "c": "C"}
    assert (found.newer, table.noted) == (frozenset({"n"}), ["b damaged"])
    assert table.asked == [["a", "b", "n", "c"], ["a"], ["b"], ["n"], ["c"]]
    found = table.read_readable("b", "c")
    assert (found, found.left) == ({"c": "C"}, None)


def test_all_are_read_at_once_where_none_is_damaged_and_nothing_is_read_for_nothing() -> None:
    table = Damaged()
    found = table.read_readable("a", "n")
    assert found == {"a": "A"}
    assert (found.newer, table.asked) == (frozenset({"n"}), [["a", "n"]])
    assert table.read_readable() == {}
    assert len(table.asked) == 1


@pytest.mark.parametrize("error", [Unavailable("throttled"), WrittenByNewer("2", ids=("c",))])
@pytest.mark.parametrize("ids", [("c", "a"), ("a", "b", "c")])
def test_what_a_store_does_not_answer_is_raised(error: HourhandError, ids: Sequence[str]) -> None:
    table = Damaged()
    table.raises["c"] = error
    with pytest.raises(type(error)):
        table.read_readable(*ids)
