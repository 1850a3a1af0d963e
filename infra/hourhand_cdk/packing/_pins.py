"""Which versions the functions stand on, and what follows for the user's requirements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hourhand.aws.clients import OLDEST_TEXT
from hourhand_cdk.packing._errors import PackingError

HOURHAND = "hourhand"
EXTRA = "functions"
"""Hourhand's extra with the libraries that only the functions need."""

LAMBDA_HAS = frozenset({"boto3", "botocore", "s3transfer"})
MAX_DISTRIBUTIONS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """A constraint on the user's requirements. ``why``: the reason and the fix, as sentences."""

    text: str
    why: str

    @property
    def name(self) -> str:
        """The distribution, in the spelling of indexes."""
        return canonicalize_name(Requirement(self.text).name)


def our_pins() -> tuple[str, ...]:
    """Return Hourhand's dependencies without boto3, which Lambda has, as ``name==version``.

    The versions are those of this environment, with which its tests ran. Raises `PackingError`
    where one is not installed here.
    """
    names = distribution_closure([HOURHAND], without=LAMBDA_HAS)
    return tuple(f"{name}=={metadata.version(name)}" for name in names if name != HOURHAND)


def limits(pins: Iterable[str]) -> tuple[Limit, ...]:
    """Return what the user's requirements may resolve to beside ``pins`` and Lambda's boto3.

    The worker's folder comes before Lambda's own libraries. So what is packed replaces parts of
    Lambda's boto3, for Hourhand's own calls of AWS, too.
    """
    too_old = (
        f"Hourhand needs boto3 {OLDEST_TEXT} or later. Write boto3>={OLDEST_TEXT} instead, which "
        "brings the botocore and the s3transfer that fit, or remove the line: Lambda has a boto3 "
        "of its own."
    )
    # Lambda's own boto3 is taken to need what the one of this environment needs.
    needed = {str(one): one.name for name in sorted(LAMBDA_HAS) for one in _required(name)}
    return (
        *(
            Limit(
                text=pin,
                why=f"Hourhand is packed with {pin} here. Widen the line, or install a version "
                "that suits both into the environment that packs.",
            )
            for pin in pins
        ),
        *(Limit(text=f"{one}>={OLDEST_TEXT}", why=too_old) for one in ("boto3", "botocore")),
        *(
            Limit(text=text, why=f"Lambda's own boto3 needs {text.partition(';')[0]}.")
            for text, name in needed.items()
            if canonicalize_name(name) not in LAMBDA_HAS
        ),
    )


def distribution_closure(
    roots: Iterable[str], *, without: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Return ``roots`` and all that they require, as installed here, by name.

    Of Hourhand's extras the one for the functions counts.
    """
    found: set[str] = set()
    waiting = list(roots)
    while waiting and len(found) <= MAX_DISTRIBUTIONS:
        name = canonicalize_name(waiting.pop())
        if name not in found and name not in without:
            found.add(name)
            waiting += [one.name for one in _required(name)]
    assert not waiting, "Hourhand's dependencies are few"
    return tuple(sorted(found))


def _required(name: str) -> list[Requirement]:
    try:
        parsed = [Requirement(text) for text in metadata.requires(name) or []]
    except metadata.PackageNotFoundError as error:
        raise PackingError(
            f"{name} is not installed in this environment, and the functions need it. Install "
            "hourhand[functions] (make setup does it)."
        ) from error
    extra = {"extra": EXTRA if name == HOURHAND else ""}
    return [one for one in parsed if one.marker is None or one.marker.evaluate(extra)]
