"""The environment of the local cloud's functions: the user's own, overridden by ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hourhand.settings import Settings, settings_environment

REGION = "eu-central-1"

_FAKE_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_SESSION_TOKEN": "local",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def cloud_environment(
    own: Mapping[str, str], endpoint: str, *, keeps_credentials: bool
) -> dict[str, str]:
    """Return ``own`` with AWS replaced by ``endpoint``.

    All settings of AWS from the user's shell are removed, so that neither the cloud nor a handler
    can reach a real account by mistake. ``keeps_credentials``: for an endpoint of the user's, that
    may ask for them; what is missing is made up.
    """
    environment = {
        name: value for name, value in own.items() if keeps_credentials or not _is_aws(name)
    }
    for name, value in _FAKE_CREDENTIALS.items():
        if keeps_credentials and name.endswith("_FILE"):
            continue
        environment.setdefault(name, value)
    environment["AWS_ENDPOINT_URL"] = endpoint
    # A proxy for outside addresses must not intercept these calls.
    for name in ("NO_PROXY", "no_proxy"):
        hosts = [host for host in environment.get(name, "").split(",") if host]
        environment[name] = ",".join(dict.fromkeys([*hosts, *_LOOPBACK]))
    return environment


def function_environment(
    cloud: Mapping[str, str], settings: Settings, *, path: str | None = None
) -> dict[str, str]:
    """Return the environment of the functions' processes.

    ``path`` is put before the user's ``PYTHONPATH``. A handler's own client calls the API of this
    cloud, whatever the user's shell names.
    """
    own_api = {"HOURHAND_ENDPOINT": settings.api_url}
    environment = {**cloud, **settings_environment(settings), **own_api}
    if path is not None:
        given = [environment["PYTHONPATH"]] if environment.get("PYTHONPATH") else []
        environment["PYTHONPATH"] = os.pathsep.join([path, *given])
    # Output of user code must appear at once, not when a buffer is full.
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def allow_current_folder() -> None:
    """Let user code be found in the current folder, behind what ``PYTHONPATH`` names.

    Our children start with ``-P``: a user's file named like one of the standard library's must
    not replace it while our own modules are imported. From here on it may.
    """
    named = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path.insert(len(named), os.getcwd())  # noqa: PTH109 (a text is what sys.path takes)


@contextmanager
def replaced_environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Let this process have ``environment``, and its own again in the end."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _is_aws(name: str) -> bool:
    return name.startswith(("AWS_", "_AWS_"))
