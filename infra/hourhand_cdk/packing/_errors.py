"""What packing refuses, and what went wrong while it worked."""

from __future__ import annotations

from hourhand.domain.errors import HourhandError


class PackingError(HourhandError):
    """What was given cannot be packed."""

    code = "packing_failed"
    status = 422


class InstallFailed(PackingError):
    """The requirements could not be installed."""

    code = "install_failed"


class HandlersFailed(PackingError):
    """The handlers could not be imported from what was packed."""

    code = "handlers_failed"
