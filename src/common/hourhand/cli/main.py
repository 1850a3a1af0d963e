"""The ``hourhand`` command: its verbs, and the errors that end it with a sentence."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Annotated

import typer

from hourhand.cli.audit import audit
from hourhand.cli.batches.commands import batches
from hourhand.cli.calendars.commands import calendars
from hourhand.cli.check.command import check
from hourhand.cli.config.commands import config
from hourhand.cli.console import console
from hourhand.cli.contexts.commands import context
from hourhand.cli.dead_letters.commands import dead_letters
from hourhand.cli.deploy import deploy
from hourhand.cli.doctor.command import doctor
from hourhand.cli.estimate.command import estimate
from hourhand.cli.exits import FAILED, sentences_of
from hourhand.cli.graphs.commands import graphs
from hourhand.cli.handlers.commands import handlers
from hourhand.cli.helping import Noun
from hourhand.cli.init import init
from hourhand.cli.jobs.changes import jobs
from hourhand.cli.limits.commands import limits
from hourhand.cli.options import (
    MEMORY,
    BackendOption,
    BatchSizeOption,
    HandlersOption,
    JsonOption,
    PortOption,
    QuickOption,
    QuietOption,
    SpeedOption,
    TickSecondsOption,
    VerboseOption,
    WorkersOption,
)
from hourhand.cli.project import FILE, TABLE, project_handlers
from hourhand.cli.quotas.commands import quotas
from hourhand.cli.resweep import resweep
from hourhand.cli.rollback.command import rollback
from hourhand.cli.runs.commands import runs
from hourhand.cli.schedules.commands import schedules
from hourhand.cli.shards import shards
from hourhand.cli.stats import stats
from hourhand.domain.errors import HourhandError

START, WORK, OPERATE = "Begin", "Jobs and schedules", "Deployments"
"""The groups of the overview, in their order."""

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

    [bold]hourhand init[/] writes a project to start from. [bold]hourhand dev[/] runs Hourhand on
    this machine, [bold]hourhand deploy[/] on AWS.
    [bold]hourhand demo[/] causes failures and shows that no job is lost, and
    [bold]hourhand doctor[/] checks a deployment. Every option can also be set by an environment
    variable, which the help of its command names.
    """


@app.command(rich_help_panel=START)
def dev(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    handlers: HandlersOption = None,
    port: PortOption = 8787,
    backend: BackendOption = MEMORY,
    tick_seconds: TickSecondsOption = 60.0,
    workers: WorkersOption = 4,
    batch_size: BatchSizeOption = 1,
    speed: SpeedOption = 1.0,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run the local cloud until Ctrl-C: the HTTP API, the console, a scheduler and workers.

    It needs no AWS account and sends nothing to the network. It keeps all jobs in memory, so they
    are lost when it ends. It reloads handlers when their files change. Handlers see the environment
    of this command, except that the variables of AWS point to nothing, or to the backend.

    Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 could not start, 2 wrong usage, 130 interrupted
    during start-up.

    [dim]Example: hourhand dev --handlers examples.quickstart[/]
    """
    if speed != 1 and backend != MEMORY:
        raise typer.BadParameter(f"needs --backend {MEMORY}", param_hint="--speed")
    from hourhand.cli.dev import DevOptions, run_dev

    chosen = handlers or project_handlers(Path.cwd())
    if chosen is None:
        message = f'give a module, or name it in {FILE}: handlers = "jobs" under {TABLE}. '
        message += "`hourhand init` writes a project that has it"
        raise typer.BadParameter(message, param_hint="--handlers")
    run_dev(
        DevOptions(
            handlers=chosen,
            port=port,
            backend=backend,
            tick_seconds=tick_seconds,
            workers=workers,
            batch_size=batch_size,
            speed=speed,
            detail=-1 if quiet else int(verbose),
        )
    )


@app.command(rich_help_panel=START)
def demo(quick: QuickOption = False, port: PortOption = 0, json: JsonOption = False) -> None:
    """Run 280 real jobs and two schedules on a local cloud, kill its leader, and report.

    The local cloud is a set of real processes on this machine, with AWS simulated in memory. Each
    job indexes a module of Python's standard library. Three jobs fail twice, one fails permanently,
    one kills its worker process, and the demo kills the leading scheduler. The report checks seven
    promises, such as: no job is lost, and no job runs twice at the same time.

    The first line of the output is the address of the web console. The demo takes about 100
    seconds, or 30 with --quick.

    Exit codes: 0 every promise was kept, 1 a promise was broken or the demo could not run, 2 wrong
    usage, 130 interrupted.

    [dim]Example: hourhand demo --quick[/]
    """
    from hourhand.cli.demo import run_demo
    from hourhand.local.demo.plan import FULL, QUICK

    raise typer.Exit(run_demo(QUICK if quick else FULL, port, is_json=json))


app.command(rich_help_panel=START)(init)
app.command(rich_help_panel=START)(check)
app.add_typer(jobs, rich_help_panel=WORK)
app.add_typer(schedules, rich_help_panel=WORK)
app.add_typer(calendars, rich_help_panel=WORK)
app.add_typer(dead_letters, rich_help_panel=WORK)
app.add_typer(handlers, rich_help_panel=WORK)
app.add_typer(runs, rich_help_panel=WORK)
app.add_typer(graphs, rich_help_panel=WORK)
app.add_typer(batches, rich_help_panel=WORK)
app.add_typer(limits, rich_help_panel=WORK)
app.add_typer(quotas, rich_help_panel=WORK)
app.command(rich_help_panel=WORK)(stats)
app.command(rich_help_panel=WORK)(console)
app.add_typer(context, rich_help_panel=WORK)
app.command(rich_help_panel=OPERATE)(deploy)
app.command(rich_help_panel=OPERATE)(doctor)
app.command(rich_help_panel=OPERATE)(audit)
app.add_typer(config, rich_help_panel=OPERATE)
app.command(rich_help_panel=OPERATE)(rollback)
app.command(rich_help_panel=OPERATE)(resweep)
app.add_typer(shards, rich_help_panel=OPERATE)
app.command(rich_help_panel=OPERATE)(estimate)


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
