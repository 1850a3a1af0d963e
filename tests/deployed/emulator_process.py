"""ministack, run by its own Python, with what it lacks: see each function."""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

UNSIGNED = "unsigned"
LOOK_SECONDS = 1.0
OF_A_BATCH = {
    f"sqs:{action}Batch": f"sqs:{action}"
    for action in ("ChangeMessageVisibility", "DeleteMessage", "SendMessage")
}
"""Who may do it to one message may do it to ten (SQS developer guide, batch actions)."""

STATEMENT = re.compile(r'(?P<verb>UPDATE|INSERT INTO) "(?P<table>[^"]+)" ')
OF_A_VERB = {"UPDATE": "dynamodb:PartiQLUpdate", "INSERT INTO": "dynamodb:PartiQLInsert"}

ONE_ALIAS = re.compile(r"/functions/[^/]+/aliases/[^/]+/?$")
OF_ONE_ALIAS = {
    "GET": "lambda:GetAlias",
    "PUT": "lambda:UpdateAlias",
    "DELETE": "lambda:DeleteAlias",
}
"""By method. ministack takes all of them for a list of aliases."""


def tell_denials() -> None:
    """Print a line for each request that is refused for its credentials or its rights.

    ministack answers 403 without a word in its log, and keeps no record of it.
    """
    evaluator: Any = importlib.import_module("ministack.core.iam_evaluator")
    enforce = evaluator.enforce

    def enforce_and_tell(
        access_key_id: str, iam_action: str, service: str, region: str, *rest: Any, **named: Any
    ) -> Any:
        denied = enforce(access_key_id, iam_action, service, region, *rest, **named)
        if denied is not None:
            who = getattr(denied, "principal_arn", UNSIGNED)
            resource = named.get("resource_arn", "*")
            told = {"action": iam_action, "resource": resource, "principal": who}
            print("DENIED " + json.dumps(told), flush=True)  # noqa: T201
        return denied

    evaluator.enforce = enforce_and_tell


def judge_actions_as_aws() -> None:
    """Ask for the rights that AWS asks for, where ministack asks for some that do not exist.

    A PartiQL batch needs PartiQLUpdate or PartiQLInsert on the table of each statement (DynamoDB
    developer guide, IAM security policies with PartiQL); a batch of SQS, what one message needs.
    """
    actions: Any = importlib.import_module("ministack.core.iam_actions")
    action_of, resource_of = actions.extract_iam_action, actions.extract_resource_arn

    def action_as_aws(service: str, method: str, path: str, *rest: Any) -> Any:
        if service == "lambda" and ONE_ALIAS.search(path):
            return OF_ONE_ALIAS[method]
        action = action_of(service, method, path, *rest)
        if action == "dynamodb:BatchExecuteStatement":
            _headers, body, _parameters = rest
            return OF_A_VERB[_told(body, "verb")]
        return OF_A_BATCH.get(action, action)

    def resource_as_aws(service: str, *arguments: Any) -> Any:
        _method, _path, _headers, body, _parameters, region, account = arguments
        if service == "dynamodb" and b'"Statements"' in body:
            return f"arn:aws:dynamodb:{region}:{account}:table/{_told(body, 'table')}"
        return resource_of(service, *arguments)

    actions.extract_iam_action = action_as_aws
    actions.extract_resource_arn = resource_as_aws


def _told(body: bytes, what: str) -> str:
    """Return the verb, or the table, of all statements of a batch; fail on any other batch."""
    found = [STATEMENT.match(one["Statement"]) for one in json.loads(body)["Statements"]]
    (told,) = {match[what] if match else "" for match in found}
    return told


def simulate_roles_with_a_path() -> None:
    """Find the policies of a role by its name alone, as IAM does, when they are simulated.

    ministack takes all that follows ``role/`` in the ARN for the name.
    """
    evaluator: Any = importlib.import_module("ministack.core.iam_evaluator")
    policies_of = evaluator._gather_role_policies

    def policies_by_name(role: str, *rest: Any) -> Any:
        return policies_of(role.rpartition("/")[2], *rest)

    evaluator._gather_role_policies = policies_by_name


def take_metric_math() -> None:
    """Let alarms over an expression be made, as alarms over the first metric in it.

    ministack's CloudFormation refuses them. What alarms say is tested on the template.
    """
    provisioners = importlib.import_module("ministack.services.cloudformation.provisioners")
    alarms = provisioners._RESOURCE_HANDLERS["AWS::CloudWatch::Alarm"]
    for verb in ("create", "update"):
        alarms[verb] = _with_one_metric(alarms[verb])


def _with_one_metric(make: Callable[..., Any]) -> Callable[..., Any]:
    def make_with_one_metric(*arguments: Any) -> Any:
        return make(*map(_simplified, arguments))

    return make_with_one_metric


def _simplified(argument: Any) -> Any:
    if not isinstance(argument, dict) or "Metrics" not in argument:
        return argument
    rest = {name: value for name, value in argument.items() if name != "Metrics"}
    first = next(query["MetricStat"] for query in argument["Metrics"] if "MetricStat" in query)
    metric = first["Metric"]
    return {
        **rest,
        "MetricName": metric["MetricName"],
        "Namespace": metric["Namespace"],
        "Dimensions": metric.get("Dimensions", []),
        "Period": first["Period"],
        "Statistic": "Maximum",
    }


def keep_the_log_short() -> None:
    """Leave out a traceback of every client that hangs up TLS without a word, as botocore does."""
    logging.getLogger("asyncio").addFilter(
        lambda record: "SSL shutdown timed out" not in str(record.exc_info and record.exc_info[1])
    )


def end_with_parent() -> None:
    """End this process and its functions' processes when whoever started it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    end_with_parent()
    keep_the_log_short()
    tell_denials()
    judge_actions_as_aws()
    simulate_roles_with_a_path()
    take_metric_math()
    importlib.import_module("ministack.app").main()
