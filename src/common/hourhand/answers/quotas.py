"""Quotas: how many jobs a tenant or a caller may submit and have."""

from typing import Annotated

from hourhand.answers.answered import Answered


class Quota(Answered):
    """The quota of one tenant or caller. Null: no bound."""

    kind: Annotated[str, ("tenant", "caller")]
    name: str
    accepted_per_minute: Annotated[int | None, "How many jobs are accepted in each minute."]
    live: Annotated[
        int | None,
        "At how many live jobs no other is accepted: jobs due within five minutes, or earlier, "
        "that have not ended.",
    ]


class Quotas(Answered):
    """All quotas, by kind and name."""

    quotas: tuple[Quota, ...]
