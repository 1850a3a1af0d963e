"""``hourhand console``: served until Ctrl-C, its address told to whoever started it."""

from __future__ import annotations

import json
import signal
import webbrowser
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from hourhand.cli.console import has_browser
from hourhand.cli.main import app
from hourhand.client import NotConfigured
from hourhand.domain.errors import FieldError, InvalidInput

ADDRESS = "http://127.0.0.1:8788/console/?token=t0ken"


class Served:
    """Stands for the console that is served; `Ctrl-C` comes as soon as it is waited for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, dict[str, Any]]] = []
        self.is_closed = False
        self.opened: list[str] = []
        self.error: Exception | None = None

    def serve(self, endpoint: str | None, **how: Any) -> Any:
        self.asked.append((endpoint, how))
        if self.error is not None:
            raise self.error
        return SimpleNamespace(address=ADDRESS, endpoint=endpoint, close=self.close)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    stand_in = Served()

    def interrupt(self: Any, timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("hourhand.console.proxy.serve_console", stand_in.serve)
    monkeypatch.setattr("threading.Event.wait", interrupt)
    monkeypatch.setattr(webbrowser, "open", stand_in.opened.append)
    monkeypatch.setenv("DISPLAY", ":0")
    return stand_in


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(["console", "--endpoint", "https://api.example", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_it_serves_with_the_callers_connection_until_ctrl_c(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--region", "eu-west-1", "--profile", "ops", "--port", "0", "--read-only") == 0
    assert served.asked == [
        (
            "https://api.example",
            {
                "token": None,
                "auth": None,
                "region": "eu-west-1",
                "profile": "ops",
                "timeout_seconds": 30.0,
                "port": 0,
                "read_only": True,
                "is_production": False,
            },
        )
    ]
    assert served.is_closed
    assert served.opened == [ADDRESS]
    printed = capsys.readouterr()
    assert printed.out.strip() == ADDRESS
    assert "The read-only console of" in printed.err


def test_no_browser_is_opened_where_none_is_wanted(served: Served) -> None:
    assert run("--no-browser") == 0
    assert served.opened == []


@pytest.mark.parametrize("environ", [{}, {"DISPLAY": ""}])
def test_no_browser_is_opened_where_it_would_take_the_terminal(
    environ: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert not has_browser(environ)
    assert has_browser({"WAYLAND_DISPLAY": "wayland-0"})
    monkeypatch.setattr("sys.platform", "darwin")
    assert has_browser({})


def test_a_program_gets_the_address_as_json(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    run("--json", "--no-browser")
    assert json.loads(capsys.readouterr().out) == {
        "address": ADDRESS,
        "endpoint": "https://api.example",
        "read_only": False,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("Port 80 cannot be used.", errors=(FieldError("port", "is taken"),)), 1),
        (NotConfigured("There are no credentials."), 2),
    ],
)
def test_what_cannot_be_served_is_said(
    served: Served, capsys: pytest.CaptureFixture[str], error: Exception, code: int
) -> None:
    served.error = error
    assert run() == code
    assert str(error) in capsys.readouterr().err


def test_the_signal_to_terminate_means_again_what_it_meant_before(served: Served) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run()
    assert signal.getsignal(signal.SIGTERM) is before
