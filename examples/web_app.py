r"""A web app: each sign-up submits a job, so that the visitor does not wait for the mail server.

Three terminals, in the checkout:

    $ .venv/bin/hourhand dev --handlers examples.web_app
    $ .venv/bin/flask --app examples.web_app run
    $ curl -s http://127.0.0.1:5000/sign-ups -H 'content-type: application/json' \
        -d '{"email": "ada@example.org", "name": "Ada"}'

The answer has the URL at which a page can ask how the job is doing.
"""

from __future__ import annotations

import hashlib
from typing import Any

from flask import Flask, request, url_for
from pydantic import BaseModel, ValidationError

from hourhand import Client, JobContext, Retry, job
from hourhand.client import ClientError, NotFound


class SignUp(BaseModel):
    email: str
    name: str


@job("confirm-sign-up", timeout=30, retry=Retry(max_attempts=8))
def confirm_sign_up(ctx: JobContext, payload: SignUp) -> dict[str, str]:
    ctx.logger.info("Sending a confirmation.")
    return {"sent_to": payload.email}


def create_app(client: Client | None = None) -> Flask:
    """Build the app. A test gives it the client of `hourhand.testing`."""
    app = Flask(__name__)
    jobs = client or Client()

    @app.post("/sign-ups")
    def sign_up() -> tuple[dict[str, Any], int]:
        try:
            body = SignUp.model_validate(request.get_json(silent=True))
        except ValidationError:
            return {"error": "The body must have an email and a name."}, 422
        # A browser that repeats the request gets the first job, and sends no second mail.
        key = "confirm-" + hashlib.sha256(body.model_dump_json().encode()).hexdigest()
        submitted = jobs.submit("confirm-sign-up", body, idempotency_key=key)
        return {"job": submitted.id, "url": url_for("status", job_id=submitted.id)}, 202

    @app.get("/sign-ups/<job_id>")
    def status(job_id: str) -> dict[str, Any]:
        found = jobs.get(job_id)
        return {"status": found.status, "result": found.result}

    @app.errorhandler(NotFound)
    def not_found(_: NotFound) -> tuple[dict[str, str], int]:
        return {"error": "There is no such sign-up."}, 404

    @app.errorhandler(ClientError)
    def unavailable(_: ClientError) -> tuple[dict[str, str], int]:
        return {"error": "The sign-up could not be saved. Try again."}, 503

    return app
