"""What the page on deploying says of prices holds, and its requests are signed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
REGION = "eu-central-1"
TOKENS = [pytest.param("", id="of-a-user"), pytest.param("session/token==", id="of-a-session")]
LEAST_CURL = (7, 75)


def _section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def _blocks(language: str, text: str = PAGE) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


# --- costs --------------------------------------------------------------------------------------

_PRICED = re.compile(r"^\| (.+?) \| ([\d.,x/+ ]+) \| ([\d.,]+) \|$", re.M)
_TOTAL = re.compile(r"^\| \*\*in all\*\* \| \| \*\*([\d.,]+)\*\* \|$", re.M)
TABLES = [table for table in _section("Costs").split("\n\n") if _PRICED.search(table)]


def _in_cents(dollars: Decimal) -> str:
    return str(dollars.quantize(Decimal("0.01"), ROUND_HALF_UP))


def _computed(arithmetic: str) -> Decimal:
    """Add products, of nothing but numbers, x, / and +; return dollars."""
    total = Decimal(0)
    for product in arithmetic.replace(",", "").split("+"):
        (_, value), *rest = re.findall(r"([x/]?)\s*([\d.]+)", product)
        made = Decimal(value)
        for sign, number in rest:
            made = made * Decimal(number) if sign == "x" else made / Decimal(number)
        total += made
    return total


def test_the_page_has_the_tables_of_costs_that_are_checked() -> None:
    assert len(TABLES) == 4
    assert len(_PRICED.findall(_section("Costs"))) >= 25


@pytest.mark.parametrize(
    ("_what", "arithmetic", "dollars"), dict.fromkeys(_PRICED.findall(_section("Costs")))
)
def test_a_price_is_what_its_arithmetic_makes(_what: str, arithmetic: str, dollars: str) -> None:
    assert dollars == _in_cents(_computed(arithmetic))


@pytest.mark.parametrize("table", TABLES)
def test_a_total_is_the_sum_of_its_rows_before_they_are_rounded(table: str) -> None:
    totals = _TOTAL.findall(table)
    rows = [_computed(arithmetic) for _, arithmetic, _ in _PRICED.findall(table)]

    assert totals in ([], [_in_cents(sum(rows, Decimal(0)))])


# --- commands -----------------------------------------------------------------------------------


def test_every_make_target_on_the_page_exists() -> None:
    targets = set(re.findall(r"^([a-z]+\w*):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"(?:^\$ |^|`)make ([a-z]\w*)", PAGE, re.M))

    assert named
    assert named <= targets


def _tool(name: str) -> str:
    """Return where a command is; skip the test where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed.")
    return found


@pytest.mark.parametrize("script", _blocks("sh"))
def test_a_script_on_the_page_is_one(script: str) -> None:
    done = subprocess.run(
        [_tool("bash"), "-n"], input=script, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


# --- the first job ------------------------------------------------------------------------------


@dataclass(slots=True)
class Received:
    """What came to the API."""

    path: str = ""
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def received() -> Received:
    return Received()


@pytest.fixture
def api(received: Received) -> Iterator[str]:
    """An API that takes everything, on loopback."""

    class Recorder(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.path = self.path
            received.headers = {name.lower(): value for name, value in self.headers.items()}
            received.body = self.rfile.read(int(received.headers["content-length"]))
            self.send_response(201)
            self.end_headers()
            self.wfile.write(b'{"id": "j"}')

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Recorder)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _signature(received: Received, api: str, credentials: Credentials) -> str:
    """Sign once more what came, as AWS does: with the headers that it says are signed."""
    signed = re.search(r"SignedHeaders=([\w;-]+)", received.headers["authorization"])
    assert signed is not None
    headers = {name: received.headers[name] for name in signed[1].split(";")}
    request = AWSRequest("POST", api + received.path, data=received.body, headers=headers)
    request.context["timestamp"] = received.headers["x-amz-date"]
    auth = SigV4Auth(credentials, "execute-api", REGION)
    return auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)


def _environment(api: str, token: str) -> dict[str, str]:
    given = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "se/cret+"}
    given |= {"API": api, "AWS_REGION": REGION, "PATH": os.environ["PATH"]}
    return given | ({"AWS_SESSION_TOKEN": token} if token else {})


def _check(received: Received, api: str, environment: Mapping[str, str]) -> None:
    token = environment.get("AWS_SESSION_TOKEN")
    credentials = Credentials(
        environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"], token
    )
    authorization = received.headers["authorization"]
    assert received.path == "/v1/jobs"
    assert received.headers["content-type"] == "application/json"
    assert received.headers.get("x-amz-security-token") == token
    assert f"/{REGION}/execute-api/aws4_request" in authorization
    assert authorization.endswith(f"Signature={_signature(received, api, credentials)}")


def _curl_version() -> tuple[int, ...]:
    command = [_tool("curl"), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return tuple(int(number) for number in re.findall(r"\d+", done.stdout)[:2])


@pytest.mark.parametrize("token", TOKENS)
def test_curl_signs_the_first_job(api: str, received: Received, token: str) -> None:
    if _curl_version() < LEAST_CURL:
        pytest.skip("curl is older than 7.75, which signs nothing.")
    environment = _environment(api, token)
    script = _blocks("sh", _section("The first job"))[0]

    command = [_tool("bash"), "-euc", script]
    subprocess.run(command, env=environment, check=True, capture_output=True)

    assert b'"handler": "send-welcome"' in received.body
    _check(received, api, environment)


@pytest.mark.parametrize("token", TOKENS)
def test_botocore_signs_the_first_job(api: str, received: Received, token: str) -> None:
    environment = _environment(api, token)
    script = _blocks("py", _section("The first job"))[0]

    subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True)

    assert b'"handler": "send-welcome"' in received.body
    _check(received, api, environment)
