"""Which cells there are, which of them are played at once, and that a gap among them is found."""

from __future__ import annotations

from tests.proof.wire.calls import QUEUES, Call
from tests.proof.wire.cells import AS_EVER, NOT_MET, RETRIED, Outcome, how_together
from tests.proof.wire.completeness import gaps
from tests.proof.wire.faults import RESET, TIMEOUT, Span
from tests.proof.wire.matrix import MOST_SECONDS_AT_ONCE, Cell, befalling, cells_of, together
from tests.proof.wire.running import Result
from tests.proof.wire.scenes import SCENES

SCENE = SCENES[-1]
PUT = Call("api", "dynamodb", "PutItem", "jobs")
SEND = Call("api", "sqs", "SendMessageBatch", QUEUES)
READS = [Call("api", "dynamodb", "GetItem", table) for table in ("jobs", "schedules", "control")]
LISTED = [PUT, SEND]
SHAPES = {call: frozenset({"one", "another"}) for call in (*LISTED, *READS)}
CELLS = list(cells_of(SCENE, SHAPES))


def a_whole_run() -> list[Result]:
    return [Result(cell, RETRIED) for cell in CELLS if cell.call in LISTED]


def test_each_cell_is_played_once_at_once_or_by_itself() -> None:
    groups = list(together(CELLS))
    played = [cell for group in groups for cell in group]
    assert sorted(map(str, played)) == sorted(map(str, CELLS))
    assert len(groups) < len(CELLS)


def test_only_one_fault_of_one_send_befalls_many_calls_at_once() -> None:
    for group in together(CELLS):
        assert len({cell.fault.name for cell in group}) == 1
        assert len({cell.call for cell in group}) == len(group)
        if len(group) > 1:
            assert {cell.span for cell in group} == {Span.ONCE}
            assert sum(cell.seconds for cell in group) <= MOST_SECONDS_AT_ONCE


def test_a_fault_that_takes_no_time_befalls_all_calls_at_once() -> None:
    sizes = {
        fault.name: max(len(group) for group in together(CELLS) if group[0].fault is fault)
        for fault in (RESET, TIMEOUT)
    }
    assert sizes == {RESET.name: len(SHAPES), TIMEOUT.name: 4}


def test_what_no_retry_made_good_is_played_by_itself() -> None:
    baseline = Outcome(injected=0)
    healed = Outcome(injected=2, befallen={PUT: 1, SEND: 1}, retried=frozenset({PUT}))
    assert how_together(healed, baseline, PUT) == RETRIED
    assert how_together(healed, baseline, SEND) == AS_EVER
    assert how_together(healed, baseline, READS[0]) is None
    longer = Outcome(injected=2, befallen={PUT: 1, SEND: 1}, minutes=1, retried=frozenset({PUT}))
    assert how_together(longer, baseline, PUT) == RETRIED
    assert how_together(longer, baseline, SEND) is None
    told = Outcome(injected=1, befallen={PUT: 1}, unavailable=1)
    assert how_together(told, baseline, PUT) is None
    broken = Outcome(injected=1, befallen={PUT: 1}, violations=["a job is lost"])
    assert how_together(broken, baseline, PUT) is None


# --- a gap that is planted here must be found ---


def test_a_whole_run_has_no_gap() -> None:
    assert list(gaps(LISTED, a_whole_run(), LISTED)) == []


def test_a_call_that_is_not_listed_is_found() -> None:
    (gap,) = gaps([*LISTED, READS[0]], a_whole_run(), LISTED)
    assert gap == f"{READS[0]} is called, and is not in the list of calls"


def test_a_listed_call_that_nobody_makes_is_found() -> None:
    (gap,) = gaps(LISTED, a_whole_run(), [*LISTED, READS[0]])
    assert gap == f"{READS[0]} is in the list, and no scene makes it"


def test_a_fault_that_a_call_never_met_is_found() -> None:
    fault, span = list(befalling(PUT))[-1]
    missing: Cell = next(c for c in CELLS if (c.call, c.fault, c.span) == (PUT, fault, span))
    results = a_whole_run()
    place = [result.cell for result in results].index(missing)
    results[place] = Result(missing, NOT_MET)
    assert list(gaps(LISTED, results, LISTED)) == [f"{PUT} never met: {fault.told}, {span}"]
