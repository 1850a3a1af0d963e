"""The ``hourhand`` command: its verbs, and the errors that end it with a sentence."""

from __future__ import annotations

import errno
import sys
from typing import Annotated

import typer

from hourhand.cli.calendars.commands import calendars
from hourhand.cli.console import console
from hourhand.cli.dead_letters.commands import dead_letters
from hourhand.cli.deploy import deploy
from hourhand.cli.estimate.command import estimate
from hourhand.cli.exits import FAILED, sentences_of
from hourhand.cli.helping import Noun
from hourhand.cli.jobs.commands import jobs
from hourhand.cli.options import (
    MEMORY,
    BackendOption,
    BatchSizeOption,
    CursorOption,
    DryRunOption,
    EndpointOption,
    HandlersOption,
    JobsOption,
    JsonOption,
    PagesOption,
    PortOption,
    PrefixOption,
    ProfileOption,
    QuietOption,
    RegionOption,
    SegmentOption,
    SpeedOption,
    StackOption,
    TickSecondsOption,
    UnitsOption,
    VerboseOption,
    WorkersOption,
)
from hourhand.cli.resweep import resweep
from hourhand.cli.rollback.command import rollback
from hourhand.cli.schedules.commands import schedules
from hourhand.cli.stats import stats
from hourhand.domain.errors import HourhandError

app = Noun(
    name="hourhand",
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    # An option without an envvar of its own has one that follows from the path of its verb.
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "HOURHAND",
    },
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        print(f"hourhand {version('hourhand')}")
        raise typer.Exit


@app.callback()
def _hourhand(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            # From the environment it would replace every verb.
            allow_from_autoenv=False,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Run jobs now, later or on a schedule, on AWS without servers.

    [bold]hourhand dev[/] runs Hourhand on this machine, [bold]hourhand deploy[/] on AWS.
    [bold]hourhand demo[/] runs jobs and breaks things on purpose, and [bold]hourhand doctor[/]
    checks a deployment. Every option can also be set by an environment variable, which the help
    of its command names.
    """


@app.command()
def dev(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    handlers: HandlersOption,
    port: PortOption = 8787,
    backend: BackendOption = "moto",
    tick_seconds: TickSecondsOption = 60.0,
    workers: WorkersOption = 4,
    batch_size: BatchSizeOption = 1,
    speed: SpeedOption = 1.0,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run the local cloud until Ctrl-C: the HTTP API, the console, a scheduler and workers.

    It needs no AWS account and sends nothing to the network. It simulates DynamoDB, SQS and S3 in
    memory, so all jobs are lost when it ends. It reloads handlers when their files change. Handlers
    see the environment of this command, except that the variables of AWS point to the simulation.

    Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 could not start, 2 wrong usage, 130 interrupted
    during start-up.

    [dim]Example: hourhand dev --handlers examples.quickstart[/]
    """
    if speed != 1 and backend != MEMORY:
        raise typer.BadParameter(f"needs --backend {MEMORY}", param_hint="--speed")
    from hourhand.cli.dev import DevOptions, run_dev

    run_dev(
        DevOptions(
            handlers=handlers,
            port=port,
            backend=backend,
            tick_seconds=tick_seconds,
            workers=workers,
            batch_size=batch_size,
            speed=speed,
            detail=-1 if quiet else int(verbose),
        )
    )


@app.command()
def demo(
    jobs: JobsOption = 340,
    backend: BackendOption = "moto",
    workers: WorkersOption = 6,
    batch_size: BatchSizeOption = 1,
) -> None:
    """Run some hundred real jobs on a local cloud, break it on purpose, and report.

    Each job parses and counts one module of Python's standard library. Some are delayed, one
    fails twice, one kills its worker process, one is cancelled; the leading scheduler is killed
    in mid-tick, and the queues are purged. Two schedules fire all the while, and three more, in
    virtual time, over both changes of the clocks of a year. It takes about two minutes.

    Exit codes: 0 every job ended as it should and each nominal time came once, 1 one did not,
    2 wrong usage, 130 interrupted.

    [dim]Example: hourhand demo --jobs 100[/]
    """
    if backend == MEMORY:
        raise typer.BadParameter(
            "the demo kills processes, so it needs some", param_hint="--backend"
        )
    from hourhand.cli.demo import run_demo
    from hourhand.local.demo.run import DemoOptions

    options = DemoOptions(jobs=jobs, backend=backend, workers=workers, batch_size=batch_size)
    raise typer.Exit(run_demo(options))


@app.command()
def doctor(
    stack: StackOption = "hourhand-dev",
    region: RegionOption = None,
    profile: ProfileOption = None,
    endpoint: EndpointOption = None,
    json: JsonOption = False,
) -> None:
    """Look at a deployment, and say what to mend.

    It looks at the credentials, this machine's clock, the stack, its tables, queues and bucket,
    the functions, their versions and roles, what calls them, the last tick, the scheduler's clock,
    dead jobs and the API. It changes nothing, and takes at most half a minute. Each look is a line:
    OK, WARNING (it works, but mend or know it), FAILED, SKIPPED (it could not be looked at, and
    why), or UNKNOWN (the same of what nobody can call well unseen). Whatever is not OK says what to
    do.

    Exit codes: 0 nothing failed (warnings are allowed), 1 something did, 2 wrong usage, 3 nothing
    that was seen failed, but something is UNKNOWN.

    [dim]Example: hourhand doctor --stack hourhand-prod --profile operations[/]
    """
    from hourhand.cli.doctor.run import DoctorOptions, run_doctor

    options = DoctorOptions(
        stack=stack, region=region, profile=profile, endpoint=endpoint, json=json
    )
    raise typer.Exit(run_doctor(options))


@app.command()
def migrate(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    context: typer.Context,
    stack: StackOption = "hourhand-dev",
    prefix: PrefixOption = None,
    region: RegionOption = None,
    profile: ProfileOption = None,
    endpoint: EndpointOption = None,
    dry_run: DryRunOption = False,
    units: UnitsOption = 100.0,
    segment: SegmentOption = "0/1",
    cursor: CursorOption = None,
    pages: PagesOption = None,
) -> None:
    """Count what the tables hold by kind and version, and rewrite what older releases wrote.

    It may run while everything runs, once every function has the new release: an item that
    changes meanwhile is looked at again. What newer releases wrote it leaves alone. It may be
    interrupted: it prints a cursor to go on from. See docs/upgrading.md.

    Exit codes: 0 all that it walked over is as this release writes it, 1 not all is, 2 wrong
    usage, 130 interrupted. With --segment or --cursor it walks over a part, and says so.

    [dim]Example: hourhand migrate --stack hourhand-prod --dry-run[/]
    """
    from hourhand.cli.migrate import MigrateOptions, chosen_prefix, run_migrate

    options = MigrateOptions(
        stack=stack,
        prefix=chosen_prefix(context, prefix),
        region=region,
        profile=profile,
        endpoint=endpoint,
        is_dry=dry_run,
        units_per_second=units,
        segment=segment,
        cursor=cursor,
        pages=pages,
    )
    raise typer.Exit(run_migrate(options))


app.add_typer(jobs)
app.add_typer(schedules)
app.add_typer(calendars)
app.add_typer(dead_letters)
app.command()(stats)
app.command()(resweep)
app.command()(console)
app.command()(estimate)
app.command()(deploy)
app.command()(rollback)


def main() -> None:
    """Run the command, and end the process with its exit code."""
    try:
        try:
            app()
        finally:
            # A failure to print is reported like any other.
            sys.stdout.flush()
    except HourhandError as error:
        first, *others = sentences_of(error)
        print("\n".join([f"hourhand: {first}", *others]), file=sys.stderr)
        sys.exit(FAILED)
    except OSError as error:
        # The interpreter would flush the rest once more, and fail again.
        sys.stdout = sys.stderr
        # A reader that closed its pipe, as `head` does, is no failure to report.
        if error.errno != errno.EPIPE:
            print(f"hourhand: {error}", file=sys.stderr)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
