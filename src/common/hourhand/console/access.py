"""Who may use a console that acts with somebody's credentials: whoever was given its address.

Loopback is shared by all users and programs of a machine. So each start draws a token. The address
that is printed carries it; the first visit exchanges it for a cookie, which no script reads and no
other site's page sends along, and it leaves the address bar.
"""

from __future__ import annotations

import hmac
from html import escape
from http import HTTPStatus
from urllib.parse import parse_qs, quote

from hourhand.console.headers import as_data, as_page
from hourhand.console.loopback import Reply, Request, problem_reply
from hourhand.console.pages import HOME, READING

TOKEN_CODE = "console_token"  # noqa: S105 - a problem's name
TOKEN_FIELD = "token"  # noqa: S105 - a parameter's name
OWN_SITE = frozenset({"same-origin", "none"})
"""What a browser says (Sec-Fetch-Site) of what its own user, or this very page, asked for."""

_HTML = "text/html; charset=utf-8"
_HOW = "Open the address that `hourhand console` printed when it was started."
_UNQUOTED = "/-._~:@!$&'()*+,;=%"
_REFUSAL = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Hourhand console: not opened</title>
</head>
<body>
<main>
<h1>This browser was not let in</h1>
<p>{_HOW.replace("`hourhand console`", "<code>hourhand console</code>")}</p>
<p>It ends in a token that is new at each start, so an older address does not open it,
and neither does the address without one.</p>
<p>If it was let in before, and you came by a link from another site: <a href="">go on</a>.</p>
</main>
</body>
</html>
"""
# The browser goes on by itself, from a page of this site: sent on by a redirect after a link from
# elsewhere, it would keep the cookie back (SameSite=Strict looks at where the way began).
_WELCOME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="0; url={address}">
<title>Hourhand console</title>
</head>
<body>
<p><a href="{address}">To the console</a></p>
</body>
</html>
"""


class Access:
    """Lets in who shows the token. One for each running console."""

    def __init__(self, token: str) -> None:
        """Take the token."""
        self._token = token

    def check(self, request: Request) -> Reply | None:
        """Return ``None`` for a request that may be answered, else the answer that it gets."""
        if self._shows_token(request):
            return self._welcome(request)
        site = request.headers.get("sec-fetch-site", "none").lower()
        # A link from elsewhere may open the page, which then asks for itself; nothing else may.
        if site not in OWN_SITE and not _is_navigation(request):
            return _refusal(request, "Another site's page may not ask this server.")
        if self._is_known(request):
            return None
        return _refusal(request, f"The console's token is missing or wrong. {_HOW}")

    def _shows_token(self, request: Request) -> bool:
        path, _, query = request.target.partition("?")
        shown = parse_qs(query).get(TOKEN_FIELD, [""])[-1]
        is_page = path == "/" or path.startswith(HOME)
        return is_page and request.method == "GET" and self._is_token(shown)

    def _welcome(self, request: Request) -> Reply:
        path = HOME if request.path == "/" else request.path
        address = escape(quote(path, safe=_UNQUOTED))
        cookie = f"{_cookie_name(request)}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        headers = {"content-type": _HTML, "set-cookie": cookie, "cache-control": "no-store"}
        body = _WELCOME.format(address=address).encode()
        return as_page(Reply(HTTPStatus.OK, headers, body))

    def _is_known(self, request: Request) -> bool:
        pairs = ";".join(request.headers.get_all("cookie") or []).split(";")
        named = (pair.strip().partition("=") for pair in pairs)
        own = _cookie_name(request)
        return any(self._is_token(value) for name, _, value in named if name == own)

    def _is_token(self, shown: str) -> bool:
        return hmac.compare_digest(shown.encode("utf-8", "replace"), self._token.encode())


def _cookie_name(request: Request) -> str:
    """Return a name with the port in it: cookies know none, and consoles may stand side by side."""
    port = request.headers["host"].rpartition(":")[2]
    return f"hourhand-console-{port}" if port.isdigit() else "hourhand-console"


def _is_navigation(request: Request) -> bool:
    mode = request.headers.get("sec-fetch-mode", "").lower()
    return mode == "navigate" and request.method in READING and not request.path.startswith("/v1")


def _refusal(request: Request, detail: str) -> Reply:
    if request.path.startswith("/v1") or request.method not in READING:
        return as_data(problem_reply(HTTPStatus.FORBIDDEN, detail, code=TOKEN_CODE))
    headers = {"content-type": _HTML, "cache-control": "no-store"}
    return as_page(Reply(HTTPStatus.FORBIDDEN, headers, _REFUSAL.encode()))
