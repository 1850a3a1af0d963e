"""Packing: the three functions, the user's handlers and what both stand on, ready for Lambda.

No Docker, no build: wheels alone, for the target's platform, the same input always to the same
bytes. The handlers are imported once, in a process of their own without credentials, which
proves that they can be and writes the manifest that the API knows them by. Imports no CDK.
"""

from hourhand_cdk.packing._dependencies import CACHE
from hourhand_cdk.packing._errors import HandlersFailed, InstallFailed, PackingError
from hourhand_cdk.packing._installer import Installer, PipInstaller, UvInstaller, Wanted
from hourhand_cdk.packing._pack import Packed, fetch, pack
from hourhand_cdk.packing._report import FunctionRow, Report
from hourhand_cdk.packing._source import HandlerSource
from hourhand_cdk.packing._target import PYTHON, PYTHONS, Target

__all__ = [
    "CACHE",
    "PYTHON",
    "PYTHONS",
    "FunctionRow",
    "HandlerSource",
    "HandlersFailed",
    "InstallFailed",
    "Installer",
    "Packed",
    "PackingError",
    "PipInstaller",
    "Report",
    "Target",
    "UvInstaller",
    "Wanted",
    "fetch",
    "pack",
]
