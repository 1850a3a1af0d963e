"""The packed functions on other versions of boto3 than this environment's.

    python -m proof.boto3_versions

Ends with 1 if a function does not start or a job is not done, and if that is not noticed of
functions whose fallback was taken out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hourhand.aws.clients import is_too_old
from hourhand_cdk.packing import Packed
from proof.boto3_versions.rig import (
    ENVIRONMENTS,
    Ran,
    libraries_of,
    packed_functions,
    run_all,
)
from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag

COMMAND = "python -m proof.boto3_versions"
PART = "Other versions of boto3"
FUNCTIONS = ("api", "scheduler", "worker")

CATCHES = "except Exception as error:  # noqa: BLE001 - no part of botocore's is worth a function"
CATCHES_NOTHING = "except MemoryError as error:"
"""What makes functions of which the old boto3 ends the start, as it did before they fell back."""


def main() -> int:
    """Run the functions on each boto3 and print what came of it."""
    unwind_on_sigterm()
    parser = argparse.ArgumentParser(prog=COMMAND, description=str(__doc__).splitlines()[0])
    add_figures_flag(parser)
    options = parser.parse_args()
    findings = Findings(PART, COMMAND)
    with packed_functions() as packed:
        for environment in ENVIRONMENTS:
            _run(findings, packed, environment)
        with _without_fallback(packed):
            if _problem(packed, "old") is None:
                findings.violations.append(
                    "Functions without their fallback worked on the old boto3: this part of the "
                    "proof would not notice if they did not."
                )
    findings.count("functions without their fallback, noticed", "1 of 1")
    for violation in findings.violations:
        _say(violation)
    findings.write(options.figures)
    return 1 if findings.violations else 0


def _run(findings: Findings, packed: Packed, environment: str) -> None:
    problem = _problem(packed, environment)
    if problem is not None:
        findings.violations.append(f"On the {environment} boto3: {problem}")
        return
    version = _version(libraries_of(environment))
    found = "work, by botocore's own client" if is_too_old(version) else "work"
    findings.count(f"the three functions on botocore {version} ({environment})", found)
    _say(f"botocore {version} ({environment}): the functions {found}")


def _problem(packed: Packed, environment: str) -> str | None:
    """Run the functions; return what is not as it should be."""
    libraries = libraries_of(environment)
    if not libraries.is_dir():
        return "it is not installed; run `make boto3`."
    try:
        ran = run_all(packed, libraries)
    except RuntimeError as error:
        return str(error)
    return _judge(ran)


def _judge(ran: Ran) -> str | None:
    if not ran.is_well:
        return f"the functions did not do their work: {ran}"
    expected = 1 if is_too_old(ran.botocore) else 0
    wrong = {name: found for name, found in ran.fallbacks.items() if len(found) != expected}
    return f"{expected} fallbacks were expected, and logged were {wrong}" if wrong else None


@contextmanager
def _without_fallback(packed: Packed) -> Iterator[None]:
    """Take the lean client's fallback out of the packed functions."""
    places = [packed.api.parent / name / "hourhand/aws/clients.py" for name in FUNCTIONS]
    sources = {place: place.read_text() for place in places}
    for place, source in sources.items():
        assert source.count(CATCHES) == 1, "the code was changed since"
        place.write_text(source.replace(CATCHES, CATCHES_NOTHING))
        # Packed bytecode is taken as it is, whatever the source says.
        for compiled in place.parent.glob(f"__pycache__/{place.stem}.*.pyc"):
            compiled.unlink()
    try:
        yield
    finally:
        for place, source in sources.items():
            place.write_text(source)


def _version(libraries: Path) -> str:
    (found,) = libraries.glob("botocore-*.dist-info")
    return found.name.removeprefix("botocore-").removesuffix(".dist-info")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
