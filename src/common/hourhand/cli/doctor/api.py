"""The checks of the API: it answers, and it knows the handlers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus

from hourhand.cli.doctor.asking import ApiAnswer, Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import Finding, Look, failed, ok, skipped, warning

API = "API"
HANDLERS = "handlers"
HEALTH_PATH = "/v1/health"
HANDLERS_PATH = "/v1/handlers"

SHOWN_HANDLERS = 5
SHOWN_CHARACTERS = 200


def api_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield the checks of the API."""
    yield Look(API, partial(_health, aws, deployment))
    yield Look(HANDLERS, partial(_handlers, aws, deployment))


def _health(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    url = deployment.output("ApiUrl")
    yield judge_health(url, aws.get_from_api(url, HEALTH_PATH))


def _handlers(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    url = deployment.output("ApiUrl")
    yield judge_handlers(url, aws.get_from_api(url, HANDLERS_PATH))


def judge_health(url: str, answer: ApiAnswer) -> Finding:
    """Judge whether the API answers a signed request."""
    if answer.status == HTTPStatus.OK:
        return ok(API, f"{url} answers")
    return refused(API, HEALTH_PATH, answer)


def judge_handlers(url: str, answer: ApiAnswer) -> Finding:
    """Judge whether the API has the manifest of handlers, and there are some."""
    if answer.status != HTTPStatus.OK:
        return refused(HANDLERS, HANDLERS_PATH, answer)
    names = [handler["name"] for handler in json.loads(answer.body)["handlers"]]
    if not names:
        return warning(
            HANDLERS,
            f"{url} knows no handlers, so it accepts no jobs",
            "Deploy with your handlers: make deploy HANDLERS=path.",
        )
    shown = ", ".join(names[:SHOWN_HANDLERS])
    more = f" and {len(names) - SHOWN_HANDLERS} more" if len(names) > SHOWN_HANDLERS else ""
    return ok(HANDLERS, f"{shown}{more}")


def refused(check: str, path: str, answer: ApiAnswer) -> Finding:
    """Return what an answer other than 200 means."""
    if answer.status == HTTPStatus.FORBIDDEN:
        return failed(
            check,
            f"GET {path} was refused (403): your identity lacks execute-api:Invoke",
            f"Allow it execute-api:Invoke on the API's GET {path}; docs/reference/iam.md has "
            "policies for submitters, operators and readers.",
        )
    if answer.status == HTTPStatus.UNAUTHORIZED:
        return skipped(
            check,
            f"GET {path} wants a JWT (401), and only signatures of AWS can be tried here",
            f"Try it yourself: curl -H 'authorization: Bearer TOKEN' URL{path}",
        )
    said = answer.body[:SHOWN_CHARACTERS].strip()
    return failed(
        check,
        f"GET {path} was answered {answer.status}: {said}",
        "See the log of the function api, its state above, and the API's access log.",
    )
