"""The list of calls is complete: nothing in the source is missing from it.

That it is also what the functions' roles allow is shown where those are made
(`tests.infra.test_listed_calls`).
"""

from __future__ import annotations

import ast
from pathlib import Path

from botocore import xform_name
from botocore.session import get_session

import hourhand
from tests.proof.wire.listed import CALLS, NOT_LISTED, RARE

SERVICES = ("dynamodb", "sqs", "s3", "lambda", "cloudwatch")
SOURCE = Path(hourhand.__file__).parent
ONLY_READS = "doctor"
"""The folder of the command that looks an installation over, as a person would."""


def test_every_operation_that_the_source_names_is_listed_or_told_why_not() -> None:
    known = operations()
    named = {
        known[node.attr]
        for path in SOURCE.rglob("*.py")
        if ONLY_READS not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in known
    }
    listed = {call.operation for call in CALLS | set(RARE)}
    assert listed <= named
    assert named - listed == set(NOT_LISTED)


def operations() -> dict[str, str]:
    """Return the operations of our services by the names of boto3's methods."""
    session = get_session()
    return {
        xform_name(operation): operation
        for service in SERVICES
        for operation in session.get_service_model(service).operation_names
    }
