"""What a process holds: sampled from within, by a thread that waits to be asked.

Only Linux (``/proc``) with glibc 2.33 or later (``mallinfo2``) shows all of it.
"""

from __future__ import annotations

import collections
import ctypes
import gc
import json
import os
import sys
import threading
import time
import urllib.parse
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hourhand.memory import job_logs

ASK_SECONDS = 0.5
"""How often the probe looks whether it is asked: little enough to cost nothing."""

MOST_TYPES = 400
"""Types whose objects are counted, the most frequent first: for the report of a leak."""

KEPT_LOG_LINES = 20

ASKED = "asked"
FOLDER = "HOURHAND_SOAK_FOLDER"
PLANT = "HOURHAND_SOAK_PLANT"
"""``list``, ``thread``, ``file`` or ``socket``: what some calls of a handler leak, to be found."""

_OWN = Path("/proc/self")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """What a process held at one moment, garbage collected and spare memory given back.

    ``blocks`` of Python's own allocator hold nearly every small object, one each. All else is
    taken from ``malloc``: ``allocated_kib`` of it were in use. ``memory_kib`` is what the process
    itself (no file) has resident: both of them, and the gaps between what they have in use.
    """

    memory_kib: int
    allocated_kib: int
    blocks: int
    threads: int
    files: int
    sockets: int
    types: dict[str, int] = field(default_factory=dict)

    def value(self, kind: str) -> int:
        """Return one of the counted, by its name."""
        number: int = getattr(self, kind)
        return number


def take_sample(*, with_types: bool = True) -> Sample:
    """Sample this process."""
    _forget_looked_up_names()
    gc.collect()
    _give_back_spare_memory()
    blocks = sys.getallocatedblocks()
    targets = _open_files()
    sockets = sum(target.startswith("socket:") for target in targets)
    return Sample(
        memory_kib=_memory_kib(),
        allocated_kib=_allocated_kib(),
        blocks=blocks,
        threads=sum(1 for _ in (_OWN / "task").iterdir()),
        files=len(targets) - sockets,
        sockets=sockets,
        types=_types() if with_types else {},
    )


def _open_files() -> list[str]:
    """Return what each descriptor stands for; the one that lists them is gone by then."""
    targets = []
    for name in os.listdir(_OWN / "fd"):  # noqa: PTH208 (iterdir would keep its own one open)
        try:
            targets.append(os.readlink(_OWN / "fd" / name))  # noqa: PTH115 (a text, not a path)
        except FileNotFoundError:
            continue
    return targets


def _memory_kib() -> int:
    """Return the anonymous memory that is resident: pages of files come and go as they like."""
    for line in (_OWN / "status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise LookupError("This system does not tell how much memory a process holds.")


class _Mallinfo(ctypes.Structure):
    """The result of glibc's ``mallinfo2``: counts and bytes, as its manual page describes them."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def _allocated_kib() -> int:
    """Return what ``malloc`` gave out and did not get back, from its heaps and by ``mmap``."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        raise LookupError("This C library does not tell what it gave out; glibc 2.33 does.")
    mallinfo.restype = _Mallinfo
    found = mallinfo()
    return int(found.uordblks + found.hblkhd) // 1024


def _forget_looked_up_names() -> None:
    """Empty CPython's cache of attributes of types.

    It keeps up to 4,096 names that code made up to look an attribute up by, as botocore does for
    each call and CPython 3.11 for each class in a ``match``: which fills so slowly that it would
    pass for a leak of an object for each job.
    """
    # So does the standard library, with a hundred URLs: each large payload has its own. The
    # interpreter's own was renamed in CPython 3.13.
    for module, names in (
        (urllib.parse, ("clear_cache",)),
        (sys, ("_clear_internal_caches", "_clear_type_cache")),
    ):
        found = (getattr(module, name) for name in names if hasattr(module, name))
        next(found, lambda: None)()


def _give_back_spare_memory() -> None:
    """Else what was freed, and glibc only keeps for later, would look like held."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _types() -> dict[str, int]:
    counted = collections.Counter(
        f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects()
    )
    return dict(counted.most_common(MOST_TYPES))


# --- in the processes that are watched ---


def start() -> None:
    """Answer from now on whoever asks by `ask`, in a thread of our own."""
    if role_of(sys.orig_argv) == "api":
        # The local cloud keeps the logs of jobs up to a bound, which is reached before the warm-up
        # is over: until then they would pass for a leak.
        job_logs.MAX_LINES = KEPT_LOG_LINES
    folder = Path(os.environ[FOLDER])
    threading.Thread(target=_answer, args=(folder,), name="soak-probe", daemon=True).start()


def _answer(folder: Path) -> None:
    answered = "0"
    while True:
        time.sleep(ASK_SECONDS)
        try:
            asked = (folder / ASKED).read_text()
        except OSError:
            continue
        if asked and asked != answered:
            answered = asked
            told = {"role": role_of(sys.orig_argv), **asdict(take_sample())}
            ready = folder / f"{os.getpid()}.{asked}.tmp"
            ready.write_text(json.dumps(told))
            ready.rename(ready.with_suffix(".json"))


def role_of(arguments: list[str]) -> str:
    """Return what a process does, from how it was started."""
    words = " ".join(arguments)
    for sign, role in (
        ("hourhand.local.worker_process", "worker"),
        ("hourhand.local.scheduler_process", "scheduler"),
        ("hourhand.cli.main dev", "api"),
    ):
        if sign in words:
            return role
    return "other"


# --- in the process that watches ---


def ask(folder: Path, number: int, pids: set[int], limit_seconds: float) -> dict[int, Any]:
    """Return what the processes ``pids`` tell of themselves: role and sample, by process.

    Those that did not answer within ``limit_seconds`` are missing.
    """
    asking = folder / f"{ASKED}.tmp"
    asking.write_text(str(number))
    asking.rename(folder / ASKED)
    until = time.monotonic() + limit_seconds
    answers: dict[int, Any] = {}
    while time.monotonic() < until and answers.keys() < pids:
        time.sleep(ASK_SECONDS)
        for pid in pids - answers.keys():
            path = folder / f"{pid}.{number}.json"
            if path.exists():
                told = json.loads(path.read_text())
                answers[pid] = (told.pop("role"), Sample(**told))
                path.unlink()
    return answers
