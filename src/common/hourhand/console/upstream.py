"""The deployed API behind a console: it forwards requests, signed, and bounds the answers.

What goes there is a method, a path below ``/v1``, a query and a JSON body; what comes back is a
status, four headers and JSON. Nothing else passes in either direction: no cookies, no redirects,
none of the headers that a browser sends.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import parse_qsl, quote, urlencode

import httpx

from hourhand.api.http_response import JSON
from hourhand.api.problems import PROBLEM_JSON
from hourhand.client._authorisation import Authorise
from hourhand.client._endpoint import Endpoint
from hourhand.client._values import NotConfigured
from hourhand.console.headers import as_data
from hourhand.loopback import Reply, Request, problem_reply

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
PLACES = frozenset(
    {
        *("audit", "jobs", "dead-letters", "schedules", "calendars", "handlers", "callbacks"),
        *("limits", "quotas", "graphs", "batches", "stats", "resweep", "health", "openapi.json"),
    }
)
"""What there is right below ``/v1``. The docs' page is not: HTML from elsewhere is not shown."""

RETURNED_HEADERS = ("content-type", "retry-after", "allow", "apigw-requestid")
MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""API Gateway answers with at most 10 MB, a Lambda function with 6."""

MAX_CONNECTIONS = 32
USER_AGENT = "hourhand-console"

NO_API = "no_api_answer"
NO_CREDENTIALS = "no_credentials"

# Letters, digits and what ids hold; encoded characters too, but for those that make other paths.
_PATH = re.compile(
    r"/v1/(?:[A-Za-z0-9._~:@+-]|%(?!2[EeFf]|5[Cc]|[01][0-9A-Fa-f]|7[Ff])[0-9A-Fa-f]{2}|/(?!/))+"
)
_QUERY = re.compile(r"[!\"$-~]*")


class _Failed(Exception):
    """There is no answer that could be passed on."""

    def __init__(self, status: HTTPStatus, detail: str, code: str = NO_API) -> None:
        self.reply = as_data(problem_reply(status, detail, code=code))
        super().__init__(detail)


class Upstream:
    """Forwards requests to the API at ``endpoint``, each newly signed."""

    def __init__(
        self,
        endpoint: Endpoint,
        authorise: Authorise,
        *,
        timeout_seconds: float,
        transport: httpx.BaseTransport | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to nothing yet."""
        self.endpoint = endpoint.url
        self._authorise = authorise
        self._timeout_seconds = timeout_seconds
        self._monotonic = monotonic
        self._client = httpx.Client(
            timeout=timeout_seconds,
            transport=transport,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=MAX_CONNECTIONS),
            # A proxy of the environment is for other hosts, not for this machine.
            trust_env=not endpoint.is_loopback,
            # What the API sets is not kept: one request must not change the next.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def forward(self, request: Request) -> Reply:
        """Return what the API answers, or a problem that says why there is no answer."""
        try:
            _check(request)
            return as_data(self._exchange(request))
        except _Failed as failed:
            return failed.reply

    def _exchange(self, request: Request) -> Reply:
        give_up_at = self._monotonic() + self._timeout_seconds
        content = request.body or None
        try:
            url = self._url(request)
            headers = self._headers(request, url)
            with self._client.stream(
                request.method, url, headers=headers, content=content
            ) as response:
                _check_kind(response)
                body = self._read(response, give_up_at)
                return Reply(response.status_code, _returned_headers(response), body)
        except httpx.TimeoutException as error:
            raise self._too_slow() from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            detail = f"{self.endpoint} did not answer: {reason}."
            raise _Failed(HTTPStatus.BAD_GATEWAY, detail) from error
        except NotConfigured as error:
            raise _Failed(HTTPStatus.BAD_GATEWAY, error.detail, NO_CREDENTIALS) from error

    def _url(self, request: Request) -> str:
        path, _, query = request.target.partition("?")
        # In one of the ways in which a query may be written, so that all sign the same.
        pairs = urlencode(parse_qsl(query, keep_blank_values=True), quote_via=quote)
        return str(httpx.URL(f"{self.endpoint}{path}{'?' if pairs else ''}{pairs}"))

    def _headers(self, request: Request, url: str) -> dict[str, str]:
        sent = {"user-agent": USER_AGENT, "accept": JSON, "accept-encoding": "identity"}
        if request.body:
            sent["content-type"] = JSON
        return {**sent, **self._authorise.headers(request.method, url, request.body or None)}

    def _read(self, response: httpx.Response, give_up_at: float) -> bytes:
        # A limit for each read alone would let an answer drip in for ever.
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                detail = f"{self.endpoint} answered with more than {MAX_ANSWER_BYTES:,} bytes."
                raise _Failed(HTTPStatus.BAD_GATEWAY, detail)
            if self._monotonic() > give_up_at:
                raise self._too_slow()
        return bytes(body)

    def _too_slow(self) -> _Failed:
        detail = f"{self.endpoint} did not answer within {self._timeout_seconds:g} s."
        return _Failed(HTTPStatus.GATEWAY_TIMEOUT, detail)


def _check(request: Request) -> None:
    """Raise for a request that the API does not have."""
    if request.method not in METHODS:
        allowed = ", ".join(sorted(METHODS))
        detail = f"{request.method} is not forwarded, only {allowed} are."
        raise _Failed(HTTPStatus.METHOD_NOT_ALLOWED, detail, "method_not_allowed")
    path, _, query = request.target.partition("?")
    is_plain = _PATH.fullmatch(path) and _QUERY.fullmatch(query)
    segments = path.split("/")
    if not is_plain or {".", ".."} & set(segments) or segments[2] not in PLACES:
        raise _Failed(HTTPStatus.NOT_FOUND, "The API has no such route.", "not_found")
    if request.body and request.headers.get_content_type() != JSON:
        # What a form of another page could send is none.
        detail = f"A body must be {JSON}."
        raise _Failed(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail, "unsupported_media_type")


def _returned_headers(response: httpx.Response) -> dict[str, str]:
    return {name: response.headers[name] for name in RETURNED_HEADERS if name in response.headers}


def _check_kind(response: httpx.Response) -> None:
    """Refuse an answer that Hourhand's API never sends: it would be another server's page."""
    if response.is_redirect:
        detail = (
            "The API answered with a redirect. The console sends credentials to no other address."
        )
        raise _Failed(HTTPStatus.BAD_GATEWAY, detail)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {JSON, PROBLEM_JSON} and response.status_code != HTTPStatus.NO_CONTENT:
        said = f"status {response.status_code} and {kind or 'no content type'}"
        detail = f"The answer is not from Hourhand's API: {said}. Check the endpoint."
        raise _Failed(HTTPStatus.BAD_GATEWAY, detail)
