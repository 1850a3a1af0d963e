"""The logger of handlers, and of Hourhand's own lines: each line is a sentence with fields.

Not among `hourhand.handlers`, which a scheduler never needs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter

JOB_LOGGER = "hourhand.worker.job"
"""Below the logger of the worker's own lines, so that handlers' lines go where those go."""

_STANDARD_ARGUMENTS = frozenset({"exc_info", "stack_info", "stacklevel", "extra"})
_RECORD_ATTRIBUTES = frozenset(
    vars(logging.makeLogRecord({})).keys() | {"message", "asctime"},
)
"""Names that `logging` refuses as extra fields, with a KeyError, since records hold them."""


class JobLogger(_Adapter):
    """A standard logger; ``logger.info("Sent.", recipients=3)`` logs a sentence with fields.

    Every line also carries ``job_id``, ``handler``, ``attempt`` and ``trace_id``.
    """

    def __init__(self, logger: logging.Logger, fields: Mapping[str, Any]) -> None:
        """Take the logger to write to and the fields that every line carries."""
        super().__init__(logger, dict(fields))

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        """Turn keyword arguments into fields, as `logging` wants them."""
        standard = {name: kwargs[name] for name in kwargs if name in _STANDARD_ARGUMENTS}
        given = {name: kwargs[name] for name in kwargs if name not in _STANDARD_ARGUMENTS}
        fields = {**(standard.get("extra") or {}), **given, **(self.extra or {})}
        standard["extra"] = safe_fields(fields)
        return msg, standard


def safe_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``fields`` with an underscore behind the names that `logging` keeps to itself."""
    return {
        f"{name}_" if name in _RECORD_ATTRIBUTES else name: value for name, value in fields.items()
    }


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of the sentence that ``record`` logs."""
    return {name: value for name, value in vars(record).items() if name not in _RECORD_ATTRIBUTES}
