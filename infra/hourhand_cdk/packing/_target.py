"""What a pack is made for: a version of Python on a platform."""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass
from typing import Final

from hourhand_cdk.packing._errors import PackingError

PYTHON: Final = "3.14"
"""The version of Lambda's runtime, unless another is asked for."""

PYTHONS: Final = ("3.12", "3.13", PYTHON)
"""What a deployment may ask for."""

_PLATFORMS = {"arm64": "aarch64-manylinux_2_28", "x86_64": "x86_64-manylinux_2_28"}
"""In the words of uv. Lambda runs these Pythons on Amazon Linux 2023, whose glibc is 2.34:
https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtimes.html"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """``python`` as in ``3.13``; ``platform`` in the words of uv, or this machine's own name."""

    python: str
    platform: str

    @classmethod
    def for_lambda(cls, python: str, architecture: str) -> Target:
        """Return Lambda on ``arm64`` or ``x86_64``. Raises `PackingError` for anything else."""
        if architecture not in _PLATFORMS:
            raise PackingError(
                f"Lambda runs on {' or '.join(_PLATFORMS)}, not on {architecture!r}."
            )
        if python not in PYTHONS:
            raise PackingError(f"The functions run Python {', '.join(PYTHONS)}, not {python!r}.")
        return cls(python=python, platform=_PLATFORMS[architecture])

    @classmethod
    def this_machine(cls) -> Target:
        """Return the interpreter that runs this."""
        return cls(
            python=f"{sys.version_info.major}.{sys.version_info.minor}",
            platform=sysconfig.get_platform(),
        )

    def __str__(self) -> str:
        return f"Python {self.python} on {self.platform}"

    @property
    def is_this_machine(self) -> bool:
        """Whether what is packed for it can be imported here."""
        return self == Target.this_machine()

    def advice_from(self, here: Target) -> str:
        """Return what to do if ``here`` fails for its version; nothing for the same version."""
        if here.python == self.python:
            return ""
        ways = [f"pack with Python {self.python} (make clean setup PYTHON=python{self.python})"]
        if here.python in PYTHONS:
            ways.append(f"let the function run {here.python} (-c python={here.python})")
        return (
            f"This was tried with Python {here.python}, which packs; the function runs "
            f"{self.python}. If that is the reason, {', or '.join(ways)}."
        )
