"""A sample of mutants dies, the code as it is lives, and a mutant that nobody sees is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from proof.figures import Findings
from proof.mutants.__main__ import main
from proof.mutants.catalogue import ALL, chosen
from proof.mutants.mutant import Change, Mutant
from proof.mutants.running import Trial, try_all, try_code, try_mutant
from proof.mutants.trial import Outcome

SAMPLE = [
    "mark before send",
    "complete without token",
    "one look is enough",
    "the entry goes before the letter",
    "a slot is freed whoever holds it",
]


def test_a_sample_of_mutants_dies_and_the_code_as_it_is_lives() -> None:
    told: list[Trial] = []
    trials = try_all(chosen(SAMPLE), 2, told.append)
    assert told == trials
    assert [sentence for trial in trials for sentence in trial.violations] == []
    assert {trial.name for trial in trials} == {"the code as it is", *SAMPLE}


def test_a_mutant_that_its_killer_does_not_see_is_a_violation() -> None:
    (mutant,) = chosen(["mark before send"])
    blind = Mutant(
        name=mutant.name,
        rule=mutant.rule,
        changes=mutant.changes,
        killers=("succeed / undisturbed",),
        not_explored="one that is blind",
    )
    trial = try_mutant(blind)
    assert [verdict.outcome for verdict in trial.verdicts] == [Outcome.SURVIVED]
    assert len(trial.violations) == 1


def test_a_killer_finds_no_fault_with_the_code_as_it_is() -> None:
    assert not try_code(["succeed / undisturbed"]).violations


def _tried(module: str, scope: str, old: str, new: str) -> Trial:
    change = Change(module=module, scope=scope, old=old, new=new)
    return try_mutant(
        Mutant(
            name="slip",
            rule="",
            changes=(change,),
            killers=("succeed / undisturbed",),
            not_explored="a slip",
        )
    )


def test_a_mutant_that_dies_of_a_slip_is_not_killed() -> None:
    trial = _tried("hourhand.domain.times", "floor_ms", "from_ms(to_ms(instant))", "no_such_name")
    assert [verdict.outcome for verdict in trial.verdicts] == [Outcome.STILLBORN]
    assert trial.violations


def test_a_mutant_of_a_module_that_nobody_imports_is_told() -> None:
    trial = _tried("hourhand.cli.lines", "", "from __future__", "from  __future__")
    assert "Nobody imports hourhand.cli.lines" in trial.violations[0]


def test_the_command_tells_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "mutants.json"
    assert main(["--only", "mark before send", "--figures", str(figures)]) == 0
    assert "1 mutants" in capsys.readouterr().out
    findings = Findings.read(figures)
    assert findings.violations == []
    assert [figure.value for figure in findings.figures][:2] == ["1", "1"]


def test_the_command_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(ALL)
