"""The console's own answers: the page, its files, and the description of its API."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path

from hourhand.console.assets import STATIC_FOLDER, Asset, read_assets
from hourhand.console.headers import as_data, as_page
from hourhand.loopback import Reply, Request, problem_reply

HOME = "/console/"
ABOUT = f"{HOME}about.json"
STATIC = f"{HOME}static/"
INDEX = "index.html"
DOCS = "/v1/docs"
"""The page of the API's document, as this version knows it."""

READING = frozenset({"GET", "HEAD"})

_NO_PAGE = "This installation has no console: its files are missing."


@dataclass(frozen=True, slots=True)
class About:
    """The page's settings. ``endpoint`` is ``None`` if this server also serves the API.

    ``is_production``: the user said so, whatever the API answers of its stage.
    """

    endpoint: str | None = None
    read_only: bool = False
    is_production: bool = False


class Pages:
    """Answers for every path of the console, and leaves the others alone."""

    def __init__(self, about: About, folder: Path = STATIC_FOLDER) -> None:
        """Read the files once; they are read again whenever the page is loaded."""
        self._about = about
        self._folder = folder
        self._assets = read_assets(folder)

    def find(self, request: Request) -> Reply | None:
        """Return the answer, or ``None`` for a path that is not the console's."""
        path = request.path
        if path in {"/", "/console"} and request.method in READING:
            return as_data(Reply(HTTPStatus.FOUND, {"location": HOME}))
        if not path.startswith(HOME):
            return None
        if request.method not in READING:
            told = problem_reply(
                HTTPStatus.METHOD_NOT_ALLOWED, "The console accepts only GET and HEAD."
            )
            return as_data(Reply(told.status, {**told.headers, "allow": "GET, HEAD"}, told.body))
        if path == ABOUT:
            body = json.dumps(asdict(self._about)).encode()
            return as_data(Reply(HTTPStatus.OK, {"content-type": "application/json"}, body))
        if path.startswith(STATIC):
            asset = self._assets.get(path.removeprefix(STATIC))
            return _sent(request, asset, "The console does not have this file.")
        return self._page(request)

    def _page(self, request: Request) -> Reply:
        """Every other address is a view's, which the page itself finds."""
        # So that all files fit together after an upgrade, or while a developer edits one.
        self._assets = read_assets(self._folder)
        return _sent(request, self._assets.get(INDEX), _NO_PAGE)


def _sent(request: Request, asset: Asset | None, otherwise: str) -> Reply:
    if asset is None:
        return as_data(problem_reply(HTTPStatus.NOT_FOUND, otherwise))
    # Revalidation costs nothing on loopback, and rules out stale files.
    headers = {"etag": asset.tag, "cache-control": "no-cache"}
    if _is_known(asset, request.headers.get_all("if-none-match") or []):
        return as_page(Reply(HTTPStatus.NOT_MODIFIED, headers))
    return as_page(
        Reply(HTTPStatus.OK, {**headers, "content-type": asset.content_type}, asset.body)
    )


def _is_known(asset: Asset, fields: list[str]) -> bool:
    """Whether the browser has the file as it is (RFC 9110, 13.1.2: compared weakly)."""
    tags = {tag.strip().removeprefix("W/") for field in fields for tag in field.split(",")}
    return asset.tag in tags or "*" in tags
