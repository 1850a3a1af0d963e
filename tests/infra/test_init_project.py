"""What ``hourhand init`` writes becomes a template by ``hourhand deploy --synth``, typed there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.infra.stacks import missing_tool, skip_without

COMMAND = (sys.executable, "-m", "hourhand.cli.main")
ROOT = Path(__file__).parents[2]
ENDS_WITHIN_SECONDS = 110


def test_the_project_is_synthesised_with_its_handlers(tmp_path: Path) -> None:
    skip_without(missing_tool())
    has_cdk = (ROOT / "infra" / "node_modules" / ".bin" / "cdk").exists()
    skip_without(None if has_cdk else "the CDK's command line is not installed (make synth)")
    project = tmp_path / "shop"
    run(*COMMAND, "init", str(project), cwd=tmp_path)
    run(*COMMAND, "deploy", "--synth", "--setting", "pack_for=this-machine", cwd=project)
    template = json.loads((project / "cdk.out" / "hourhand-dev.template.json").read_text())
    kinds = [resource["Type"] for resource in template["Resources"].values()]
    assert kinds.count("AWS::Lambda::Function") >= 3
    [worker] = [
        asset
        for asset in (project / "cdk.out").glob("asset.*")
        if (asset / "jobs" / "reports.py").exists() and (asset / "hourhand" / "worker").exists()
    ]
    assert (worker / "jobs" / "__init__.py").exists()


def run(*command: str, cwd: Path) -> None:
    ran = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=ENDS_WITHIN_SECONDS,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
