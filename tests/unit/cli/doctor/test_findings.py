from __future__ import annotations

from collections.abc import Iterator

import pytest

from hourhand.cli.doctor.findings import (
    Finding,
    Look,
    NotSeen,
    Status,
    Verdict,
    failed,
    merged,
    ok,
    run_look,
    skipped,
    unknown,
    verdict_of,
    warning,
)


def test_what_is_well_of_one_check_is_one_line_and_the_rest_keeps_its_own() -> None:
    findings = [ok("a", "one"), warning("a", "two", "do"), ok("b", "three"), ok("a", "four")]
    assert merged(findings) == [
        ok("a", "one; four"),
        warning("a", "two", "do"),
        ok("b", "three"),
    ]


def test_what_two_looks_found_alike_is_told_once() -> None:
    assert merged([failed("a", "gone", "do"), failed("a", "gone", "do")]) == [
        failed("a", "gone", "do")
    ]


def test_what_is_unknown_is_not_well_and_a_failure_goes_before_it() -> None:
    well = [ok("a", ""), warning("a", "", ""), skipped("a", "", "")]
    assert verdict_of(well) is Verdict.WELL
    assert verdict_of([*well, unknown("a", "", "")]) is Verdict.UNKNOWN
    assert verdict_of([*well, unknown("a", "", ""), failed("a", "", "")]) is Verdict.FAILED


@pytest.mark.parametrize(
    ("raised", "told"),
    [(Status.SKIPPED, Status.UNKNOWN), (Status.FAILED, Status.FAILED)],
)
def test_what_is_essential_may_not_be_skipped(raised: Status, told: Status) -> None:
    def run() -> Iterator[Finding]:
        raise NotSeen(raised, "not seen", "do this")

    (finding,) = run_look(Look("a", run, is_essential=True))
    assert finding.status is told


def test_what_was_found_before_a_hindrance_stays_found() -> None:
    def run() -> Iterator[Finding]:
        yield ok("a", "seen")
        raise NotSeen(Status.SKIPPED, "no more", "do this")

    assert run_look(Look("a", run)) == [ok("a", "seen"), skipped("a", "no more", "do this")]


def test_an_answer_that_lacks_what_it_should_have_is_told_and_not_raised() -> None:
    answer: dict[str, str] = {}
    (finding,) = run_look(Look("a", lambda: [ok("a", answer["Table"])]))
    assert finding.status is Status.FAILED
    assert finding.seen == "AWS's answer could not be read: KeyError('Table')"
