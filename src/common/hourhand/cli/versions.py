"""The published versions of a deployment's functions, and their aliases.

Versions with the same deployment id in their descriptions were published together. They are one
`Published`, to which `hourhand rollback` moves back as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hourhand.aws.published import ALIAS, read_description, read_rollback
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import FUNCTION_OUTPUTS, Deployment
from hourhand.cli.doctor.findings import NotSeen, Status

FUNCTIONS = tuple(FUNCTION_OUTPUTS)
"""In the order in which their aliases move: first those that write what a worker reads."""

MAX_PAGES = 200
"""Of 50 versions each (Lambda API, ListVersionsByFunction)."""

_LATEST = "$LATEST"


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """A version of one function that a deployment published. ``code_bytes``: of its package."""

    number: int
    deployment: str
    release: str
    at: datetime
    code_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AliasState:
    """Where an alias is. ``is_split``: a share of its calls has another version.

    ``rolled_back_at``: when `hourhand rollback` moved it; ``None`` if a deployment did.
    """

    number: int
    revision: str
    is_split: bool = False
    rolled_back_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What one deployment published: the number of the version of each function, by name."""

    deployment: str
    release: str
    at: datetime
    numbers: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """All versions and aliases of an installation, by the function's name."""

    versions: Mapping[str, Sequence[Version]]
    aliases: Mapping[str, AliasState]

    @property
    def published(self) -> list[Published]:
        """The deployments with a version of each function, newest first."""
        return published_of(self.versions)

    @property
    def live(self) -> Mapping[str, Published | None]:
        """The deployment of each alias; ``None``: no complete one."""
        found = self.published
        return {
            name: next((p for p in found if p.numbers[name] == alias.number), None)
            for name, alias in self.aliases.items()
        }

    @property
    def code_bytes(self) -> int:
        """The code storage that all these versions use in the account."""
        return sum(v.code_bytes for versions in self.versions.values() for v in versions)


def published_of(versions: Mapping[str, Sequence[Version]]) -> list[Published]:
    """Group versions by deployment, newest first.

    A deployment that was repeated, with another one in between, has two equal versions of each
    function: the newer ones count.
    """
    newest: dict[str, dict[str, Version]] = {}
    for name, found in versions.items():
        for version in sorted(found, key=lambda each: each.number):
            newest.setdefault(version.deployment, {})[name] = version
    complete = (
        _published(deployment, found)
        for deployment, found in newest.items()
        if found.keys() == versions.keys()
    )
    return sorted(complete, key=lambda each: tuple(each.numbers.values()), reverse=True)


def _published(deployment: str, found: Mapping[str, Version]) -> Published:
    last = max(found.values(), key=lambda version: version.at)
    numbers = {name: found[name].number for name in sorted(found)}
    return Published(deployment=deployment, release=last.release, at=last.at, numbers=numbers)


def read_installed(aws: Aws, deployment: Deployment) -> Installed:
    """Ask Lambda for every version and alias. Raises `NotSeen`."""
    return Installed(
        versions={name: tuple(read_versions(aws, deployment, name)) for name in FUNCTIONS},
        aliases={name: read_alias(aws, deployment, name) for name in FUNCTIONS},
    )


def read_alias(aws: Aws, deployment: Deployment, name: str) -> AliasState:
    """Ask Lambda where the alias of a function is. Raises `NotSeen`."""
    function = deployment.function(name)
    answer = aws.ask(
        "lambda", "GetAlias", f"function {function}", FunctionName=function, Name=ALIAS
    )
    return alias_of(answer)


def alias_of(answer: Mapping[str, Any]) -> AliasState:
    """Return the alias that Lambda describes."""
    at = read_rollback(answer.get("Description", ""))
    return AliasState(
        number=int(answer["FunctionVersion"]),
        revision=answer["RevisionId"],
        is_split=bool(answer.get("RoutingConfig", {}).get("AdditionalVersionWeights")),
        rolled_back_at=None if at is None else datetime.fromisoformat(at),
    )


def read_versions(aws: Aws, deployment: Deployment, name: str) -> Iterator[Version]:
    """Yield the versions of a function that a deployment published. Raises `NotSeen`.

    A version that was published by hand has another description, and is left alone.
    """
    function = deployment.function(name)
    marker: dict[str, str] = {}
    for _ in range(MAX_PAGES):
        answer = aws.ask(
            "lambda",
            "ListVersionsByFunction",
            f"function {function}",
            FunctionName=function,
            **marker,
        )
        yield from filter(None, map(_version_of, answer["Versions"]))
        if not answer.get("NextMarker"):
            return
        marker = {"Marker": answer["NextMarker"]}
    raise NotSeen(
        Status.UNKNOWN,
        f"{function} has more versions than {MAX_PAGES} pages list",
        "Delete old ones by hand: aws lambda delete-function --qualifier NUMBER.",
    )


def _version_of(described: Mapping[str, Any]) -> Version | None:
    said = read_description(described.get("Description", ""))
    if said is None or described["Version"] == _LATEST:
        return None
    release, deployment = said
    return Version(
        number=int(described["Version"]),
        deployment=deployment,
        release=release,
        at=datetime.fromisoformat(described["LastModified"]),
        code_bytes=int(described.get("CodeSize", 0)),
    )
