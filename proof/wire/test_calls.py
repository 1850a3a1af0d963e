"""The list of calls is complete: nothing in the source is missing from it.

That it is also what the functions' roles allow is shown where those are made
(`tests.infra.test_permissions`).
"""

from __future__ import annotations

import ast
from pathlib import Path

from botocore import xform_name
from botocore.session import get_session

import hourhand
from proof.wire.listed import CALLS, NOT_LISTED, RARE

SERVICES = ("dynamodb", "sqs", "s3", "lambda", "cloudwatch", "logs")
SOURCE = Path(hourhand.__file__).parent
ONLY_READS = "doctor"
"""The folder of the command that looks an installation over, as a person would."""


def test_every_operation_that_the_source_names_is_listed_or_told_why_not() -> None:
    known = operations()
    nodes = [
        node
        for path in SOURCE.rglob("*.py")
        if ONLY_READS not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]
    named = {known[n.attr] for n in nodes if isinstance(n, ast.Attribute) and n.attr in known}
    in_calls = set(map(named_in_call, nodes))
    named |= {operation for operation in known.values() if operation in in_calls}
    listed = {call.operation for call in CALLS | set(RARE)}
    assert listed <= named
    assert named - listed == set(NOT_LISTED)


def named_in_call(node: ast.AST) -> str | None:
    """Return what ``bulk.each("Operation", ...)`` and ``records.write("Operation", ...)`` name."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="each" | "write"), args=[ast.Constant(value=str(name)), *_]
        ):
            return name
    return None


def operations() -> dict[str, str]:
    """Return the operations of our services by the names of boto3's methods."""
    session = get_session()
    return {
        xform_name(operation): operation
        for service in SERVICES
        for operation in session.get_service_model(service).operation_names
    }
