"""Access to a console that acts with a user's credentials: a browser tab needs its token.

All users and programs of a machine share loopback. So each start draws a token. The printed address
carries it in the fragment, which a browser sends to no server. The page keeps it in the tab's
sessionStorage and sends it as a header. Storage belongs to one origin, port included; a cookie
would be sent to every port of 127.0.0.1, and so to every other program that listens there.
"""

from __future__ import annotations

import hmac
from http import HTTPStatus

from hourhand.console.headers import as_data
from hourhand.console.pages import ABOUT, DOCS, HOME, READING
from hourhand.loopback import Reply, Request, problem_reply

TOKEN_CODE = "console_token"  # noqa: S105 - a problem's name
TOKEN_FIELD = "token"  # noqa: S105 - a parameter's name
TOKEN_HEADER = "x-hourhand-console-token"  # noqa: S105 - a header's name
"""A page of another origin cannot send it: the browser's preflight request is refused."""

_HOW = "Open the address that `hourhand console` printed when it started."


class Access:
    """Answers requests that carry the token. One for each running console."""

    def __init__(self, token: str) -> None:
        """Take the token."""
        self._token = token

    def check(self, request: Request) -> Reply | None:
        """Return ``None`` for a request that may be answered, else its refusal."""
        if _is_public(request) or self._has_token(request):
            return None
        detail = f"The console's token is missing or wrong. {_HOW}"
        return as_data(problem_reply(HTTPStatus.FORBIDDEN, detail, code=TOKEN_CODE))

    def _has_token(self, request: Request) -> bool:
        sent = request.headers.get_all(TOKEN_HEADER) or []
        return len(sent) == 1 and hmac.compare_digest(
            sent[0].encode("utf-8", "replace"), self._token.encode()
        )


def _is_public(request: Request) -> bool:
    """Whether a request reads what every installation of this version has: the page's own files.

    They are public because a browser loads them before the page can send a header. They say
    nothing about the API behind the console.
    """
    path = request.path
    is_file = path in {"/", HOME.rstrip("/"), DOCS} or path.startswith(HOME)
    return request.method in READING and is_file and path != ABOUT
