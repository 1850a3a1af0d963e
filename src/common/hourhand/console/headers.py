"""The security headers of each answer: what the page may load, and which pages may load it.

A job's payload, error or tag is untrusted text. If it ever became markup, no script of it would
run, nothing is fetched for it, and nothing of the page leaves it: the policy allows this server's
own files and API alone.
"""

from __future__ import annotations

from hourhand.loopback import Reply

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # Text can become neither markup nor a script's address, even if the page has a bug.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)

NOTHING_ALLOWED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""For what is read by programs, in case that a browser shows it as a page."""

_FEATURES = ("camera", "clipboard-read", "display-capture", "geolocation", "microphone", "payment")

_COMMON = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": ", ".join(f"{feature}=()" for feature in (*_FEATURES, "usb")),
}


def as_page(reply: Reply) -> Reply:
    """Return ``reply`` as a part of the console's page."""
    return _with_headers(reply, CONTENT_SECURITY_POLICY)


def as_data(reply: Reply) -> Reply:
    """Return ``reply`` as an answer for programs, which no cache keeps."""
    return _with_headers(reply, NOTHING_ALLOWED, {"cache-control": "no-store"})


def _with_headers(reply: Reply, policy: str, more: dict[str, str] | None = None) -> Reply:
    headers = {**_COMMON, "content-security-policy": policy, **(more or {}), **reply.headers}
    return Reply(reply.status, headers, reply.body)
