"""Which cells there are, which of them are played at once, and that a gap among them is found."""

from __future__ import annotations

from proof.wire.calls import QUEUES, Call
from proof.wire.cells import AS_EVER, NOT_MET, RETRIED, Outcome, how_together
from proof.wire.completeness import gaps
from proof.wire.faults import RESET, TIMEOUT, Span
from proof.wire.matrix import MOST_SECONDS_AT_ONCE, Cell, befalling, cells_of, together
from proof.wire.running import Result
from proof.wire.scenes import SCENES

SCENE = SCENES[-1]
PUT = Call("api", "dynamodb", "PutItem", "jobs")
SEND = Call("api", "sqs", "SendMessageBatch", QUEUES)
READS = [Call("api", "dynamodb", "GetItem", table) for table in ("jobs", "schedules", "control")]
LISTED = [PUT, SEND]
MADE = [(call, shape) for call in LISTED for shape in ("one", "another")]
SHAPES = {call: frozenset({"one", "another"}) for call in (*LISTED, *READS)}
CELLS = list(cells_of(SCENE, SHAPES))


def a_whole_run() -> list[Result]:
    return [Result(cell, RETRIED, met=cell.shapes) for cell in CELLS if cell.call in LISTED]


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
    def together_of(outcome: Outcome, call: Call) -> str | None:
        return how_together(outcome, Outcome(), call, RESET.name)

    both = {(call, "one", RESET.name): 1 for call in LISTED}
    healed = Outcome(befallen=both, retried=frozenset({PUT}))
    assert together_of(healed, PUT) == RETRIED
    assert together_of(healed, SEND) == AS_EVER
    assert together_of(healed, READS[0]) is None
    longer = Outcome(befallen=both, minutes=1, retried=frozenset({PUT}))
    assert together_of(longer, PUT) == RETRIED
    assert together_of(longer, SEND) is None
    assert together_of(Outcome(befallen=both, unavailable=1), PUT) is None
    assert together_of(Outcome(befallen=both, violations=["a job is lost"]), PUT) is None


def test_a_kind_of_request_has_met_a_fault_if_each_of_its_sends_did() -> None:
    befallen = {(PUT, shape, RESET.name): 2 for shape in ("one", "another")}
    outcome = Outcome(befallen=befallen, untraced={(PUT, "another", RESET.name): 1})
    assert outcome.met(PUT, RESET.name) == {"one"}
    assert outcome.met(PUT, TIMEOUT.name) == frozenset()
    assert outcome.met(SEND, RESET.name) == frozenset()


# --- a gap that is planted here must be found ---


def test_a_whole_run_has_no_gap() -> None:
    assert list(gaps(LISTED, MADE, a_whole_run(), LISTED)) == []


def test_a_call_that_is_not_listed_is_found() -> None:
    (gap,) = gaps([*LISTED, READS[0]], MADE, a_whole_run(), LISTED)
    assert gap == f"{READS[0]} is called, and is not in the list of calls"


def test_a_listed_call_that_nobody_makes_is_found() -> None:
    (gap,) = gaps(LISTED, MADE, a_whole_run(), [*LISTED, READS[0]])
    assert gap == f"{READS[0]} is in the list, and no scene makes it"


def test_a_fault_that_one_kind_of_request_never_met_is_found() -> None:
    fault, span = list(befalling(PUT))[-1]
    missing: Cell = next(c for c in CELLS if (c.call, c.fault, c.span) == (PUT, fault, span))
    results = a_whole_run()
    place = [result.cell for result in results].index(missing)
    results[place] = Result(missing, RETRIED, met=frozenset({"one"}))
    gap = f"{PUT} (another) never met: {fault.told}, {span}"
    assert list(gaps(LISTED, MADE, results, LISTED)) == [gap]
    results[place] = Result(missing, NOT_MET)
    assert len(list(gaps(LISTED, MADE, results, LISTED))) == len(missing.shapes)
