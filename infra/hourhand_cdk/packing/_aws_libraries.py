"""Whether boto3 and what it stands on will fit together in the worker function.

The worker's folder comes before Lambda's own libraries. So what the user's requirements resolve to
replaces parts of Lambda's boto3, for Hourhand's own calls of AWS, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hourhand.aws.botocore_versions import OLDEST_TEXT, is_too_old
from hourhand_cdk.packing._errors import PackingError
from hourhand_cdk.packing._pins import LAMBDA_HAS
from hourhand_cdk.packing._requirements import Line, Requirements
from hourhand_cdk.packing._source import listed
from hourhand_cdk.packing._target import Target

WRITE = f"boto3>={OLDEST_TEXT}"
"""What to write in requirements.txt; it brings the botocore and the s3transfer that fit."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What the requirements resolved to, by the names that indexes use."""

    versions: Mapping[str, str]
    requires: Mapping[str, tuple[Requirement, ...]]


def resolved_in(tree: Path, target: Target) -> Resolved:
    """Read the metadata of what is installed in ``tree``; markers are judged by ``target``."""
    versions: dict[str, str] = {}
    requires: dict[str, tuple[Requirement, ...]] = {}
    for found in metadata.distributions(path=[str(tree)]):
        name = canonicalize_name(found.metadata["Name"])
        versions[name] = found.version
        requires[name] = _required(found.requires or [], target)
    return Resolved(versions, requires)


def check_aws_libraries(tree: Path, requirements: Requirements, target: Target) -> None:
    """Raise `PackingError` where boto3, or a part of it, would not work in the worker.

    ``tree``: all that ``requirements`` resolved to, what Lambda has included. The detail names the
    lines that are the reason, what they resolved to, and what to write instead.
    """
    found = resolved_in(tree, target)
    blame = _Blame(requirements, found, target)
    for name in ("boto3", "botocore"):
        version = found.versions.get(name)
        if version is not None and is_too_old(version):
            raise PackingError(
                f"{blame.of(name)} resolves to {name} {version}. Hourhand needs {name} "
                f"{OLDEST_TEXT} or later. Write {WRITE} instead, or remove the line: Lambda has a "
                "boto3 of its own. If another package asks for the old version, use a release "
                f"of it that accepts {WRITE}."
            )
    # Without a line of their own, Lambda's are used: see `Dependencies.theirs`.
    is_packed = any(line.name in LAMBDA_HAS for line in _applying(requirements.lines, target))
    if is_packed and "boto3" not in found.versions:
        carried = sorted(LAMBDA_HAS & set(found.versions))
        shown = " and ".join(f"{name} {found.versions[name]}" for name in carried)
        raise PackingError(
            f"{blame.of(*carried)} resolves to {shown} without boto3. The worker would run "
            f"Lambda's own boto3 with it, and the two may not fit. Write {WRITE} instead, which "
            "brings all of them, or remove the line."
        )
    _check_each_other(found, blame, target)


def _check_each_other(found: Resolved, blame: _Blame, target: Target) -> None:
    """Refuse versions that boto3, botocore or s3transfer exclude, be these packed or Lambda's."""
    for name in sorted(LAMBDA_HAS):
        required = found.requires.get(name)
        # Lambda's own is like the one of this environment, as far as anybody can see from here.
        owner = f"{name} {found.versions[name]}" if required is not None else f"Lambda's own {name}"
        if required is None:
            required = _required(metadata.requires(name) or [], target)
        for one in required:
            wanted = canonicalize_name(one.name)
            version = found.versions.get(wanted)
            if version is None or one.specifier.contains(version, prereleases=True):
                continue
            advice = f"Write {WRITE} instead" if wanted in LAMBDA_HAS else f"Write {one} instead"
            raise PackingError(
                f"{blame.of(wanted)} resolves to {wanted} {version}. {owner} needs {one}. "
                f"{advice}, or remove the line."
            )


class _Blame:
    """Finds the lines of requirements that are the reason for a distribution."""

    def __init__(self, requirements: Requirements, found: Resolved, target: Target) -> None:
        self._lines = tuple(_applying(requirements.lines, target))
        self._constraints = tuple(_applying(requirements.constraints, target))
        self._found = found

    def of(self, *names: str) -> str:
        """Return the lines that name one of ``names`` or bring it along, each with its place."""
        wanted = set(names)
        lines = [line for line in self._constraints if line.name in wanted]
        lines += [line for line in self._lines if wanted & self._closure(line.name)]
        shown = listed([f"{line.place}: {line.text}" for line in lines])
        return shown or "requirements.txt"

    def _closure(self, root: str) -> set[str]:
        """Return all that ``root`` requires; each distribution is looked at once."""
        seen: set[str] = set()
        waiting = [root]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                requires = self._found.requires.get(name, ())
                waiting += [canonicalize_name(one.name) for one in requires]
        return seen


def _applying(lines: Iterable[Line], target: Target) -> Iterable[Line]:
    return (line for line in lines if line.applies(target.markers))


def _required(texts: Iterable[str], target: Target) -> tuple[Requirement, ...]:
    parsed = (Requirement(text) for text in texts)
    environment = {**target.markers, "extra": ""}
    return tuple(one for one in parsed if one.marker is None or one.marker.evaluate(environment))
