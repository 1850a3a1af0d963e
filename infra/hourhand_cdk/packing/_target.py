"""What a pack is made for: a version of Python on a platform."""

from __future__ import annotations

import re
import sys
import sysconfig
from dataclasses import dataclass
from typing import Final

from hourhand_cdk.packing._errors import PackingError

PYTHON: Final = "3.14"
"""The version of Lambda's runtime that is packed for unless another is asked for."""

PYTHONS: Final = ("3.12", "3.13", PYTHON)
"""What a deployment may ask for."""

_OLDEST_GLIBC_MINOR = 17
"""manylinux2014, the oldest that wheels are still built for."""

_AMAZON_LINUX_2023_PYTHON = 12
"""Lambda runs Python 3.12 and later on Amazon Linux 2023 (glibc 2.34), older ones on Amazon
Linux 2 (2.26): https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtimes.html"""

_MANYLINUX = re.compile(r"manylinux_2_(?P<glibc>\d+)_(?P<machine>\w+)")
_PYTHON = re.compile(r"3\.(?P<minor>\d{1,2})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """``python`` as in ``3.13``; ``platform`` a tag of wheels, or this machine's own name."""

    python: str
    platform: str

    @classmethod
    def for_lambda(cls, python: str, architecture: str) -> Target:
        """Return Lambda on ``arm64`` or ``x86_64``. Raises `PackingError` for others."""
        makers = {"arm64": cls.lambda_arm64, "x86_64": cls.lambda_x86}
        if architecture not in makers:
            raise PackingError(f"Lambda runs on {' or '.join(makers)}, not on {architecture!r}.")
        return makers[architecture](python)

    @classmethod
    def lambda_arm64(cls, python: str) -> Target:
        """Return Lambda on Graviton."""
        return cls(python=python, platform=_lambda_platform(python, "aarch64"))

    @classmethod
    def lambda_x86(cls, python: str) -> Target:
        """Return Lambda on x86."""
        return cls(python=python, platform=_lambda_platform(python, "x86_64"))

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
        """Say what to do if something fails ``here`` for the version; nothing for the same one."""
        if here.python == self.python:
            return ""
        ways = [f"pack with Python {self.python} (make clean setup PYTHON=python{self.python})"]
        if here.python in PYTHONS:
            ways.append(f"let the function run {here.python} (-c python={here.python})")
        return (
            f"This was tried with Python {here.python}, which packs; the function runs "
            f"{self.python}. If that is the reason, {', or '.join(ways)}."
        )

    @property
    def machine(self) -> str:
        """The kind of processor, as Python names it: ``aarch64``, ``x86_64``."""
        found = _MANYLINUX.fullmatch(self.platform)
        assert found is not None, f"asked only of a target of Lambda, not of {self.platform}"
        return found["machine"]

    @property
    def wheel_platforms(self) -> tuple[str, ...]:
        """The platforms of the wheels that run there, newest glibc first."""
        found = _MANYLINUX.fullmatch(self.platform)
        assert found is not None, f"asked only of a target of Lambda, not of {self.platform}"
        newest, machine = int(found["glibc"]), found["machine"]
        levels = range(newest, _OLDEST_GLIBC_MINOR - 1, -1)
        tags = [f"manylinux_2_{minor}_{machine}" for minor in levels]
        return (*tags, f"manylinux2014_{machine}", f"linux_{machine}")

    @property
    def markers(self) -> dict[str, str]:
        """What a requirement's markers are judged by; nothing for this machine, which knows."""
        if self.is_this_machine:
            return {}
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": "linux",
        }


def _lambda_platform(python: str, machine: str) -> str:
    found = _PYTHON.fullmatch(python)
    if found is None:
        raise PackingError(f"A version of Python is written like 3.13, not {python!r}.")
    glibc = 28 if int(found["minor"]) >= _AMAZON_LINUX_2023_PYTHON else _OLDEST_GLIBC_MINOR
    return f"manylinux_2_{glibc}_{machine}"
