"""The deployment that a Lambda function belongs to: its version, and the alias of its callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hourhand.aws.failures import Call, ask
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import ask_optionally

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_PARTS_OF_A_FUNCTION = 7
"""``arn:aws:lambda:REGION:ACCOUNT:function:NAME``; an alias or a version may follow."""


class LambdaDeployment:
    """Implements the port `Deployment`.

    Live is the version that the alias names by which this function was last `called_as`: not one
    to which a weighted alias still, or already, sends some of the calls. ``telemetry`` records why
    the alias could not be read.
    """

    def __init__(self, client: LambdaClient, telemetry: Telemetry) -> None:
        """Call nothing yet."""
        self._client = client
        self._telemetry = telemetry
        self._arn = ""
        self._version = ""

    def called_as(self, arn: str, version: str) -> None:
        """Note by which ARN this function was called, and which version of it runs."""
        self._arn, self._version = arn, version

    @property
    def id(self) -> str:
        """The version of the function: each deployment publishes another one."""
        return self._version

    def is_live(self) -> bool:
        """Whether the alias names this version; ``True`` for a function without an alias."""
        parts = self._arn.split(":")
        function = ":".join(parts[:_PARTS_OF_A_FUNCTION])
        alias = ":".join(parts[_PARTS_OF_A_FUNCTION:])
        if not alias:
            return True
        answer = ask_optionally(
            self._telemetry,
            "The alias of the scheduler could not be read. The next tick reads it again, and then "
            "applies the schedules that the code declares.",
            lambda: ask(
                Call("GetAlias", f"function {function}"),
                self._client.get_alias,
                FunctionName=function,
                Name=alias,
            ),
        )
        return answer is not None and answer["FunctionVersion"] == self._version
