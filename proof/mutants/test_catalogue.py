"""The catalogue is of the code as it is: no refactoring disarms a mutant in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from proof.explorer.scenarios import ALL as SCENARIOS
from proof.mutants.catalogue import ALL, AREAS, CONDITIONS, FATES, chosen
from proof.mutants.killers import killer_of
from proof.mutants.mutant import (
    EXPLORER,
    Change,
    How,
    Mutant,
    StaleMutant,
    mutated_sources,
    source_of,
)
from proof.mutants.table import UnreadableRow, read_fate, read_table
from proof.mutants.trial import Order, Outcome, read_order

ENOUGH = 200
HERE = "proof.mutants.sample_of_code"
SAMPLE = """
LIMIT = 3


class Box:
    size = 1

    def take(self, count: int) -> int:
        if count > LIMIT:
            # Too many.
            return 0

        self.size += count
        return count

    def give(self) -> int:
        return 0
"""


def change(scope: str, old: str, new: str = "", how: How = How.REPLACE, after: str = "") -> Change:
    return Change(module=HERE, scope=scope, old=old, new=new, how=how, after=after)


def test_there_are_mutants_of_every_area() -> None:
    assert len(ALL) >= ENOUGH
    assert all(len(area) >= 20 for area in AREAS.values())


def test_each_mutant_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(m.name for m in ALL).items() if count > 1] == []


@pytest.mark.parametrize("area", AREAS)
def test_each_fragment_occurs_once_and_compiles_when_it_is_replaced(area: str) -> None:
    assert list(_stale(AREAS[area])) == []


def _stale(mutants: tuple[Mutant, ...]) -> Iterator[str]:
    """Yield each mutant that is not one of the code as it is, and why."""
    for mutant in mutants:
        try:
            for module, source in mutated_sources(mutant.changes).items():
                compile(source, module, "exec", dont_inherit=True)
                if source == source_of(module):
                    yield f"'{mutant.name}' changes nothing in {module}."
        except (StaleMutant, SyntaxError) as error:
            yield f"'{mutant.name}': {error}"


def test_each_clause_of_each_move_has_a_mutant_and_its_fate() -> None:
    assert sorted(FATES) == sorted(mutant.name for mutant in AREAS[CONDITIONS])


def test_a_mutant_says_who_kills_it_or_why_none_need_and_whether_it_is_explored() -> None:
    made = (change("Box", "size = 1"),)
    with pytest.raises(ValueError, match="Say who kills"):
        Mutant(name="lost", rule="none", changes=made)
    with pytest.raises(ValueError, match="Say who kills"):
        Mutant(name="both", rule="none", changes=made, killers=("a",), equivalent="b")
    with pytest.raises(ValueError, match="or why in none"):
        Mutant(name="silent", rule="none", changes=made, killers=("a",))
    with pytest.raises(ValueError, match="or why in none"):
        Mutant(name="all", rule="none", changes=made, killers=("explorer: a",), not_explored="b")


@pytest.mark.parametrize(
    ("stale", "told"),
    [
        (change("Box.take", "no such line"), "this occurs 0 times, not once: `no such line`"),
        (change("Box.take", "return"), "In `Box.take` of .* this occurs 2 times, not once"),
        (change("Box.lend", "return"), "has no `Box.lend`"),
        (change("Box.take", "size = 1", after="def take"), "does not follow `def take`"),
    ],
)
def test_a_fragment_that_is_gone_or_occurs_twice_is_refused(stale: Change, told: str) -> None:
    with pytest.raises(StaleMutant, match=told):
        stale.apply(SAMPLE)


def test_a_module_that_is_gone_is_told() -> None:
    for module in ("hourhand.no_such_module", "hourhand.no_such_package.module"):
        with pytest.raises(StaleMutant, match=f"There is no module {module}"):
            source_of(module)


@pytest.mark.parametrize(
    ("wrong", "before", "after"),
    [
        (change("LIMIT", "3", "4"), "LIMIT = 3", "LIMIT = 4"),
        (change("Box.size", "1", "2"), "size = 1", "size = 2"),
        (change("Box.give", "0", "1"), "int:\n        return 0", "int:\n        return 1"),
        (change("Box.take", "return", "raise", after="+="), "return count", "raise count"),
        (
            change("Box.take", "if count", how=How.BLOCK),
            "        if count > LIMIT:\n            # Too many.\n            return 0\n",
            "",
        ),
        (
            change("Box.take", "if count", "count = 0", How.BLOCK),
            "if count > LIMIT:\n            # Too many.\n            return 0\n",
            "count = 0\n",
        ),
        (
            change("Box.take", "self.size +=", "pass", How.ADD_BEFORE),
            "        self",
            "        pass\n        self",
        ),
        (
            change("Box.take", "self.size +=", "pass", How.ADD_AFTER),
            "+= count\n",
            "+= count\n        pass\n",
        ),
    ],
)
def test_a_change_is_made_where_its_row_says(wrong: Change, before: str, after: str) -> None:
    assert wrong.apply(SAMPLE) == SAMPLE.replace(before, after)


PAGE = """# boxes

## proof.boxes

- **too many**: No more than fit.
  `Box.take`: `LIMIT` -> `9` after `if count`
  `Box.take`: block `if a:` -> `b`
  `Box.take`: drop `count` after `return`
  `proof.lids:Lid`: add `pass` before `x`
  `Lid`: add `pass` after `x`
  killed by `time: a`, `b / c`; not explored: [reads]
- **none**: As many as fit.
  `Box`: `size` -> ``
  equivalent: It has a lid.

[reads]: It costs reads.
"""


def test_a_table_is_read() -> None:
    first, second = read_table(PAGE)
    assert first == (
        "boxes",
        Mutant(
            name="too many",
            rule="No more than fit.",
            changes=(
                Change(
                    module="proof.boxes", scope="Box.take", old="LIMIT", new="9", after="if count"
                ),
                Change(module="proof.boxes", scope="Box.take", old="if a:", new="b", how=How.BLOCK),
                Change(
                    module="proof.boxes",
                    scope="Box.take",
                    old="count",
                    how=How.BLOCK,
                    after="return",
                ),
                Change(module="proof.lids", scope="Lid", old="x", new="pass", how=How.ADD_BEFORE),
                Change(module="proof.boxes", scope="Lid", old="x", new="pass", how=How.ADD_AFTER),
            ),
            killers=("time: a", "b / c"),
            not_explored="It costs reads.",
        ),
    )
    assert second[1].equivalent == "It has a lid."
    assert second[1].changes == (Change(module="proof.boxes", scope="Box", old="size"),)


@pytest.mark.parametrize("line", ["a word", "  `Box`: `a` to `b`", "  killed by nobody"])
def test_a_line_of_no_known_form_is_refused(line: str) -> None:
    with pytest.raises(UnreadableRow):
        list(read_table(f"{PAGE}\n{line}\n"))
    for fate in ("nobody knows", "equivalent: [writes]"):
        with pytest.raises(UnreadableRow):
            read_fate(fate, PAGE)


def test_each_killer_is_one() -> None:
    assert list(_unknown_killers()) == []


def _unknown_killers() -> Iterator[str]:
    for mutant in ALL:
        for killer in mutant.killers:
            try:
                killer_of(killer)
            except KeyError as error:
                yield f"'{mutant.name}': {error}"


def test_each_scenario_of_the_explorer_that_kills_is_one() -> None:
    named = {killer for mutant in ALL for killer in mutant.killers if killer.startswith(EXPLORER)}
    scenarios = {killer.removeprefix(EXPLORER).partition(", ")[0] for killer in named}
    assert scenarios <= SCENARIOS.keys()


def test_the_explorer_kills_each_mutant_that_others_kill_or_says_why_not() -> None:
    reasons = {mutant.not_explored for mutant in ALL if mutant.not_explored}
    assert [reason for reason in reasons if len(reason.split()) < 10] == []
    assert sum(mutant.is_explored for mutant in ALL) >= ENOUGH / 2


def test_an_order_is_read_as_it_was_written() -> None:
    made = change("Box", "old", "new", How.ADD_AFTER, "this")
    assert read_order(Order([made], ["a", "b"]).to_json()) == Order([made], ["a", "b"])


def test_mutants_are_chosen_by_a_part_of_their_names() -> None:
    assert chosen(None) == ALL
    assert [mutant.name for mutant in chosen(["mark before"])] == ["mark before send"]


def test_an_outcome_is_a_word() -> None:
    assert Outcome("killed") is Outcome.KILLED
