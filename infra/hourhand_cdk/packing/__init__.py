"""Packing: the three functions, the user's handlers and the libraries of both, ready for Lambda.

No Docker and no build: uv installs wheels for the target's platform, and the same input gives the
same bytes. The handlers are imported once, in a process of their own without credentials, which
proves that they can be imported and writes the manifest that the API reads. Imports no CDK.
"""

from hourhand_cdk.packing._bytecode import UNCOMPILED_COST
from hourhand_cdk.packing._dependencies import CACHE
from hourhand_cdk.packing._errors import HandlersFailed, InstallFailed, PackingError
from hourhand_cdk.packing._pack import Packed, fetch, pack
from hourhand_cdk.packing._report import FunctionRow, Report
from hourhand_cdk.packing._source import HandlerSource
from hourhand_cdk.packing._target import PYTHON, PYTHONS, Target

__all__ = [
    "CACHE",
    "PYTHON",
    "PYTHONS",
    "UNCOMPILED_COST",
    "FunctionRow",
    "HandlerSource",
    "HandlersFailed",
    "InstallFailed",
    "Packed",
    "PackingError",
    "Report",
    "Target",
    "fetch",
    "pack",
]
