"""The page and its files: what is sent for which address, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hourhand.console.assets import CONTENT_TYPES, STATIC_FOLDER, read_assets
from hourhand.console.pages import About, Pages
from hourhand.loopback import Reply, RunningServer, serve_loopback
from tests.unit.console.talk import Heard, ask

ELSE = Reply(418, {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    static = tmp_path / "static"
    (static / "lib").mkdir(parents=True)
    (static / "index.html").write_text("<!DOCTYPE html><p>the page")
    (static / "lib" / "app.js").write_text("export const one = 1;")
    (static / "LICENSE.txt").write_text("all of it")
    (tmp_path / "secret.js").write_text("outside")
    return static


@pytest.fixture
def server(folder: Path) -> Iterator[RunningServer]:
    about = About(endpoint="https://api.example", read_only=True, is_production=True)
    pages = Pages(about, folder)
    running = serve_loopback(lambda request: pages.find(request) or ELSE, "127.0.0.1", 0)
    yield running
    running.close()


def get(server: RunningServer, target: str, **headers: str) -> Heard:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(server.port, "GET", target, headers=named)


@pytest.mark.parametrize("target", ["/", "/console", "/?x=1"])
def test_the_short_addresses_lead_to_the_console(server: RunningServer, target: str) -> None:
    answer = get(server, target)
    assert (answer.status, answer.headers["location"]) == (302, "/console/")


@pytest.mark.parametrize(
    "target",
    [
        *("/console/", "/console/jobs", "/console/jobs/job_1?x=2", "/console/nothing/of/the/kind"),
        *("/console/index.html", "/console/../etc/passwd", "/console/%2e%2e/%2e%2e/etc/passwd"),
    ],
)
def test_every_address_of_the_console_is_the_page(server: RunningServer, target: str) -> None:
    answer = get(server, target)
    assert (answer.status, answer.body) == (200, b"<!DOCTYPE html><p>the page")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_file_is_sent_as_what_it_is(server: RunningServer) -> None:
    answer = get(server, "/console/static/lib/app.js?v=1")
    assert (answer.status, answer.body) == (200, b"export const one = 1;")
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../secret.js",
            "..%2fsecret.js",
            "%2e%2e/secret.js",
            "lib/../../secret.js",
            "..\\secret.js",
        ),
        *(
            "lib%2fapp.js",
            "/lib/app.js",
            "lib//app.js",
            "lib/",
            "lib",
            "",
            "LICENSE.txt",
            "app.js%00",
        ),
        *("lib/app.js/", "LIB/APP.JS", "%s" % ("x" * 5000)),
    ],
)
def test_what_is_not_in_the_list_is_not_there(server: RunningServer, name: str) -> None:
    assert get(server, f"/console/static/{name}").kind == "not_found"


def test_a_path_from_the_root_reaches_no_file(server: RunningServer, folder: Path) -> None:
    assert get(server, f"/console/static/{folder / 'index.html'}").status == 404
    assert get(server, f"/{folder / 'index.html'}").status == ELSE.status


@pytest.mark.parametrize("target", ["/v1/jobs", "/consoles", "/static/lib/app.js", "/favicon.ico"])
def test_other_addresses_are_not_the_consoles(server: RunningServer, target: str) -> None:
    assert get(server, target).status == ELSE.status


def test_what_a_browser_has_is_not_sent_again(server: RunningServer) -> None:
    first = get(server, "/console/static/lib/app.js")
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = get(server, "/console/static/lib/app.js", if_none_match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    for other in ('"other"', tag.strip('"'), ""):
        assert get(server, "/console/static/lib/app.js", if_none_match=other).status == 200


def test_a_changed_file_is_seen_once_the_page_is_loaded(
    server: RunningServer, folder: Path
) -> None:
    before = get(server, "/console/static/lib/app.js")
    (folder / "lib" / "app.js").write_text("export const one = 2;")
    get(server, "/console/")
    after = get(server, "/console/static/lib/app.js", if_none_match=before.headers["etag"])
    assert (after.status, after.body) == (200, b"export const one = 2;")


def test_the_page_learns_what_it_is_a_console_of(server: RunningServer) -> None:
    answer = get(server, "/console/about.json")
    assert answer.json == {
        "endpoint": "https://api.example",
        "read_only": True,
        "is_production": True,
    }
    assert answer.headers["cache-control"] == "no-store"


def test_head_is_get_without_the_body(server: RunningServer) -> None:
    answer = ask(server.port, "HEAD", "/console/")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == "26"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "BREW"])
def test_the_console_is_only_read(server: RunningServer, method: str) -> None:
    answer = ask(server.port, method, "/console/")
    assert (answer.status, answer.kind) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD"
    assert ask(server.port, method, "/").status == ELSE.status


@pytest.mark.parametrize("target", ["/console/", "/console/static/lib/app.js"])
def test_a_page_may_load_this_servers_own_files_alone(server: RunningServer, target: str) -> None:
    headers = get(server, target).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "font-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]


@pytest.mark.parametrize("target", ["/console/about.json", "/console/static/missing.js"])
def test_data_may_load_nothing(server: RunningServer, target: str) -> None:
    headers = get(server, target).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; ")
    assert "'self'" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_an_installation_without_the_files_says_so(tmp_path: Path) -> None:
    pages = Pages(About(), tmp_path)
    running = serve_loopback(lambda request: pages.find(request) or ELSE, "127.0.0.1", 0)
    answer = get(running, "/console/")
    running.close()
    assert answer.kind == "not_found"
    assert "its files are missing" in answer.json["detail"]


def test_every_file_of_the_console_is_of_a_kind_that_is_sent_or_left_out_on_purpose() -> None:
    kinds = {file.suffix for file in STATIC_FOLDER.rglob("*") if file.is_file()}
    assert kinds - set(CONTENT_TYPES) <= {".md", ".txt"}
    assert "index.html" in read_assets()
