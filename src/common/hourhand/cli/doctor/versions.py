"""The versions: every alias is at the newest deployment, and not too many old ones are kept."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import Finding, Look, failed, ok, warning
from hourhand.cli.versions import FUNCTIONS, Installed, read_installed

CHECK = "versions"

MANY_DEPLOYMENTS = 50
"""From then on the versions that are kept should be pruned: Lambda keeps 75 GB of code for an
account and Region (Lambda quotas)."""

_PRUNE = "Delete old ones: hourhand rollback --prune."
_BYTES_IN_MB = 1_000_000


def version_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield the checks of the versions."""
    yield Look(CHECK, partial(_versions, aws, deployment))


def _versions(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    yield from judge_versions(read_installed(aws, deployment))


def judge_versions(installed: Installed) -> Iterator[Finding]:
    """Judge where the aliases are, and how many versions are kept."""
    published = installed.published
    live = installed.live
    numbers = ", ".join(f"{name} {installed.aliases[name].number}" for name in FUNCTIONS)
    at = {name: None if each is None else each.deployment for name, each in live.items()}
    if not published:
        yield failed(
            CHECK,
            f"no deployment has a version of each function; the aliases are at {numbers}",
            "Deploy this version of the stack.",
        )
        return
    newest = published[0].deployment
    if len(set(at.values())) > 1 or None in at.values():
        places = ", ".join(f"{name} {at[name] or 'unknown'}" for name in FUNCTIONS)
        yield warning(
            CHECK,
            f"the aliases are at different deployments: {places}",
            "Wait, if a deployment is running. Otherwise a rollback was interrupted: give "
            "hourhand rollback --to with the deployment that you want.",
        )
    elif at[FUNCTIONS[0]] != newest:
        yield warning(
            CHECK,
            f"rolled back: the aliases are at deployment {at[FUNCTIONS[0]]}, the newest is "
            f"{newest}",
            "Deploy a fix, which moves them forward again, or give hourhand rollback --to "
            f"{newest}.",
        )
    else:
        yield ok(CHECK, f"the aliases are at the newest deployment, {newest}: {numbers}")
    split = [name for name in FUNCTIONS if installed.aliases[name].is_split]
    if split:
        yield warning(
            CHECK,
            f"some invocations of {', '.join(split)} run another version than the rest",
            "End the gradual shift, or give hourhand rollback --to with the deployment that you "
            "want.",
        )
    if len(published) > MANY_DEPLOYMENTS:
        size = installed.code_bytes / _BYTES_IN_MB
        yield warning(
            CHECK, f"{len(published)} deployments are kept, {size:,.0f} MB of code", _PRUNE
        )
