"""The app that `cdk.json` names: what is wrong ends in a sentence, never in a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.infra.stacks import Deployments

LAYER = "arn:aws:lambda:eu-central-1:901920570463:layer:aws-otel-python-arm64:1"


@pytest.fixture
def run(deployments: Deployments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what synthesises by a context, and returns the exit code."""

    def synthesise(**context: Any) -> int:
        from aws_cdk import App

        from hourhand_cdk import app

        made = App(analytics_reporting=False, outdir=str(tmp_path), context=context)
        monkeypatch.setattr(app, "App", lambda: made)
        monkeypatch.setattr(app, "packed_handlers", lambda *_: deployments.packed)
        return app.main()

    return synthesise


def test_a_deployment_is_synthesised(run: Any, tmp_path: Path) -> None:
    assert run(installation="night") == 0
    assert (tmp_path / "night.template.json").is_file()


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"handlers_environment": {"AWS_REGION": "here"}}, "AWS_REGION is refused: Lambda sets"),
        (
            {
                "tracing": "opentelemetry",
                "opentelemetry_layer": LAYER,
                "handlers_environment": {"AWS_LAMBDA_EXEC_WRAPPER": "/opt/mine"},
            },
            "The worker's environment already has AWS_LAMBDA_EXEC_WRAPPER from Hourhand.",
        ),
    ],
)
def test_what_is_wrong_is_a_sentence(
    run: Any, capsys: pytest.CaptureFixture[str], context: dict[str, Any], words: str
) -> None:
    assert run(**context) == 1
    said = capsys.readouterr().err
    assert said.startswith("hourhand: ")
    assert words in said
    assert said.count("\n") == 1
