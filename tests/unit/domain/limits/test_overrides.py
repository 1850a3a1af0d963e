"""The numbers of limits that an operator set: which one applies, and how many there may be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hourhand.domain.errors import WrongState
from hourhand.domain.limits import overrides
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.job_limits import JobLimit
from hourhand.domain.limits.keys import key_digest
from hourhand.domain.limits.overrides import (
    MAX_KEYS,
    MAX_NUMBERS,
    MAX_OVERRIDES,
    NO_OVERRIDES,
    LimitChanges,
    LimitOverride,
    LimitOverrides,
    digests_of_key,
    sole_digest,
)
from tests.unit.domain.job_samples import NOW, after


def limit_of(key: object, name: str = "stripe") -> JobLimit:
    declared = Concurrency(5, key="payload.account", name=name)
    return JobLimit(
        id=name, name=name, position=0, limit=declared, digest=key_digest(name, key), divides=True
    )


def changed(known: LimitOverrides, name: str = "stripe", **changes: object) -> LimitOverrides:
    if "max" in changes:
        changes["sets_max"] = True
    return known.changed(name, LimitChanges(**changes), ("stripe",))  # type: ignore[arg-type]


def test_the_digests_of_keys_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def note(limit_id: str, value: object) -> bytes:
        made.append(value)
        return key_digest(limit_id, value)

    monkeypatch.setattr(overrides, "key_digest", note)
    known = changed(NO_OVERRIDES, "once", keys={"1": 3, "1.0": 4, "acme": 10})
    for _ in range(2):
        numbers = [known.max_of(limit_of(key, "once"), 5) for key in (1, "1.0", "acme", "other")]
        assert numbers == [3, 4, 10, 5]
    assert made == ["1", 1, "1.0", 1.0, "acme"]


@pytest.mark.parametrize(
    ("key", "number"),
    [("acme", 10), ("globex", 0), (42, 7), ("42", 7), ("[1]", 3), ([1], 3)],
    ids=["text", "other", "number", "digits", "brackets", "list"],
)
def test_the_number_of_its_key_applies_to_a_job_else_that_of_the_limit(
    key: object, number: int
) -> None:
    known = changed(NO_OVERRIDES, max=0, keys={"acme": 10, "42": 7, "[1]": 3})
    assert known.max_of(limit_of(key), 5) == number
    assert known.max_of(limit_of(key, "other"), 5) == 5


@pytest.mark.parametrize(
    ("declared", "number", "applies"),
    [
        (Rate(5, per=60, exact=True, name="stripe"), 200, 100),
        (Rate(5, per=60, name="stripe"), 0, 1),
        (Concurrency(5, name="stripe"), 20_000, 1_000),
        (Concurrency(5, name="stripe"), 0, 0),
    ],
)
def test_a_number_that_was_set_for_another_kind_of_limit_is_the_nearest_that_it_can_have(
    declared: Limit, number: int, applies: int
) -> None:
    known = changed(NO_OVERRIDES, max=number)
    limit = replace(limit_of("acme"), limit=declared)
    assert known.max_of(limit, 5) == applies


def test_without_a_number_of_its_own_the_declared_one_applies() -> None:
    known = changed(NO_OVERRIDES, keys={"acme": 10})
    assert known.max_of(limit_of("globex"), 5) == 5


def test_a_change_leaves_what_it_does_not_name_and_null_restores() -> None:
    first = changed(NO_OVERRIDES, max=3, keys={"acme": 10, "globex": 1})
    paused = changed(first, max=0)
    assert paused.limits["stripe"].keys == {"acme": 10, "globex": 1}
    restored = changed(paused, max=None, keys={"acme": None})
    assert restored.limits["stripe"].max is None
    assert restored.limits["stripe"].keys == {"globex": 1}
    assert restored.revision == 3
    assert changed(restored, keys={"globex": None}).limits == {}


def test_a_change_that_changes_nothing_writes_nothing() -> None:
    known = changed(NO_OVERRIDES, max=3)
    assert changed(known, max=3) is known
    assert changed(known, keys={"acme": None}) is known
    assert known.without("other") is known
    assert known.without("stripe").limits == {}


def test_only_so_many_limits_are_overridden_and_those_that_are_gone_make_room() -> None:
    known = NO_OVERRIDES
    for number in range(MAX_OVERRIDES):
        known = changed(known, f"limit-{number}", max=1)
    names = tuple(known.limits)
    with pytest.raises(WrongState, match="Remove some first"):
        known.changed("stripe", LimitChanges(sets_max=True, max=1), ("stripe", *names))
    room = known.changed("stripe", LimitChanges(sets_max=True, max=1), ("stripe", names[7]))
    assert sorted(room.limits) == [names[7], "stripe"]


def test_only_so_many_keys_have_numbers_of_their_own() -> None:
    keys = {f"key-{number}": 1 for number in range(MAX_KEYS)}
    known = changed(NO_OVERRIDES, keys=keys)
    with pytest.raises(WrongState, match="200 keys of one limit"):
        changed(known, keys={"one more": 1})
    names = [f"limit-{number}" for number in range(MAX_NUMBERS // MAX_KEYS)]
    full = NO_OVERRIDES
    for name in names:
        full = full.changed(name, LimitChanges(keys=keys), names)
    with pytest.raises(WrongState, match="1,000 keys of all limits"):
        full.changed("stripe", LimitChanges(keys={"acme": 1}), (*names, "stripe"))


@pytest.mark.parametrize(
    ("text", "count"),
    [("acme", 1), ("42", 2), ('"acme"', 1), ("null", 2), ("NaN", 1), ("[1e999]", 1)],
)
def test_a_text_names_itself_and_the_value_that_it_spells(text: str, count: int) -> None:
    assert len(digests_of_key("stripe", text)) == count
    assert digests_of_key("stripe", text)[0] == key_digest("stripe", text)


@pytest.mark.parametrize(
    ("key", "is_sole"),
    [("handler", True), ("stripe", True), ("tenant", False), ("tags.x", False), ("payload", False)],
)
def test_a_limit_that_does_not_divide_has_a_single_key(key: str, is_sole: bool) -> None:
    digest = sole_digest("stripe", Concurrency(5, key=key))
    assert (digest is not None) is is_sole
    if key == "stripe":
        assert digest == key_digest("stripe", "stripe")


def test_the_shards_of_a_limit_that_was_lowered_are_known_for_an_hour() -> None:
    lowered = NO_OVERRIDES.noting_shards("stripe", 10, NOW)
    override = lowered.limits["stripe"]
    assert override.closed_shards(after(3_599)) == 10
    assert override.closed_shards(after(3_600)) == 0
    assert override.is_empty
    again = lowered.noting_shards("stripe", 3, after(60)).limits["stripe"]
    assert again.closed_shards(after(3_659)) == 10
    later = lowered.noting_shards("stripe", 3, after(3_600)).limits["stripe"]
    assert later.closed_shards(after(3_601)) == 3


def test_the_shards_of_a_limit_outlive_its_numbers_and_lapsed_ones_are_dropped() -> None:
    known = changed(NO_OVERRIDES, max=200).noting_shards("stripe", 10, NOW)
    restored = known.without("stripe")
    assert restored.limits["stripe"].closed_shards(NOW) == 10
    assert restored.without("stripe") is restored
    assert changed(restored, max=3).limits["stripe"].shards == 10
    assert list(restored.noting_shards("other", 2, after(3_600)).limits) == ["other"]


@pytest.mark.parametrize(
    ("override", "shards"),
    [
        (LimitOverride(), 2),
        (LimitOverride(max=0), 1),
        (LimitOverride(max=3, keys={"acme": 50}), 3),
        (LimitOverride(keys={"acme": 1}), 2),
    ],
)
def test_a_limit_has_the_shards_of_its_largest_number(override: LimitOverride, shards: int) -> None:
    assert override.most_shards(25) == shards
