"""``hourhand migrate``: counts what is kept by kind and version, and rewrites what is older."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from boto3.session import Session
from botocore.exceptions import BotoCoreError

from hourhand.aws.clients import client_config
from hourhand.aws.clock import SystemClock
from hourhand.aws.failures import Call, Expected, ask_expecting
from hourhand.aws.migration import (
    MIGRATED,
    RACED,
    WALKED,
    WOULD_MIGRATE,
    Found,
    Migration,
    Tally,
)
from hourhand.aws.migration_cursor import Cursor, cursor_text, first_cursor, read_cursor
from hourhand.aws.migration_steps import Standing
from hourhand.aws.table_schema import resource_name
from hourhand.cli.doctor.deployment import TABLE_OUTPUTS
from hourhand.domain.errors import FieldError, InvalidInput, Unavailable

NO_SUCH_STACK = "ValidationError"
"""CloudFormation's code for a stack that does not exist (API reference, DescribeStacks)."""

DONE, UNDONE, INTERRUPTED = 0, 1, 130
PAGES_A_LINE = 50
"""How often a walk tells how far it is, on standard error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MigrateOptions:
    """What to walk over, and how. ``pages``: after so many it stops and prints its cursor.

    ``prefix`` names the installation; without it the stack is asked.
    """

    stack: str
    prefix: str | None = None
    region: str | None = None
    profile: str | None = None
    endpoint: str | None = None
    is_dry: bool = False
    units_per_second: float = 100.0
    segment: str = "0/1"
    cursor: str | None = None
    pages: int | None = None


def run_migrate(options: MigrateOptions) -> int:
    """Walk over the tables, tell what was found, and return the exit code."""
    start = _start(options)
    session = _session(options)
    migration = Migration(
        client=session.client("dynamodb", endpoint_url=options.endpoint, config=client_config()),
        tables=_table_names(options, session),
        clock=SystemClock(),
        is_dry=options.is_dry,
        units_per_second=options.units_per_second,
    )
    return follow(migration.walk(start), start, options)


def follow(walk: Iterator[Tally], start: Cursor, options: MigrateOptions) -> int:
    """Tell of a walk until it ends, is interrupted, or did as many pages as it should."""
    tally = Tally(cursor=start)
    code = DONE
    try:
        for page, so_far in enumerate(walk, start=1):
            tally = so_far
            if page % PAGES_A_LINE == 0:
                print(f"{sum(tally.found.values()):,} items so far ...", file=sys.stderr)
            if page == options.pages:
                break
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Unavailable as error:
        print(f"hourhand: {error.detail}", file=sys.stderr)
        code = UNDONE
    for line in lines_of(tally, is_dry=options.is_dry):
        print(line)
    return code or (UNDONE if is_left(tally) else DONE)


def is_left(tally: Tally) -> bool:
    """Whether something is not as this release would have it, or was not looked at."""
    left = (RACED, WOULD_MIGRATE, Standing.NO_STEP, Standing.NEWER, Standing.UNKNOWN)
    return tally.cursor is not None or tally.count(*left) > 0


def lines_of(tally: Tally, *, is_dry: bool) -> Iterator[str]:
    """Tell what was found, what it took, and where to go on."""
    if tally.found:
        yield f"{'kind':<20} {'version':>7} {'items':>12}  outcome"
    for found, number in sorted(tally.found.items(), key=lambda pair: _order(pair[0])):
        yield f"{found.kind:<20} {found.version:>7} {number:>12,}  {found.outcome}"
    yield (
        f"{sum(tally.found.values()):,} items; {tally.count(MIGRATED):,} migrated, "
        f"{tally.count(RACED):,} raced; {tally.read_units:,.1f} read units, "
        f"{tally.write_units:,.1f} write units."
    )
    if is_dry:
        yield "Nothing was written: this was a dry run."
    if tally.cursor is not None:
        yield f"Not at the end. To go on: --cursor {cursor_text(tally.cursor)}"


def _order(found: Found) -> tuple[str, int, str]:
    return (found.kind, found.version, found.outcome)


def _start(options: MigrateOptions) -> Cursor:
    if options.cursor is not None:
        return read_cursor(options.cursor, len(WALKED))
    segment, _, segments = options.segment.partition("/")
    if not (segment.isdigit() and segments.isdigit()):
        return first_cursor(-1, 1)
    return first_cursor(int(segment), int(segments))


def _session(options: MigrateOptions) -> Session:
    try:
        return Session(profile_name=options.profile, region_name=options.region)
    except BotoCoreError as error:
        problem = FieldError("--profile", "must be one of `aws configure list-profiles`")
        raise InvalidInput(str(error), errors=(problem,)) from error


def _table_names(options: MigrateOptions, session: Session) -> dict[str, str]:
    if options.prefix is not None:
        return {table.name: resource_name(options.prefix, table.name) for table in WALKED}
    outputs = _outputs(options, session)
    missing = [TABLE_OUTPUTS[t.name] for t in WALKED if TABLE_OUTPUTS[t.name] not in outputs]
    if missing:
        problem = FieldError("--stack", f"has no output {', '.join(missing)}")
        raise InvalidInput(f"{options.stack} is no stack of Hourhand's.", errors=(problem,))
    return {table.name: outputs[TABLE_OUTPUTS[table.name]] for table in WALKED}


def _outputs(options: MigrateOptions, session: Session) -> dict[str, str]:
    client = session.client("cloudformation", endpoint_url=options.endpoint, config=client_config())
    answer = ask_expecting(
        {NO_SUCH_STACK},
        Call("DescribeStacks", f"stack {options.stack}"),
        client.describe_stacks,
        StackName=options.stack,
    )
    stacks = [] if isinstance(answer, Expected) else answer["Stacks"]
    if not stacks:
        problem = FieldError("--stack", "must name a stack of this Region; or give --prefix")
        raise InvalidInput(f"There is no stack {options.stack}.", errors=(problem,))
    return {each["OutputKey"]: each["OutputValue"] for each in stacks[0].get("Outputs", [])}
