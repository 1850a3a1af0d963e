"""The bytes of a small job's hot item through its life, against the budget of one write unit.

DynamoDB bills a write by the size of the item, in steps of 1 KB: the largest of what was and what
is. A job is small with a payload of at most 256 bytes, a result of at most 128 and no tags; one of
a schedule, if the schedule's id has at most 32 bytes, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.children.sizes import RUN_ID, children, join_records
from bench.small_jobs import kinds, life
from bench.targets import all_ok, below
from hourhand.aws.layout.jobs import job_to_item
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.parents import CHUNK
from hourhand.domain.side_items import SideItem, Stored

BUDGET_BYTES = 1024


def item_size_bytes(item: Mapping[str, Any]) -> int:
    """Return the size of ``item`` by the rules that DynamoDB publishes.

    Names and strings in UTF-8; a number one byte for two digits and one more; lists and maps three
    bytes and one for each element (developer guide, "DynamoDB item sizes and formats").
    """
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    (kind, content), *_ = value.items()
    match kind:
        case "S":
            return len(str(content).encode())
        case "N":
            digits = str(content)
            return (sum(map(str.isdigit, digits)) + 1) // 2 + 1 + digits.startswith("-")
        case "BOOL":
            return 1
        case "B":
            return len(content)
        case "L":
            return 3 + sum(1 + _value_size(element) for element in content)
        case "M":
            return 3 + len(content) + item_size_bytes(content)
    raise ValueError(f"no rule for a value of type {kind}")


def side_item_size_bytes(item: SideItem) -> int:
    """Return the size of a side item as it is stored, with its version and its end."""
    stored: dict[str, Mapping[str, Any]] = {
        "p": {"S": item.key.partition},
        "s": {"S": item.key.sort},
        "v": {"N": "1"},
        "x": {"N": "1767603600"},
    }
    return item_size_bytes(stored | {name: _stored(value) for name, value in item.values.items()})


def _stored(value: Stored) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    return {"M": {name: {"N": str(number)} for name, number in value.items()}}


def run() -> dict[str, Any]:
    """Return the size after each write of its life, for each kind of small job."""
    jobs = kinds() | children()
    lives = [list(life(job)) for job in jobs.values()]
    rows: list[list[Any]] = [
        [steps[0][0], *(item_size_bytes(job_to_item(job)) for _, job in steps), BUDGET_BYTES]
        for steps in zip(*lives, strict=True)
    ]
    largest = {name: max(row[number] for row in rows) for number, name in enumerate(jobs, start=1)}
    joins = {name: side_item_size_bytes(item) for name, item in join_records().items()}
    must = [
        below(
            "A small job's item at its largest",
            max(largest[name] for name in kinds()),
            BUDGET_BYTES,
            " bytes",
        ),
        below("A child's item at its largest", largest["a child"], BUDGET_BYTES, " bytes"),
        below(
            f"A join record of {CHUNK} children at its largest",
            max(joins.values()),
            BUDGET_BYTES,
            " bytes",
        ),
    ]
    larger = [f"{name}: {size:,}" for name, size in largest.items() if size >= BUDGET_BYTES]
    return {
        "asks": "Does the item of a small job stay below 1 KB, so that each write costs one unit?",
        "columns": ["after", *jobs, "budget"],
        "rows": rows,
        "notes": [
            "The sizes are computed from the items that the code writes, by the rules in "
            "DynamoDB's developer guide (DynamoDB item sizes and formats). The jobs are the "
            "largest that still count as small, and fail five times.",
            f"A child has the link to its run, whose id has {len(RUN_ID)} characters, and the "
            "trace of its run. A write of an item above the budget costs two units: at their end, "
            f"after six attempts, those are the writes of these items ({'; '.join(larger)}).",
            f"The join record of {CHUNK} children has, in bytes: "
            + "; ".join(f"{size:,} {name}" for name, size in joins.items())
            + ".",
        ],
        "plots": [_plot(lives[: len(kinds())], list(kinds()))],
        "must": must,
        "ok": all_ok(must),
    }


def _plot(lives: list[list[tuple[str, Job]]], kinds: list[str]) -> dict[str, Any]:
    names = ["of its own", *kinds[1:]]
    series = {
        name: [
            [number, item_size_bytes(job_to_item(job))] for number, (_, job) in enumerate(steps, 1)
        ]
        for name, steps in zip(names, lives, strict=True)
    }
    series["one write unit"] = [[1, BUDGET_BYTES], [len(lives[0]), BUDGET_BYTES]]
    return {
        "name": "item-size",
        "kind": "line",
        "title": "The item of a small job through five failures",
        "x": "writes of its life",
        "y": "bytes",
        "log_x": False,
        "log_y": False,
        "series": series,
    }
