"""The version that a deployment publishes of each function, and the alias that callers use.

All three versions carry the deployment's id in their description, so that `hourhand rollback` can
move the three aliases together. The id is a hash of everything that Lambda keeps in a version:
code, environment and the rest of the configuration. It is in each function's own description too,
so a change of one function publishes a version of all three.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version as version_of

import jsii
from aws_cdk import (
    Acknowledgment,
    CfnResource,
    IResolveContext,
    IStringProducer,
    Lazy,
    Stack,
    Validations,
)
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from hourhand.aws.published import ALIAS, version_description

WARNS_OF_VERSIONS = "@aws-cdk/aws-lambda:snapStartRequirePublish"
"""What the CDK says of each function with snapshots, whether it has a version or not."""

_ID_LENGTH = 12
_WHILE_HASHING = "0" * _ID_LENGTH


@jsii.implements(IStringProducer)
class DeploymentId:
    """The id of a deployment, which is known when the template is written.

    Until then a user's app may still change a function, such as by ``worker.add_environment``.
    """

    def __init__(self) -> None:
        """Begin without versions; `cover` names them before the template is written."""
        self._versions: Sequence[lambda_.Version] = ()
        self._is_hashing = False
        self.token = Lazy.uncached_string(self)

    def cover(self, versions: Sequence[lambda_.Version]) -> None:
        """Let the id follow from what these versions hold."""
        self._versions = versions

    def produce(self, context: IResolveContext) -> str:  # noqa: ARG002 (the interface's)
        """Return the id. The CDK calls it wherever a description is written.

        A version's logical id ends with the CDK's hash of its function, of which the description
        is a part: while those hashes are made, the id in it is a constant.
        """
        if self._is_hashing:
            return _WHILE_HASHING
        self._is_hashing = True
        try:
            hashed = [_logical_id(version) for version in self._versions]
        finally:
            self._is_hashing = False
        return hashlib.sha256("\n".join(hashed).encode()).hexdigest()[:_ID_LENGTH]

    def description_of(self, function: str, installation: str) -> str:
        """Return the description of ``function`` and of the version that is published of it."""
        return version_description(function, installation, version_of("hourhand"), self.token)


def make_alias(
    scope: Construct, function: lambda_.Function, description: str, *, warm: int
) -> lambda_.Alias:
    """Publish a version of ``function``, and return the alias that callers use.

    ``warm``: how many environments are kept ready.
    """
    Validations.of(function).acknowledge(
        Acknowledgment(id=WARNS_OF_VERSIONS, reason="The alias publishes a version of it.")
    )
    return lambda_.Alias(
        scope,
        f"{function.node.id}Alias",
        alias_name=ALIAS,
        # `hourhand rollback` writes its own; the next deployment writes this one again.
        description=description,
        version=function.current_version,
        provisioned_concurrent_executions=warm or None,
    )


def _logical_id(version: lambda_.Version) -> str:
    resource = version.node.default_child
    assert isinstance(resource, CfnResource)
    resolved: str = Stack.of(version).resolve(resource.logical_id)
    return resolved
