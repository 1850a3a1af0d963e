"""The benchmarks of children count what they say, on fan-outs that take no time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.children import fan_out, peers, units
from bench.children.work import CHILDREN, callback_name, child_name
from bench.peers import runs
from bench.peers.teams import HOURHAND
from bench.single import check

SMALL = replace(fan_out.IN_MEMORY, name="small", jobs=250, workers=20)


def test_no_item_is_written_more_often_than_a_record_has_children() -> None:
    played = fan_out.in_memory(SMALL)
    assert (played.lost, played.twice) == (0, 0)
    # A put, and an end of each child: of a hundred, or of three full records.
    assert played.hottest[fan_out.JOIN] == 1 + 100
    assert played.hottest[fan_out.ROOT] == 1 + 3
    assert played.hottest[fan_out.CHILDREN] == 4
    assert played.hottest[fan_out.RUN] < fan_out.FEW
    told = fan_out.result([played])
    check(told)
    assert told["ok"]


@pytest.mark.parametrize(
    "change",
    [
        {"lost": 1},
        {"twice": 1},
        {"hottest": {**dict.fromkeys(fan_out.KINDS, 5), fan_out.ROOT: 120}},
    ],
)
def test_what_a_fan_out_lost_or_wrote_too_often_is_told(change: dict[str, Any]) -> None:
    played = fan_out.FanOut("here", 250, 0, 0, 1_300, dict.fromkeys(fan_out.KINDS, 5), 2, 1, 0.1)
    assert fan_out.result([played])["ok"]
    assert not fan_out.result([replace(played, **change)])["ok"]


def test_units_are_attributed_to_children_join_records_and_the_run() -> None:
    written = {
        ("run", "J"): 9.0,
        ("run", "R#s1"): 1.0,
        ("run", "R#ckey"): 2.0,
        ("run", "R#ckey.0000"): 11.0,
        ("c.a", "J"): 6.0,
        ("c.b", "J"): 6.5,
    }
    one = units.counted("map", "run", 2, written, chunks=2)
    assert (one.of_children, one.of_joins, one.of_run) == (12.5, 13.0, 10.0)
    assert one.of_each_child == 25.5 / 2
    assert one.of_each_chunk == (35.5 - 6 - 2 * 7) / 2


def counted(name: str, children: int, each: float, chunks: int = 0) -> units.Counted:
    return units.Counted(name, children, each * children, 0.0, 6.0, chunks)


@pytest.mark.parametrize(
    ("one", "ok"),
    [
        (counted("a child", 1, 8.0), True),
        (counted("a child", 1, 9.0), False),
        (counted("map", 100, 7.02), True),
        (counted("map", 100, 7.03), False),
        (counted("window", 4, 9.0, chunks=1), True),
        (counted("window", 4, 9.5, chunks=1), False),
    ],
)
def test_a_child_is_judged_by_how_it_was_submitted(one: units.Counted, ok: bool) -> None:
    assert [target["ok"] for target in units.targets(6.0, [one])] == [True, ok]
    assert not units.targets(7.0, [one])[0]["ok"]


def record(**more: list[float]) -> runs.Record:
    """Return the record of fan-outs of which everything held, with changed ends."""
    ended = {
        name: [1.0]
        for fan in peers.FAN_OUT_NAMES
        for name in (child_name(fan, n) for n in range(CHILDREN))
    }
    ended |= {callback_name(fan): [3.0] for fan in peers.FAN_OUT_NAMES}
    begun = {name: [at - 0.5 for at in times] for name, times in ended.items()}
    changed = {name.replace("_", "-").replace("x", "."): at for name, at in more.items()}
    return runs.Record(begun, {name: at for name, at in (ended | changed).items() if at})


HELD = peers.Seen(HOURHAND, peers.KILLS, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("more", "change"),
    [
        ({}, {}),
        ({"fan_0xcallback": []}, {"lost": 1}),
        ({"fan_0xcallback": [3.0, 4.0]}, {"twice": 1}),
        ({"fan_1x7": [2.9]}, {"early": 1}),
        ({"fan_2x7": []}, {"early": 1, "children_lost": 1}),
    ],
)
def test_callbacks_are_judged_by_what_ran(
    more: dict[str, list[float]], change: dict[str, Any]
) -> None:
    assert peers.judged(HOURHAND, record(**more), peers.KILLS) == replace(HELD, **change)


def test_children_that_began_again_are_counted() -> None:
    whole = record()
    begun = {**whole.begun, "fan-3.1": [0.1, 0.9]}
    assert peers.judged(HOURHAND, runs.Record(begun, whole.ended), 1).again == 1


@pytest.mark.parametrize("change", [{"lost": 1}, {"twice": 1}, {"early": 1}, {"children_lost": 1}])
def test_ours_alone_is_judged_among_the_peers(change: dict[str, Any]) -> None:
    other = replace(HELD, name="Celery", lost=3, twice=2)
    told = peers.result([HELD, other], ["BullMQ: no figure, for not installed"])
    check(told)
    assert told["ok"]
    assert told["notes"][-1] == "BullMQ: no figure, for not installed"
    assert not peers.result([other], [])["ok"]
    assert not peers.result([replace(HELD, **change)], [])["ok"]


def test_kills_are_drawn_once_for_all() -> None:
    moments = peers.kill_moments()
    assert moments == peers.kill_moments() == sorted(moments)
    assert len(moments) == peers.KILLS
    assert {number for _, number in moments} <= set(range(peers.WORKERS))
