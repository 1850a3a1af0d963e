"""``hourhand migrate``: counts what is kept by kind and version, and rewrites what is older."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import typer
from boto3.session import Session
from botocore.exceptions import BotoCoreError

from hourhand.aws.clients import client_config
from hourhand.aws.clock import SystemClock
from hourhand.aws.failures import Call, Expected, ask_expecting
from hourhand.aws.migration import (
    FAILED,
    MIGRATED,
    RACED,
    WALKED,
    WOULD_MIGRATE,
    Found,
    Migration,
    Tally,
)
from hourhand.aws.migration_cursor import (
    Cursor,
    WalkedTable,
    cursor_text,
    first_cursor,
    read_cursor,
)
from hourhand.aws.migration_steps import Standing, key_attributes
from hourhand.aws.table_schema import resource_name
from hourhand.cli.doctor.deployment import TABLE_OUTPUTS
from hourhand.domain.errors import FieldError, InvalidInput, Unavailable

NO_SUCH_STACK = "ValidationError"
"""CloudFormation's code for a stack that does not exist (API reference, DescribeStacks)."""

LEFT = (
    RACED,
    WOULD_MIGRATE,
    FAILED,
    Standing.NO_STEP,
    Standing.NEWER,
    Standing.UNKNOWN,
    Standing.UNREADABLE,
)
"""The outcomes of items that are not as this release would have them."""

DONE, UNDONE, INTERRUPTED = 0, 1, 130
SEGMENT = re.compile(r"([0-9]{1,7})/([0-9]{1,7})")
NOT_GIVEN, GIVEN = "DEFAULT", "COMMANDLINE"
"""Where a flag's value comes from (Click's `ParameterSource`, which Typer has as its own, too)."""
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


def chosen_prefix(context: typer.Context, prefix: str | None) -> str | None:
    """Return the prefix, unless a stack was named more explicitly.

    Raises `InvalidInput` where both were named in the same way: they may be two installations.
    """
    of_stack, of_prefix = _source(context, "stack"), _source(context, "prefix")
    if prefix is None or of_stack == NOT_GIVEN:
        return prefix
    if of_stack == of_prefix:
        problem = FieldError("--prefix", "must not be given beside --stack, which names its own")
        raise InvalidInput("It is not clear which installation is meant.", errors=(problem,))
    return prefix if of_prefix == GIVEN else None


def _source(context: typer.Context, name: str) -> str:
    source = context.get_parameter_source(name)
    return NOT_GIVEN if source is None else source.name


def run_migrate(options: MigrateOptions) -> int:
    """Walk over the tables, tell what was found, and return the exit code."""
    slice_start = _slice_start(options.segment)
    session = _session(options)
    names = _table_names(options, session)
    tables = [WalkedTable(names[table.name], key_attributes(table)) for table in WALKED]
    start = slice_start if options.cursor is None else read_cursor(options.cursor, tables)
    print(f"Walking {', '.join(names.values())}.", file=sys.stderr)
    migration = Migration(
        client=session.client("dynamodb", endpoint_url=options.endpoint, config=client_config()),
        tables=names,
        clock=SystemClock(),
        is_dry=options.is_dry,
        units_per_second=options.units_per_second,
    )
    return follow(migration.walk(start), start, options, tables)


def follow(
    walk: Iterator[Tally], start: Cursor, options: MigrateOptions, tables: Sequence[WalkedTable]
) -> int:
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
    if start != Cursor():
        print(f"This is of a part alone: {part_of(start, tables)}.")
    if tally.cursor is not None:
        print(f"Not at the end. To go on: --cursor {cursor_text(tally.cursor, tables)}")
    return code or (UNDONE if is_left(tally) else DONE)


def is_left(tally: Tally) -> bool:
    """Whether something is not as this release would have it, or was not looked at."""
    return tally.cursor is not None or tally.count(*LEFT) > 0


def part_of(start: Cursor, tables: Sequence[WalkedTable]) -> str:
    """Tell which part of the tables a walk from ``start`` looks at."""
    part = "every table"
    if (start.table, start.position) != (0, None):
        part = f"{tables[start.table].name} from the cursor on, and the tables after it"
    return part if start.segments == 1 else f"{part}; slice {start.segment} of {start.segments}"


def lines_of(tally: Tally, *, is_dry: bool) -> Iterator[str]:
    """Tell what was found, what could not be done, and what it took."""
    if tally.found:
        yield f"{'kind':<20} {'version':>7} {'items':>12}  outcome"
    for found, number in sorted(tally.found.items(), key=lambda pair: _order(pair[0])):
        version = "?" if found.version is None else found.version
        yield f"{found.kind:<20} {version:>7} {number:>12,}  {found.outcome}"
    yield from tally.failures
    yield (
        f"{sum(tally.found.values()):,} items; {tally.count(MIGRATED):,} migrated, "
        f"{tally.count(RACED):,} raced; {tally.read_units:,.1f} read units, "
        f"{tally.write_units:,.1f} write units."
    )
    if is_dry:
        yield "Nothing was written: this was a dry run."


def _order(found: Found) -> tuple[str, int, str]:
    return (found.kind, found.version or 0, found.outcome)


def _slice_start(segment: str) -> Cursor:
    match = SEGMENT.fullmatch(segment)
    return first_cursor(int(match[1]), int(match[2])) if match else first_cursor(-1, 1)


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
