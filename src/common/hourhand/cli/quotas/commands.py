"""``hourhand quotas``: its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.answers.quotas import Quota
from hourhand.cli.helping import Noun
from hourhand.cli.options import option
from hourhand.cli.output.harmless import cell
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.jobs.quotas import QuotaKind

quotas = Noun(
    name="quotas",
    help="List, set and remove quotas: how many jobs a tenant or a caller may submit and have.",
)


KindArgument = Annotated[
    QuotaKind, typer.Argument(metavar="KIND", help="Whose quota: tenant or caller.")
]
NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of the tenant, or identity of the caller, such as its ARN. A caller that ends "
        "with * is all callers whose identities begin so, such as the sessions of a role.",
    ),
]


@quotas.command("list")
@verb(example="hourhand quotas list", prints=(Quota,))
def list_quotas(session: Session) -> None:
    """List all quotas, by kind and name."""
    for one in session.client.quotas():
        _show(session, one)


@quotas.command("set")
@verb(
    example="hourhand quotas set tenant acme --accepted-per-minute 600",
    changes=True,
    prints=(Quota,),
)
def set_quota(
    session: Session,
    kind: KindArgument,
    name: NameArgument,
    accepted_per_minute: Annotated[
        int | None, option("N", "Jobs that are accepted in a minute.", min=0)
    ] = None,
    live: Annotated[
        int | None, option("N", "At how many live jobs no other is accepted.", min=0)
    ] = None,
) -> None:
    """Set a quota in the place of the one before. Every process knows it within 30 s.

    A request beyond the quota is refused with 429. Runs and schedules of the tenant wait instead.
    """
    session.agree()
    bounds = {"accepted_per_minute": accepted_per_minute, "live": live}
    _show(session, session.client.put_quota(kind.value, name, **bounds))


@quotas.command("remove")
@verb(example="hourhand quotas remove tenant acme", changes=True)
def remove(session: Session, kind: KindArgument, name: NameArgument) -> None:
    """Remove a quota. Every process knows it within 30 s."""
    session.agree()
    session.client.delete_quota(kind.value, name)
    session.print(cell(f"{kind.value} {name}  has no quota"))


def _show(session: Session, quota: Quota) -> None:
    if session.gives_json(quota):
        return
    bounds = {"accepted a minute": quota.accepted_per_minute, "live": quota.live}
    words = [f"{bound:,} {what}" for what, bound in bounds.items() if bound is not None]
    session.print(cell(f"{quota.kind} {quota.name}  {', '.join(words)}"))
