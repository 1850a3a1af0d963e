"""A Lambda that keeps versions and aliases, and can refuse a call or lose its answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from hourhand.aws.published import version_description
from hourhand.cli.doctor.asking import Aws
from hourhand.memory import START, MemoryClock
from tests.unit.cli.doctor.fakes import STACK_ID, STACK_OUTPUTS, Answer, client_error, fake_aws

FUNCTIONS = ("api", "scheduler", "worker")
A, B, C, D = ("a" * 12, "b" * 12, "c" * 12, "d" * 12)
PAGE = 3
DAY = timedelta(days=1)
"""Between two deployments."""


def wrote_at(time: datetime) -> str:
    """Return a time as Lambda writes it."""
    return f"{time:%Y-%m-%dT%H:%M:%S}.000+0000"


class FakeLambda:
    """What is published and called; ``before``: what happens first at a call, by its name."""

    def __init__(self) -> None:
        self.versions: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in FUNCTIONS}
        self.aliases: dict[str, dict[str, Any]] = {}
        self.before: dict[str, Callable[[str], None]] = {}
        self.after: dict[str, Callable[[str], None]] = {}
        self.calls: list[tuple[str, str]] = []
        self.status = "UPDATE_COMPLETE"
        self.outputs = dict(STACK_OUTPUTS)
        self.clock = MemoryClock(START + 100 * DAY)
        self._published = 0
        self._revisions = 0

    def deploy(self, deployment: str, functions: tuple[str, ...] = FUNCTIONS) -> None:
        """Publish a version of each function, and move the aliases."""
        at = START + self._published * DAY
        self._published += 1
        for name in functions:
            number = max(self.versions[name], default=0) + 1
            self.versions[name][number] = {
                "Version": str(number),
                "Description": version_description(name, "hourhand-dev", "0.1.0", deployment),
                "LastModified": wrote_at(at),
                "CodeSize": 1_000_000,
            }
            self.aliases[name] = {"FunctionVersion": str(number), "Description": ""}
            self._revise(name)

    def numbers(self) -> list[int]:
        """Return which version each alias is at."""
        return [int(self.aliases[name]["FunctionVersion"]) for name in FUNCTIONS]

    def aws(self, *_: Any, **__: Any) -> Aws:
        """Return AWS with this Lambda."""
        script: dict[str, Answer] = {
            "cloudformation.describe_stacks": self._stacks,
            "lambda.get_alias": self._call("get", self._get_alias),
            "lambda.list_versions_by_function": self._call("list", self._list),
            "lambda.update_alias": self._call("update", self._update),
            "lambda.delete_function": self._call("delete", self._delete),
        }
        return fake_aws(script, self.clock)

    def _stacks(self, **asked: str) -> dict[str, Any]:
        if asked["StackName"] != "hourhand-dev":
            raise client_error("ValidationError", "does not exist")
        outputs = [{"OutputKey": k, "OutputValue": v} for k, v in self.outputs.items()]
        stack = {"StackId": STACK_ID, "StackName": "hourhand-dev", "StackStatus": self.status}
        return {"Stacks": [{**stack, "Outputs": outputs}]}

    def _call(self, kind: str, answer: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
        def call(**asked: Any) -> dict[str, Any]:
            name = asked.pop("FunctionName").removeprefix("hourhand-dev-")
            self.calls.append((kind, name))
            if kind in self.before:
                self.before[kind](name)
            answered = answer(name, **asked)
            if kind in self.after:
                self.after[kind](name)
            return answered

        return call

    def _revise(self, name: str) -> None:
        self._revisions += 1
        self.aliases[name]["RevisionId"] = f"r{self._revisions}"

    def _get_alias(self, name: str, Name: str) -> dict[str, Any]:  # noqa: N803 (Lambda's)
        assert Name == "live"
        return self.aliases[name]

    def _list(self, name: str, Marker: str = "0") -> dict[str, Any]:  # noqa: N803
        latest = {"Version": "$LATEST", "LastModified": wrote_at(START)}
        versions = [latest, *(self.versions[name][n] for n in sorted(self.versions[name]))]
        first = int(Marker)
        more = {"NextMarker": str(first + PAGE)} if first + PAGE < len(versions) else {}
        return {"Versions": versions[first : first + PAGE], **more}

    def _update(self, name: str, **asked: Any) -> dict[str, Any]:
        if asked.pop("RevisionId") != self.aliases[name]["RevisionId"]:
            raise client_error(
                "PreconditionFailedException", "The RevisionId is not the latest", 412
            )
        assert asked.pop("Name") == "live"
        assert asked["RoutingConfig"] == {"AdditionalVersionWeights": {}}
        assert int(asked["FunctionVersion"]) in self.versions[name]
        self.aliases[name] = asked
        self._revise(name)
        return {}

    def _delete(self, name: str, Qualifier: str) -> dict[str, Any]:  # noqa: N803
        if Qualifier == self.aliases[name]["FunctionVersion"]:
            raise client_error("ResourceConflictException", "it is referenced by an alias", 409)
        if int(Qualifier) not in self.versions[name]:
            raise client_error("ResourceNotFoundException", status=404)
        del self.versions[name][int(Qualifier)]
        return {}
