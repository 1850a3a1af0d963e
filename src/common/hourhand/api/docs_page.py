"""The page that shows the OpenAPI document. Swagger UI and its styles are in the page itself.

Powertools brings Swagger UI along (Apache-2.0). Its own page lets the UI ask for the document
again, at an address of Powertools' routing, and has no content security policy; this one holds
the document, names no validation service (Swagger UI's default is a third party's) and has one.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from hourhand.api.http_response import Answer

_ASSETS = "aws_lambda_powertools.event_handler.openapi.swagger_ui"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hourhand API</title>
<link rel="icon" href="data:,">
<style>{styles}</style>
</head>
<body>
<div id="swagger-ui"></div>
<script>{library}</script>
<script>{start}</script>
</body>
</html>
"""

_START = """SwaggerUIBundle({{
  dom_id: "#swagger-ui", spec: {document}, docExpansion: "list", filter: true,
  presets: [SwaggerUIBundle.presets.apis], layout: "BaseLayout", validatorUrl: null{options}
}});"""
_READ_ONLY = ", supportedSubmitMethods: []"


def docs_page(document: dict[str, Any], *, can_send: bool = True) -> Answer:
    """Return the page of ``document``. Its policy lets a browser load nothing from elsewhere.

    ``can_send``: whether the page offers to send requests ("Try it out").
    """
    assets = resources.files(_ASSETS)
    library = (assets / "swagger-ui-bundle.min.js").read_text(encoding="utf-8")
    styles = (assets / "swagger-ui.min.css").read_text(encoding="utf-8")
    # "</" could end the script early; JSON allows its slash to be escaped.
    text = json.dumps(document).replace("</", "<\\/")
    start = _START.format(document=text, options="" if can_send else _READ_ONLY)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_source(library)} {_source(start)}",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
    return Answer(
        status=200,
        body=_PAGE.format(styles=styles, library=library, start=start),
        headers={"content-type": "text/html; charset=utf-8", "content-security-policy": policy},
    )


def _source(script: str) -> str:
    """Return the name by which a policy allows this very script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
