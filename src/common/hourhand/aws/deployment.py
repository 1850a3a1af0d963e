"""The deployment that a Lambda function belongs to: its version, and whether callers reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hourhand.aws.failures import Call, ask
from hourhand.aws.published import ALIAS
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import ask_optionally

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_PARTS_OF_A_FUNCTION = 7
"""``arn:aws:lambda:REGION:ACCOUNT:function:NAME``; an alias or a version may follow."""

_UNPUBLISHED = "$LATEST"


class LambdaDeployment:
    """Implements the port `Deployment`.

    Live is the version that the alias `ALIAS` names: not one to which a weighted alias still, or
    already, sends some of the calls. ``telemetry`` records why the alias could not be read.
    """

    def __init__(self, client: LambdaClient, telemetry: Telemetry) -> None:
        """Call nothing yet."""
        self._client = client
        self._telemetry = telemetry
        self._function = ""
        self._version = _UNPUBLISHED

    def called_as(self, arn: str, version: str) -> None:
        """Note by which ARN this function was called, and which version of it runs."""
        self._function = ":".join(arn.split(":")[:_PARTS_OF_A_FUNCTION])
        self._version = version

    @property
    def id(self) -> str:
        """The version of the function: each deployment publishes another one."""
        return self._version

    def is_live(self) -> bool | None:
        """Whether the alias names this version; ``True`` where no version was published."""
        if self._version == _UNPUBLISHED:
            return True
        answer = ask_optionally(
            self._telemetry,
            "The alias of a function could not be read. A scheduler reads it again in the next "
            "tick, before it applies declared schedules. A worker acts as the live version does.",
            lambda: ask(
                Call("GetAlias", f"function {self._function}"),
                self._client.get_alias,
                FunctionName=self._function,
                Name=ALIAS,
            ),
        )
        return None if answer is None else answer["FunctionVersion"] == self._version
