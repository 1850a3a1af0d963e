"""What was packed, in figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hourhand_cdk.packing._errors import PackingError
from hourhand_cdk.packing._trees import TreeSize

UNZIPPED_LIMIT_BYTES = 250 * 1024 * 1024
ZIPPED_WARNING_BYTES = 50 * 1024 * 1024
"""https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"""

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionRow:
    """One function; if measured, its archive's bytes, and its CPU for import and wiring here."""

    function: str
    size: TreeSize
    digest: str
    zipped_bytes: int | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """``proof``: which Python imported the handlers. ``notes``: remarks for the user.

    ``uncompiled``: the functions without bytecode; the notes say why.
    """

    target: str
    module: str
    handlers: tuple[str, ...]
    rows: tuple[FunctionRow, ...]
    proof: str
    uncompiled: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Return a table for people."""
        lines = [
            f"Packed for {self.target}; handlers of {self.module}: {', '.join(self.handlers)}",
            f"{'function':<11}{'zipped':>10}{'unzipped':>11}{'import':>12}  largest",
        ]
        lines += [_row_text(row) for row in self.rows]
        lines += ["", self.proof, *(f"Note: {note}" for note in self.notes)]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return the same for programs."""
        return asdict(self)


def check_limits(rows: tuple[FunctionRow, ...]) -> tuple[str, ...]:
    """Return warnings; raise `PackingError` for what Lambda would not accept."""
    warnings = []
    for row in rows:
        if row.size.unzipped_bytes > UNZIPPED_LIMIT_BYTES:
            raise PackingError(
                f"The {row.function} function is {_megabytes(row.size.unzipped_bytes)} unzipped, "
                f"and Lambda accepts {_megabytes(UNZIPPED_LIMIT_BYTES)} at most. "
                f"Its largest parts: {_largest(row)}."
            )
        if row.zipped_bytes is not None and row.zipped_bytes > ZIPPED_WARNING_BYTES:
            warnings.append(
                f"the {row.function} function is {_megabytes(row.zipped_bytes)} zipped: above "
                f"{_megabytes(ZIPPED_WARNING_BYTES)} Lambda accepts it only through S3 (as the CDK "
                "does), and its cold start is slow."
            )
    return tuple(warnings)


def _row_text(row: FunctionRow) -> str:
    seconds = "-" if row.cpu_seconds is None else f"{row.cpu_seconds:.2f} s CPU"
    zipped = "-" if row.zipped_bytes is None else _megabytes(row.zipped_bytes)
    unzipped = _megabytes(row.size.unzipped_bytes)
    return f"{row.function:<11}{zipped:>10}{unzipped:>11}{seconds:>12}  {_largest(row)}"


def _largest(row: FunctionRow) -> str:
    return ", ".join(f"{name} {_megabytes(size)}" for name, size in row.size.largest)


def _megabytes(size: int) -> str:
    return f"{size / _MEGABYTE:.1f} MB"
