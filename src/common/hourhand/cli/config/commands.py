"""``hourhand config``: its verbs, and what they print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hourhand.aws.worker_shares import LEAST_WORKER_CONCURRENCY, MOST_WORKER_CONCURRENCY
from hourhand.cli.connection import DeploymentFlags
from hourhand.cli.exits import (
    FAILED,
    NO_ACCESS,
    NOT_FOUND,
    REFUSED,
    WRONG_USAGE,
    CommandError,
)
from hourhand.cli.helping import Noun
from hourhand.cli.options import argument
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

if TYPE_CHECKING:
    # `hourhand --help` imports this file, and must not load boto3.
    from hourhand.cli.config.event_sources import Concurrency

WORKER_CONCURRENCY = "worker_concurrency"
NONE = "none"
ACTING_SECONDS = 30

COLUMNS = (
    Column("SETTING"),
    Column("PRESENT", is_number=True),
    Column("DEPLOYED", is_number=True),
    Column("HIGH", rank=1, is_number=True),
    Column("MEDIUM", rank=1, is_number=True),
    Column("LOW", rank=1, is_number=True),
)
CODES = {
    FAILED: "AWS refused a call",
    WRONG_USAGE: "wrong usage",
    NOT_FOUND: "no such stack",
    **NO_ACCESS,
}

config = Noun(
    name="config", help="Show and change settings of a deployment that need no deployment."
)


@config.command("show")
@verb(
    example="hourhand config show --stack hourhand-prod",
    codes=CODES,
    asks_api=False,
    tells_times=False,
)
def show(session: Session, flags: DeploymentFlags) -> None:
    """Show the present values of these settings beside those of the last deployment.

    The settings are: worker_concurrency, the workers at a time, with its share for each priority.
    """
    _, concurrency = _read(session, flags)
    if session.is_json:
        session.print_json(_as_record(flags.stack_name, concurrency))
        return
    shares = [_text(concurrency.present[name]) for name in ("high", "medium", "low")]
    present, deployed = concurrency.total, concurrency.deployed
    row = [WORKER_CONCURRENCY, present or "by hand", deployed or "unknown", *shares]
    session.print_table(COLUMNS, [row])
    if concurrency.has_pollers:
        session.remark("The queues have provisioned pollers, which only a deployment changes.")
    elif deployed is None:
        session.remark("The stack does not say what was deployed: deploy this version.", "yellow")
    elif present != deployed:
        session.remark(_how_to_keep(deployed, present), "yellow")


@config.command("set")
@verb(
    example="hourhand config set worker_concurrency=400 --stack hourhand-prod",
    codes={
        **CODES,
        FAILED: "AWS refused a call: run the command again; or you did not confirm",
        REFUSED: "a deployment is running, or only a deployment can change the setting",
    },
    asks_api=False,
    tells_times=False,
    changes=True,
)
def set_setting(
    session: Session,
    flags: DeploymentFlags,
    setting: Annotated[
        str,
        argument(
            "NAME=VALUE",
            "worker_concurrency=N, 14 to 2,000 workers at a time, or worker_concurrency=none "
            "for no limit.",
        ),
    ],
) -> None:
    """Change a setting within minutes, without a deployment and without a checkout.

    The only setting is worker_concurrency. It is divided among the event sources of the three
    queues as a deployment divides it. The next deployment that touches the event sources sets it
    back, unless you change the setting there, too. The quota of the account must allow the number.
    """
    wanted = read_setting(setting)
    from hourhand.cli.config.event_sources import change
    from hourhand.cli.doctor.asking import open_aws
    from hourhand.cli.doctor.findings import NotSeen

    is_settled, before = _read(session, flags)
    if not is_settled:
        message = f"A deployment of {flags.stack_name} is running. Wait until it ends."
        raise CommandError(message, REFUSED)
    told = _text(wanted)
    if before.has_pollers:
        raise CommandError(
            "The queues have provisioned pollers, which only a deployment changes: "
            f"hourhand deploy -c {WORKER_CONCURRENCY}={told}",
            REFUSED,
        )
    try:
        after = change(open_aws(flags, session.clock, seconds=ACTING_SECONDS), before, wanted)
    except NotSeen as hindrance:
        raise hindrance.as_error() from hindrance
    if session.is_json:
        was = {"was": before.total, "was_event_sources": dict(before.present)}
        session.print_json({**_as_record(flags.stack_name, after), **was})
        return
    session.print_text(
        f"{WORKER_CONCURRENCY} of {flags.stack_name}: {before.total or 'by hand'} -> {told}. "
        "Lambda applies it within minutes."
    )
    if before.deployed != told:
        session.remark(_how_to_keep(before.deployed, told), "yellow")


def read_setting(text: str) -> int | None:
    """Return the value of ``worker_concurrency=N``. Raises `typer.BadParameter`."""
    name, equals, value = text.partition("=")
    hint = "NAME=VALUE"
    if not equals:
        message = f"must be NAME=VALUE such as {WORKER_CONCURRENCY}=400, not {text!r}"
        raise typer.BadParameter(message, param_hint=hint)
    if name != WORKER_CONCURRENCY:
        raise typer.BadParameter(
            f"{name!r} cannot be set here, only {WORKER_CONCURRENCY}. For another setting, deploy: "
            f"hourhand deploy -c {text}",
            param_hint=hint,
        )
    if value == NONE:
        return None
    is_number = value.isascii() and value.isdigit()
    if not is_number or not LEAST_WORKER_CONCURRENCY <= int(value) <= MOST_WORKER_CONCURRENCY:
        raise typer.BadParameter(
            f"{name} must be {NONE}, or {LEAST_WORKER_CONCURRENCY} to {MOST_WORKER_CONCURRENCY:,} "
            f"(each queue needs at least 2), not {value!r}",
            param_hint=hint,
        )
    return int(value)


def _read(session: Session, flags: DeploymentFlags) -> tuple[bool, Concurrency]:
    """Return whether no deployment is running, and the present values. Raises `CommandError`."""
    from hourhand.cli.config.event_sources import read_concurrency
    from hourhand.cli.doctor.deployment import opened_deployment

    opened = opened_deployment(flags, session.clock, seconds=ACTING_SECONDS)
    with opened as (aws, deployment, is_settled):
        return is_settled, read_concurrency(aws, deployment)


def _how_to_keep(deployed: str | None, present: str | None) -> str:
    back = "" if deployed is None else f" to {deployed}"
    kept = "" if present is None else f" To keep {present}: hourhand deploy -c "
    kept += "" if present is None else f"{WORKER_CONCURRENCY}={present}"
    return (
        f"The next deployment that touches the event sources sets it back{back}, unless the "
        f"setting is changed there.{kept}"
    )


def _as_record(stack: str, concurrency: Concurrency) -> dict[str, Any]:
    return {
        "stack": stack,
        "setting": WORKER_CONCURRENCY,
        "present": concurrency.total,
        "deployed": concurrency.deployed,
        "event_sources": dict(concurrency.present),
        "provisioned_pollers": concurrency.has_pollers,
    }


def _text(value: int | None) -> str:
    return NONE if value is None else str(value)
