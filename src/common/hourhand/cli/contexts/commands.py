"""``hourhand context``: its verbs."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from rich.text import Text

from hourhand.cli.completing import context_names
from hourhand.cli.contexts.store import (
    Context,
    Contexts,
    contexts_file,
    read_contexts,
    write_contexts,
)
from hourhand.cli.exits import NOT_FOUND, REFUSED, WRONG_USAGE
from hourhand.cli.helping import Noun
from hourhand.cli.options import argument, option
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column
from hourhand.cli.session import PRODUCTION_STYLE, Session
from hourhand.cli.verbs import verb

COLUMNS = (
    Column(""),
    Column("NAME"),
    Column("ENDPOINT", is_flexible=True),
    Column("PROFILE", rank=2),
    Column("REGION", rank=3),
    Column("STACK", rank=4),
    Column("KIND", rank=1),
)
OVERRIDES = ("HOURHAND_CONTEXT", "HOURHAND_ENDPOINT", "HOURHAND_PROFILE", "HOURHAND_REGION")
"""Variables that take precedence over the current context."""

context = Noun(
    name="context", help="Store deployments under names, and choose the one that commands use."
)


ContextName = Annotated[str, argument("NAME", "Name of the context.", context_names)]


@context.command("add")
@verb(
    example="hourhand context add prod --endpoint https://jobs.example.org --profile ops "
    "--production",
    codes={WRONG_USAGE: "wrong usage, or a damaged file", REFUSED: "the name is taken"},
    asks_api=False,
    tells_times=False,
)
def add(  # noqa: PLR0913, PLR0917 (Typer makes its arguments the flags)
    session: Session,
    name: ContextName,
    endpoint: Annotated[
        str | None, option("URL", "URL of the API: the output ApiUrl of the stack.")
    ] = None,
    profile: Annotated[str | None, option("NAME", "Profile of the AWS configuration.")] = None,
    region: Annotated[str | None, option("REGION", "AWS Region.")] = None,
    stack: Annotated[str | None, option("NAME", "CloudFormation stack of the deployment.")] = None,
    production: Annotated[
        bool,
        typer.Option(
            "--production",
            help="Mark the context red, and ask before every change in it.",
        ),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a context of the same name.")
    ] = False,
    use: Annotated[bool, typer.Option("--use", help="Use the context from now on.")] = False,
) -> None:
    """Store a deployment under a name.

    Options and environment variables take precedence over what a context stores. The file holds no
    credentials. It is contexts.json in $XDG_CONFIG_HOME/hourhand, or in ~/.config/hourhand.
    """
    added = Context(
        endpoint=_checked(endpoint),
        profile=profile,
        region=region,
        stack=stack,
        is_production=production,
    )
    if added in {Context(), Context(is_production=True)}:
        raise typer.BadParameter("give --endpoint, --profile, --region or --stack")
    contexts = read_contexts().with_added(name, added, replaces=replace)
    write_contexts(_using(contexts, name) if use else contexts)
    if session.is_json:
        session.print_json(_as_record(name, added, is_current=use))
        return
    session.print_text(f"Added {contexts.named(name)} to {contexts_file()}.")
    if use:
        _warn_of_overrides(session)
    else:
        session.remark(f"`hourhand context use {name}` uses it from now on.")


@context.command("use")
@verb(
    example="hourhand context use prod",
    codes={WRONG_USAGE: "wrong usage, or a damaged file", NOT_FOUND: "no such context"},
    asks_api=False,
    tells_times=False,
)
def use(
    session: Session,
    name: Annotated[str | None, argument("NAME", "Name of the context.", context_names)] = None,
    none: Annotated[
        bool, typer.Option("--none", help="Use no context: call `hourhand dev` by default.")
    ] = False,
) -> None:
    """Use a context from now on, in every terminal.

    `--context NAME` and HOURHAND_CONTEXT choose a context for one command or one terminal.
    """
    if none == (name is not None):
        raise typer.BadParameter("give either a name or --none", param_hint="NAME")
    contexts = _using(read_contexts(), name)
    write_contexts(contexts)
    chosen = contexts.in_use
    if session.is_json:
        session.print_json({"current": name})
    elif chosen is None:
        session.print_text("No context is in use.")
    else:
        style = PRODUCTION_STYLE if chosen.context.is_production else ""
        session.print_text(f"Commands now act in {chosen}.", style)
        _warn_of_overrides(session)


@context.command("list")
@verb(
    example="hourhand context list",
    codes={WRONG_USAGE: "wrong usage, or a damaged file"},
    asks_api=False,
    tells_times=False,
)
def list_contexts(session: Session) -> None:
    """List the contexts. A star marks the one in use; production contexts are red."""
    contexts = read_contexts()
    rows = sorted(contexts.contexts.items())
    if session.is_json:
        for name, each in rows:
            session.print_json(_as_record(name, each, is_current=name == contexts.current))
    elif rows:
        session.print_table(
            COLUMNS,
            [_row(name, each, is_current=name == contexts.current) for name, each in rows],
            without_empty=True,
        )
    else:
        session.remark("There is no context. `hourhand context add` adds one.")


@context.command("remove")
@verb(
    example="hourhand context remove staging",
    codes={WRONG_USAGE: "wrong usage, or a damaged file", NOT_FOUND: "no such context"},
    asks_api=False,
    tells_times=False,
)
def remove(session: Session, name: ContextName) -> None:
    """Remove a context. The deployment itself does not change."""
    write_contexts(read_contexts().without(name))
    if session.is_json:
        session.print_json({"name": name, "removed": True})
    else:
        session.print_text(f"Removed the context {name}.")


def _checked(endpoint: str | None) -> str | None:
    """Return the URL as the client takes it. Raises `NotConfigured`."""
    if endpoint is None:
        return None
    from hourhand.client import find_endpoint

    return find_endpoint(endpoint).url


def _using(contexts: Contexts, name: str | None) -> Contexts:
    if name is not None:
        contexts.named(name)
    return Contexts(current=name, contexts=contexts.contexts)


def _warn_of_overrides(session: Session) -> None:
    for name in OVERRIDES:
        if os.environ.get(name):
            session.remark(f"{name} is set here, and takes precedence over the context.", "yellow")


def _row(name: str, context: Context, *, is_current: bool) -> list[Text]:
    style = PRODUCTION_STYLE if context.is_production else ""
    cells = (
        "*" if is_current else "",
        name,
        context.endpoint or "",
        context.profile or "",
        context.region or "",
        context.stack or "",
        "production" if context.is_production else "",
    )
    return [cell(text, style) for text in cells]


def _as_record(name: str, context: Context, *, is_current: bool) -> dict[str, Any]:
    return {
        "name": name,
        "endpoint": context.endpoint,
        "profile": context.profile,
        "region": context.region,
        "stack": context.stack,
        "production": context.is_production,
        "current": is_current,
    }
