"""Every attribute that an item of each kind may have, in any version that this code reads.

A migration needs them: whoever rewrites an item must know that no attribute appeared meanwhile
that its steps would have changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from hourhand.aws.items import INTERVAL_ATTRIBUTES, JOB_CODECS, RETRY_CODECS
from hourhand.aws.schedule_items import (
    BACKFILL_ATTRIBUTES,
    CALENDAR_ATTRIBUTES,
    END_ATTRIBUTES,
    SCHEDULE_ATTRIBUTES,
    WALK_ATTRIBUTES,
)
from hourhand.aws.table_schema import JOBS, SCHEDULES
from hourhand.aws.values import attributes_of
from hourhand.aws.versions import Kind

_JOB = {
    *attributes_of(JOB_CODECS),
    *attributes_of(RETRY_CODECS),
    *INTERVAL_ATTRIBUTES.values(),
    *(key.attribute for key in JOBS.keys),
    *END_ATTRIBUTES,
    "tr",
    "ov",
}
_NAMED = {"l"}
"""The place of a schedule or calendar in the index ``names``."""

_OF_KIND: Mapping[Kind, set[str] | frozenset[str]] = {
    Kind.JOB: _JOB,
    Kind.TEXT: {"i", "x"},
    Kind.FAILURE: {"a", "w", "ty", "ms", "x", "oc", "sa", "fa", "nr", "tb"},
    Kind.SLOTS: {"q", "u", "o", "w", "x"},
    Kind.SCHEDULE: SCHEDULE_ATTRIBUTES | {key.attribute for key in SCHEDULES.keys},
    Kind.DEFINITION: {"f", "i", *END_ATTRIBUTES},
    Kind.JOURNAL_PAGE: {"j", "q", *END_ATTRIBUTES},
    Kind.BACKFILL: BACKFILL_ATTRIBUTES,
    Kind.CALENDAR: CALENDAR_ATTRIBUTES | _NAMED,
    Kind.WALK: WALK_ATTRIBUTES,
    Kind.IDEMPOTENCY: {"j", "c", "f", "i", "g", "o", "u", "x"},
    Kind.LEASE: {"epoch", "holder", "until_ms", "acquired_ms", "taken_from"},
    Kind.SWEEP: {"shard_map", "map_version", "watermark", "watermark_hash"},
    Kind.TICK: {"tick"},
    Kind.RESWEEP: {"id", "since_ms", "requested_ms"},
    Kind.ID_KEY: {"secret"},
}
ATTRIBUTES: Mapping[Kind, frozenset[str]] = {
    kind: frozenset(names) | {"v"} for kind, names in _OF_KIND.items()
}
"""By kind; a table's own key may be among them."""
