"""What of ours goes into the functions: Hourhand's dependencies, as they are installed here.

The versions of this environment are those that its tests ran with. boto3 is left out: Lambda
has one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hourhand_cdk.packing._errors import PackingError
from hourhand_cdk.packing._requirements import Requirements
from hourhand_cdk.packing._target import Target

HOURHAND = "hourhand"
LAMBDA_HAS = frozenset({"boto3", "botocore", "s3transfer"})
MAX_DISTRIBUTIONS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """A distribution and its one version."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


def our_pins(target: Target) -> tuple[Pin, ...]:
    """Return what every function of ours stands on, by name.

    Raises `PackingError` where a part of it is not installed here.
    """
    names = distribution_closure([HOURHAND], target.markers, without=LAMBDA_HAS)
    return tuple(
        Pin(name=name, version=metadata.version(name)) for name in names if name != HOURHAND
    )


def distribution_closure(
    roots: Iterable[str],
    markers: Mapping[str, str],
    *,
    without: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Return ``roots`` and all that they require, as installed here, by name."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting and len(found) <= MAX_DISTRIBUTIONS:
        name = canonicalize_name(waiting.pop())
        if name in found or name in without:
            continue
        found.add(name)
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError as error:
            raise PackingError(
                f"{name} is not installed in this environment, and the functions need it: "
                "install hourhand with its dependencies (pip install hourhand)."
            ) from error
        parsed = [Requirement(text) for text in required]
        waiting += [
            one.name
            for one in parsed
            if one.marker is None or one.marker.evaluate({**markers, "extra": ""})
        ]
    assert not waiting, "Hourhand's dependencies are few"
    return tuple(sorted(found))


def check_conflicts(
    requirements: Requirements, pins: Iterable[Pin], markers: dict[str, str]
) -> Requirements:
    """Return ``requirements`` without Hourhand itself, which is packed anyway.

    Raises `PackingError` naming both sides where a line refuses the version that we pack.
    """
    ours = {pin.name: pin.version for pin in pins}
    ours[HOURHAND] = metadata.version(HOURHAND)
    for line in (*requirements.lines, *requirements.constraints):
        version = ours.get(line.name)
        if version is None or not line.applies(markers):
            continue
        if not line.requirement.specifier.contains(version, prereleases=True):
            raise PackingError(
                f"{line.place}: {line.text} excludes {line.name}=={version}, which Hourhand "
                "is packed with here. Widen the line, or install a version that suits both "
                "into the environment that packs."
            )
    return Requirements(
        lines=tuple(line for line in requirements.lines if line.name != HOURHAND),
        constraints=tuple(line for line in requirements.constraints if line.name != HOURHAND),
        options=requirements.options,
    )
