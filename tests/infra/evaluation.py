"""CloudFormation's functions evaluated, so that a test can read a template as what will be there.

Account, Region and generated names are made up; physical names are the template's own. As far as
our own templates go: what is unknown raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

REGION = "eu-central-1"
ACCOUNT = "111122223333"

_PSEUDO = {
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::StackName": "hourhand",
}
_NAMED_BY = {
    "AWS::DynamoDB::GlobalTable": "TableName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::Events::Rule": "Name",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::SNS::Topic": "TopicName",
}
_ARNS = {
    "AWS::DynamoDB::GlobalTable": "arn:aws:dynamodb:{region}:{account}:table/{name}",
    "AWS::DynamoDB::Table": "arn:aws:dynamodb:{region}:{account}:table/{name}",
    "AWS::SQS::Queue": "arn:aws:sqs:{region}:{account}:{name}",
    "AWS::Lambda::Function": "arn:aws:lambda:{region}:{account}:function:{name}",
    "AWS::Logs::LogGroup": "arn:aws:logs:{region}:{account}:log-group:{name}:*",
    "AWS::S3::Bucket": "arn:aws:s3:::{name}",
    "AWS::KMS::Key": "arn:aws:kms:{region}:{account}:key/{name}",
    "AWS::Events::Rule": "arn:aws:events:{region}:{account}:rule/{name}",
    "AWS::SNS::Topic": "arn:aws:sns:{region}:{account}:{name}",
    "AWS::CloudWatch::Alarm": "arn:aws:cloudwatch:{region}:{account}:alarm:{name}",
}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Evaluates values of one template."""

    resources: Mapping[str, dict[str, Any]]

    def value(self, value: Any) -> Any:
        """Return ``value`` with every function in it replaced by what it returns."""
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Ref":
                return self._reference(argument)
            if name.startswith("Fn::"):
                return self._call(name, argument)
        return {name: self.value(each) for name, each in value.items()}

    def _call(self, name: str, argument: Any) -> Any:
        match name:
            case "Fn::GetAtt":
                return self._attribute(*argument)
            case "Fn::Join":
                return argument[0].join(str(self.value(part)) for part in argument[1])
            case "Fn::Sub":
                return re.sub(r"\$\{([^}]+)\}", lambda m: str(self._reference(m[1])), argument)
            case "Fn::Select":
                return self.value(argument[1])[int(argument[0])]
            case "Fn::Split":
                return str(self.value(argument[1])).split(argument[0])
            case "Fn::GetAZs":
                return [f"{REGION}a", f"{REGION}b"]
            case _:
                raise ValueError(f"{name} is not known here")

    def _reference(self, name: str) -> str:
        if name in _PSEUDO:
            return _PSEUDO[name]
        resource = self.resources.get(name)
        if resource is None:
            return f"<{name}>"
        match resource["Type"]:
            case "AWS::SQS::Queue":
                return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{self._name(name)}"
            case "AWS::Lambda::Alias":
                function = self.value(resource["Properties"]["FunctionName"])
                alias = resource["Properties"]["Name"]
                return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}:{alias}"
            case "AWS::SNS::Topic":
                return str(self._attribute(name, "Arn"))
            case _:
                return self._name(name)

    def _attribute(self, name: str, attribute: str) -> str:
        kind = self.resources[name]["Type"]
        if attribute == "Arn" and kind == "AWS::IAM::Role":
            path = self.resources[name].get("Properties", {}).get("Path", "/")
            return f"arn:aws:iam::{ACCOUNT}:role{path}{self._name(name)}"
        if attribute in {"Arn", "TopicArn"} and kind in _ARNS:
            return _ARNS[kind].format(region=REGION, account=ACCOUNT, name=self._name(name))
        if attribute in {"QueueName", "TopicName"}:
            return self._name(name)
        return f"<{name}.{attribute}>"

    def _name(self, name: str) -> str:
        resource = self.resources[name]
        attribute = _NAMED_BY.get(resource["Type"])
        given = resource.get("Properties", {}).get(attribute) if attribute else None
        return str(self.value(given)) if given is not None else name
