"""The catalogue is of the code as it is: no refactoring disarms a mutant in silence."""

from __future__ import annotations

from collections import Counter

import pytest

from proof.explorer.scenarios import ALL as SCENARIOS
from proof.mutants.catalogue import ALL, THEMES, chosen
from proof.mutants.clause_mutants import clause_pairs
from proof.mutants.explored import BY_EXPLORER, NOT_BY_EXPLORER
from proof.mutants.mutant import (
    Mutant,
    Patch,
    StaleMutant,
    is_explorer,
    patched_sources,
    source_of,
)
from proof.mutants.of_clauses import EQUIVALENT, KILLED
from proof.mutants.trial import Order, Outcome, read_order

ENOUGH = 200


def test_there_are_mutants_of_every_theme() -> None:
    assert len(ALL) >= ENOUGH
    assert all(len(theme) >= 20 for theme in THEMES.values())


def test_each_mutant_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(m.name for m in ALL).items() if count > 1] == []


@pytest.mark.parametrize("theme", THEMES)
def test_each_fragment_occurs_once_and_compiles_when_it_is_replaced(theme: str) -> None:
    for mutant in THEMES[theme]:
        for module, source in patched_sources(mutant.patches).items():
            assert source != source_of(module), mutant.name
            compile(source, module, "exec", dont_inherit=True)


def test_each_clause_of_each_move_has_a_mutant_and_its_fate() -> None:
    pairs = {pair.name for pair in clause_pairs()}
    assert KILLED.keys() | EQUIVALENT.keys() == pairs
    assert not KILLED.keys() & EQUIVALENT.keys()
    assert {mutant.name for mutant in THEMES["a clause of a condition"]} == pairs


def test_a_mutant_says_who_kills_it_or_why_none_need() -> None:
    patch = Patch("hourhand.domain.times", "x", "y")
    with pytest.raises(ValueError, match="Say who kills"):
        Mutant(name="lost", rule="none", patches=(patch,))
    with pytest.raises(ValueError, match="Say who kills"):
        Mutant(name="both", rule="none", patches=(patch,), killers=("a",), equivalent="b")


def test_a_fragment_that_is_gone_or_occurs_twice_is_refused() -> None:
    for fragment in ("no such line", "return"):
        with pytest.raises(StaleMutant):
            Patch("hourhand.domain.times", fragment, "").apply(source_of("hourhand.domain.times"))
    with pytest.raises(StaleMutant):
        source_of("hourhand.no_such_module")


def test_each_scenario_of_the_explorer_is_one_and_kills_one_that_others_kill_too() -> None:
    killed = {mutant.name: mutant for mutant in ALL if mutant.killers}
    assert BY_EXPLORER.keys() <= killed.keys()
    assert {named.partition(", ")[0] for named in BY_EXPLORER.values()} <= SCENARIOS.keys()
    assert all(not is_explorer(killed[name].killers[0]) for name in BY_EXPLORER)


def test_the_explorer_kills_each_mutant_that_others_kill_or_says_why_not() -> None:
    by_others = {m.name for m in ALL if m.killers and not is_explorer(m.killers[0])}
    assert by_others == BY_EXPLORER.keys() | NOT_BY_EXPLORER.keys()
    assert not BY_EXPLORER.keys() & NOT_BY_EXPLORER.keys()
    assert all(len(reason.split()) >= 10 for reason in NOT_BY_EXPLORER.values())


def test_an_order_is_read_as_it_was_written() -> None:
    patch = Patch("hourhand.domain.times", "old", "new")
    assert read_order(Order([patch], ["a", "b"]).to_json()) == Order([patch], ["a", "b"])


def test_mutants_are_chosen_by_a_part_of_their_names() -> None:
    assert chosen(None) == ALL
    assert [mutant.name for mutant in chosen(["mark before"])] == ["mark before send"]


def test_an_outcome_is_a_word() -> None:
    assert Outcome("killed") is Outcome.KILLED
