"""What an upgrade may never replace: the resources that hold jobs, messages or keys.

``python -m tests.infra.stateful`` writes down what they are now. Do that only after a change that
adds such a resource, or together with a way for users to move what they have: whoever deploys a
replacement loses everything in it.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.infra.stacks import Deployment, Deployments

SNAPSHOT = Path(__file__).with_name("stateful.json")

REPLACING = {
    "AWS::DynamoDB::GlobalTable": ("TableName", "KeySchema", "LocalSecondaryIndexes"),
    "AWS::SQS::Queue": ("QueueName", "FifoQueue"),
    "AWS::S3::Bucket": ("BucketName",),
    "AWS::KMS::Key": (),
    "AWS::SNS::Topic": ("TopicName", "FifoTopic"),
}
"""Types that hold something, and their properties of which CloudFormation's reference says
"Update requires: Replacement"."""

KEPT = {"AWS::DynamoDB::GlobalTable": ("AttributeDefinitions", "GlobalSecondaryIndexes")}
"""Lists of which what is there must stay: an attribute's change replaces the table, and an index's
rebuilds it empty, while the sweep reads it. More may come."""

VARIANTS: dict[str, dict[str, Any]] = {
    "dev": {},
    "prod": {"stage": "prod"},
    "prod with a key of its own": {"stage": "prod", "customer_key": True},
}


def stateful(deployment: Deployment) -> dict[str, Any]:
    """Return the resources that hold something, with what must not change of them."""
    found = {}
    for name, resource in deployment.template["Resources"].items():
        kind = resource["Type"]
        if kind in REPLACING:
            properties = resource.get("Properties", {})
            watched = (*REPLACING[kind], *KEPT.get(kind, ()))
            fixed = {p: properties[p] for p in watched if p in properties}
            found[name] = {"Type": kind, "Properties": fixed}
    return found


def losses(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return what an upgrade would lose, one sentence each."""
    lost = []
    for name, old in before.items():
        new = after.get(name)
        if new is None or new["Type"] != old["Type"]:
            lost.append(f"{name} ({old['Type']}) would be removed with all that it holds.")
            continue
        for attribute in REPLACING[old["Type"]]:
            if old["Properties"].get(attribute) != new["Properties"].get(attribute):
                lost.append(f"{name} would be replaced by an empty one: its {attribute} changed.")
        for attribute in KEPT.get(old["Type"], ()):
            kept = new["Properties"].get(attribute, [])
            for entry in old["Properties"].get(attribute, []):
                if entry not in kept:
                    lost.append(f"{name} loses or changes {entry} of its {attribute}.")
    return lost


def read_snapshot() -> dict[str, Any]:
    """Return what was written down, by variant."""
    read: dict[str, Any] = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
    return read


def main() -> None:
    """Write down what there is now."""
    with tempfile.TemporaryDirectory() as folder:
        deployments = Deployments(Path(folder))
        now = {name: stateful(deployments.of(**context)) for name, context in VARIANTS.items()}
    SNAPSHOT.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
