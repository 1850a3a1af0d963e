"""``hourhand deploy``: runs the CDK on Hourhand's own app, and reports what it lacks."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hourhand.cli.connection import AwsFlags
from hourhand.cli.exits import DONE, FAILED, NO_ACCESS, NOT_ALLOWED, WRONG_USAGE, CommandError
from hourhand.cli.options import SEVERAL, YesOption, listed
from hourhand.cli.project import handlers_path, project_handlers
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

PACKAGE = "hourhand_cdk"
APP = f"{PACKAGE}.app"
SETTINGS = "cdk.json"
"""The feature flags of the CDK. Without this file the template differs."""

PACKED_QUICKSTART = Path(__file__).parents[1] / "_examples" / "examples" / "quickstart.py"
"""The handlers that are deployed by default."""

OWN_FOLDER = Path(".hourhand") / "cdk"
"""Where the CDK runs for an installed package, below the current folder."""

OUTPUTS = "outputs.json"
ENDS_WITHIN_SECONDS = 10
"""How long the CDK may take to end after Ctrl-C."""

HandlersOption = Annotated[
    Path | None,
    typer.Option(
        "--handlers",
        metavar="PATH",
        help="Folder or .py file with your handlers. Default: handlers of the table "
        "tool.hourhand in pyproject.toml, else those of the quickstart.",
    ),
]
ModuleOption = Annotated[
    str | None,
    typer.Option(
        "--module",
        metavar="NAME",
        help="Module that registers the handlers, such as billing.jobs. Required if several "
        "modules register handlers.",
    ),
]
StageOption = Annotated[
    Literal["dev", "prod"] | None,
    typer.Option("--stage", help="Set of default settings: dev or prod. Default: dev."),
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--setting",
        "-c",
        metavar="NAME=VALUE",
        callback=listed,
        help=f"Setting from docs/reference/settings.md, such as worker_concurrency=400. {SEVERAL}.",
    ),
]
DiffOption = Annotated[
    bool, typer.Option("--diff", help="Only show what a deployment would change.")
]
SynthOption = Annotated[
    bool,
    typer.Option("--synth", help="Only create the template, in cdk.out. Needs no AWS account."),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where the CDK runs: a ``folder`` with its settings, and its ``command``, if installed."""

    folder: Path
    command: str | None
    is_clone: bool

    @property
    def handlers(self) -> Path | None:
        """The default handlers; in a clone, its settings name them."""
        return None if self.is_clone else PACKED_QUICKSTART


@verb(
    example="hourhand deploy --handlers billing/ --stage prod -c alarm_email=ops@example.org",
    codes={
        FAILED: "a requirement is missing, or the CDK failed",
        WRONG_USAGE: "wrong usage",
        NOT_ALLOWED: NO_ACCESS[NOT_ALLOWED],
    },
    asks_api=False,
)
def deploy(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    session: Session,
    aws: AwsFlags,
    handlers: HandlersOption = None,
    module: ModuleOption = None,
    stage: StageOption = None,
    setting: SettingOption = None,
    diff: DiffOption = False,
    synth: SynthOption = False,
    yes: YesOption = False,
) -> int:
    """Deploy Hourhand with your handlers to your AWS account, as one CloudFormation stack.

    The command packs the handlers, shows the permissions that the stack grants, and asks before it
    deploys. Prepare the account for the CDK once, with make bootstrap. You need Node.js, and either
    a checkout of Hourhand or the installed package with its extra infra. With --json the command
    prints the outputs of the stack.
    """
    if diff and synth:
        raise typer.BadParameter("cannot be combined with --synth", param_hint="--diff")
    place = place_of(Path.cwd())
    missing = [*missing_for(place)]
    if missing:
        raise CommandError("\n  ".join(["These requirements are missing:", *missing]))
    named = project_handlers(Path.cwd())
    own = None if named is None else handlers_path(Path.cwd(), named)
    settings = settings_given(handlers or own or place.handlers, module, stage, setting)
    action = "diff" if diff else "synth" if synth else "deploy"
    if not synth:
        _need_credentials(aws.profile)
    if action == "deploy":
        session.agree()
    arguments = [action, *cdk_arguments(action, settings, aws.profile, is_sure=yes)]
    if session.is_json and action == "deploy":
        return _with_outputs(session, place, arguments, aws.region)
    return DONE if run_cdk(place, arguments, aws.region) == 0 else FAILED


def _need_credentials(profile: str | None) -> None:
    """Raise `CommandError` without credentials; the CDK would report it in a page of its own."""
    import botocore.session
    from botocore.exceptions import BotoCoreError, NoCredentialsError

    from hourhand.cli.doctor.access import no_access

    try:
        found = botocore.session.Session(profile=profile).get_credentials()
        problem = no_access(NoCredentialsError(), profile) if found is None else None
    except BotoCoreError as error:
        problem = no_access(error, profile)
    if problem is not None:
        raise CommandError(problem.sentence, problem.exit_code)


def settings_given(
    handlers: Path | None, module: str | None, stage: str | None, given: Sequence[str] | None
) -> dict[str, str]:
    """Return the settings of the deployment by name. Raises `typer.BadParameter`."""
    settings: dict[str, str] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"must be NAME=VALUE, not {each!r}", param_hint="--setting")
        settings[name] = value
    if handlers is not None:
        if not handlers.exists():
            raise typer.BadParameter(f"{handlers} does not exist", param_hint="--handlers")
        # The CDK runs in another folder.
        settings["handlers"] = str(handlers.absolute())
    if module is not None:
        settings["handlers_module"] = module
    if stage is not None:
        settings["stage"] = stage
    return settings


def cdk_arguments(
    action: str, settings: Mapping[str, str], profile: str | None, *, is_sure: bool
) -> list[str]:
    """Return the arguments of the CDK's command line after its verb."""
    arguments = ["--app", f"{shlex.quote(sys.executable)} -m {APP}"]
    arguments += ["--output", str(Path.cwd() / "cdk.out")]
    for name, value in settings.items():
        arguments += ["--context", f"{name}={value}"]
    if profile is not None:
        arguments += ["--profile", profile]
    if action == "synth":
        arguments.append("--quiet")
    if action == "deploy" and is_sure:
        arguments += ["--require-approval", "never"]
    return arguments


def place_of(current: Path) -> Place:
    """Return where to run the CDK: in the clone around us, or in a folder of its own."""
    clone = _clone_of(current)
    folder = current / OWN_FOLDER if clone is None else clone
    tools = folder if clone is None else clone / "infra"
    command = tools / "node_modules" / ".bin" / "cdk"
    found = str(command) if command.exists() else shutil.which("cdk")
    return Place(folder=folder, command=found, is_clone=clone is not None)


def missing_for(place: Place) -> Iterator[str]:
    """Yield each missing requirement, and how to install it."""
    ready = f"make synth, in {place.folder}"
    if shutil.which("node") is None:
        yield "Node.js 22 or 24: nodejs.org"
    if place.command is None:
        own = f"npm install --prefix {OWN_FOLDER} aws-cdk"
        yield f"the CDK's command line: {ready if place.is_clone else own}"
    if importlib.util.find_spec("aws_cdk") is None:
        own = "install Hourhand with its extra [infra]"
        yield f"the CDK for Python: {ready if place.is_clone else own}"
    if not place.is_clone and not packed_settings().is_file():
        yield f"{PACKAGE}, a part of hourhand: reinstall hourhand, or use a clone"


def packed_settings() -> Path:
    """Return where an installed package has the CDK's settings: beside the app."""
    found = importlib.util.find_spec(PACKAGE)
    folders = found.submodule_search_locations if found is not None else None
    return Path(*(folders or ["."])[:1]) / SETTINGS


def run_cdk(place: Place, arguments: Sequence[str], region: str | None, **streams: Any) -> int:
    """Run the CDK in its place, on this terminal, and return its exit code."""
    if not place.is_clone:
        place.folder.mkdir(parents=True, exist_ok=True)
        # Each time: the file of an older release may result in another template.
        shutil.copyfile(packed_settings(), place.folder / SETTINGS)
    environment = {
        **os.environ,
        # Neither warnings about Node.js nor telemetry help the user here.
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "18,20",
        "CDK_DISABLE_CLI_TELEMETRY": "1",
    }
    if region is not None:
        environment |= {"AWS_REGION": region, "AWS_DEFAULT_REGION": region}
    process = subprocess.Popen(  # noqa: S603 (the CDK, with what the user typed)
        [place.command or "cdk", *arguments], cwd=place.folder, env=environment, **streams
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        # The terminal interrupted the CDK, too, which may print something before it ends.
        try:
            process.wait(ENDS_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        raise


def _with_outputs(
    session: Session, place: Place, arguments: Sequence[str], region: str | None
) -> int:
    """Deploy, with the output of the CDK on stderr, and print the outputs of each stack."""
    file = Path.cwd() / "cdk.out" / OUTPUTS
    file.unlink(missing_ok=True)
    with_file = [*arguments, "--outputs-file", str(file)]
    if run_cdk(place, with_file, region, stdout=sys.stderr.fileno()) != 0:
        return FAILED
    for stack, outputs in json.loads(file.read_text()).items():
        session.print_json({"stack": stack, "outputs": outputs})
    return DONE


def _clone_of(current: Path) -> Path | None:
    """Return the clone that the current folder is in, or that this is installed from."""
    for folder in (current, *current.parents, *Path(__file__).parents):
        if (folder / SETTINGS).is_file() and (folder / "infra" / "hourhand_cdk").is_dir():
            return folder
    return None
