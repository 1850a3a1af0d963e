"""``hourhand deploy``: what it runs, where, and what it says is missing."""

from __future__ import annotations

import json
import shlex
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hourhand.cli import deploy
from hourhand.cli.main import app

RUNNER = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})
RECORDER = """#!{python}
import json, os, sys
names = ("AWS_REGION", "AWS_DEFAULT_REGION", "CDK_DISABLE_CLI_TELEMETRY")
said = {{"arguments": sys.argv[1:], "folder": os.getcwd()}}
said["environment"] = {{name: os.environ.get(name) for name in names}}
open({record!r}, "w").write(json.dumps(said))
if "--outputs-file" in sys.argv:
    file = sys.argv[sys.argv.index("--outputs-file") + 1]
    open(file, "w").write(json.dumps({{"hourhand-dev": {{"ApiUrl": "https://x"}}}}))
print("progress")
sys.exit({code})
"""


class Computer:
    """A folder with a clone whose CDK writes down what it was asked for."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clone, self.monkeypatch = folder / "clone", monkeypatch
        self.record = folder / "asked.json"
        (self.clone / "infra" / "hourhand_cdk").mkdir(parents=True)
        (self.clone / "cdk.json").write_text("{}")
        (self.clone / "cdk.out").mkdir()
        (self.clone / "handlers").mkdir()
        self.path = folder / "bin"
        self.path.mkdir()
        self.install("node", self.path / "node")
        monkeypatch.setenv("PATH", str(self.path))
        monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
        for name in ("HOURHAND_REGION", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(self.clone)
        profiles = folder / "credentials"
        profiles.write_text("[p]\naws_access_key_id = a\naws_secret_access_key = b\n")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profiles))

    def install(self, name: str, at: Path, code: int = 0) -> None:
        at.parent.mkdir(parents=True, exist_ok=True)
        text = RECORDER.format(python=sys.executable, record=str(self.record), code=code)
        at.write_text(text)
        at.chmod(at.stat().st_mode | stat.S_IXUSR)

    def install_cdk(self, code: int = 0) -> None:
        self.install("cdk", self.clone / "infra" / "node_modules" / ".bin" / "cdk", code)

    def leave_clone(self, to: Path, packed: Path) -> None:
        """Be where a package is installed, and no clone is."""
        self.monkeypatch.chdir(to)
        self.monkeypatch.setattr(deploy, "__file__", str(to / "site" / "cli" / "deploy.py"))
        self.monkeypatch.setattr(deploy, "packed_settings", lambda: packed)
        self.monkeypatch.setattr(deploy, "PACKED_QUICKSTART", self.clone / "handlers")

    @property
    def asked(self) -> Any:
        return json.loads(self.record.read_text())


@pytest.fixture
def computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Computer:
    return Computer(tmp_path, monkeypatch)


def test_the_cdk_of_the_clone_deploys_our_app_with_what_was_said(computer: Computer) -> None:
    computer.install_cdk()
    flags = ["--handlers", "handlers", "--module", "a.b", "--stage", "prod", "--yes"]
    context = ["-c", "alarm_email=a@b.c", "-c", 'handlers_environment={"A": "b=c"}']
    ran = RUNNER.invoke(
        app, ["deploy", *flags, *context, "--region", "eu-central-1", "--profile", "p"]
    )

    assert ran.exit_code == 0, ran.output
    arguments = computer.asked["arguments"]
    assert arguments[0] == "deploy"
    assert _after(arguments, "--app") == [f"{shlex.quote(sys.executable)} -m hourhand_cdk.app"]
    assert _after(arguments, "--context") == [
        "alarm_email=a@b.c",
        'handlers_environment={"A": "b=c"}',
        f"handlers={computer.clone / 'handlers'}",
        "handlers_module=a.b",
        "stage=prod",
    ]
    assert _after(arguments, "--profile") == ["p"]
    assert _after(arguments, "--require-approval") == ["never"]
    assert computer.asked["folder"] == str(computer.clone)
    assert computer.asked["environment"] == {
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "CDK_DISABLE_CLI_TELEMETRY": "1",
    }


def _after(arguments: list[str], flag: str) -> list[str]:
    return [arguments[at + 1] for at, each in enumerate(arguments) if each == flag]


def test_without_yes_the_cdk_asks_about_new_rights(computer: Computer) -> None:
    computer.install_cdk()
    RUNNER.invoke(app, ["deploy"])

    assert "--require-approval" not in computer.asked["arguments"]
    assert "--context" not in computer.asked["arguments"]


@pytest.mark.parametrize(("flag", "verb"), [("--diff", "diff"), ("--synth", "synth")])
def test_it_may_only_look(computer: Computer, flag: str, verb: str) -> None:
    computer.install_cdk()
    ran = RUNNER.invoke(app, ["deploy", flag, "--yes"])

    assert ran.exit_code == 0
    assert computer.asked["arguments"][0] == verb
    assert "--require-approval" not in computer.asked["arguments"]


def test_a_cdk_that_fails_is_code_1(computer: Computer) -> None:
    computer.install_cdk(code=7)

    assert RUNNER.invoke(app, ["deploy"]).exit_code == 1
    assert RUNNER.invoke(app, ["deploy", "--json"]).exit_code == 1


def test_as_json_the_outputs_are_printed_and_nothing_else(
    computer: Computer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    computer.install_cdk()
    monkeypatch.setattr(sys, "argv", ["hourhand", "deploy", "--json"])
    with pytest.raises(SystemExit) as ended:
        app()

    out, err = capfd.readouterr()
    assert ended.value.code == 0
    assert json.loads(out) == {"stack": "hourhand-dev", "outputs": {"ApiUrl": "https://x"}}
    assert "progress" in err


def test_settings_may_come_from_the_environment(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer.install_cdk()
    monkeypatch.setenv("HOURHAND_DEPLOY_SETTING", "a=1; b=two words")
    monkeypatch.setenv("HOURHAND_DEPLOY_STAGE", "prod")
    RUNNER.invoke(app, ["deploy"])

    assert _after(computer.asked["arguments"], "--context") == ["a=1", "b=two words", "stage=prod"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--setting", "stage"], "NAME=VALUE"),
        (["--setting", "=x"], "NAME=VALUE"),
        (["--handlers", "nowhere"], "does not exist"),
        (["--diff", "--synth"], "--synth"),
        (["--stage", "test"], "--stage"),
    ],
)
def test_wrong_usage_runs_nothing(computer: Computer, flags: list[str], said: str) -> None:
    computer.install_cdk()
    ran = RUNNER.invoke(app, ["deploy", *flags])

    assert ran.exit_code == 2
    assert said in ran.output
    assert not computer.record.exists()


def test_a_clone_says_what_is_missing_and_what_installs_it(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    (computer.path / "node").unlink()
    ran = RUNNER.invoke(app, ["deploy"])

    assert ran.exit_code == 1
    for named in ("Node.js", "the CDK's command line: make synth", "the CDK for Python"):
        assert named in ran.output


def test_a_cdk_on_the_path_will_do(computer: Computer) -> None:
    computer.install("cdk", computer.path / "cdk")

    assert RUNNER.invoke(app, ["deploy"]).exit_code == 0
    assert computer.asked["arguments"][0] == "deploy"


def test_an_installed_package_has_its_own_settings_folder_and_handlers(
    computer: Computer, tmp_path: Path
) -> None:
    packed, home = tmp_path / "packed.json", tmp_path / "home"
    packed.write_text('{"context": {"flag": true}}')
    home.mkdir()
    computer.leave_clone(home, packed)
    computer.install("cdk", computer.path / "cdk")
    ran = RUNNER.invoke(app, ["deploy"])

    assert ran.exit_code == 0, ran.output
    assert computer.asked["folder"] == str(home / ".hourhand" / "cdk")
    assert (home / ".hourhand" / "cdk" / "cdk.json").read_text() == packed.read_text()
    packed_handlers = f"handlers={computer.clone / 'handlers'}"
    assert _after(computer.asked["arguments"], "--context") == [packed_handlers]


def test_an_installed_package_without_settings_asks_for_a_clone(
    computer: Computer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    computer.leave_clone(home, tmp_path / "missing.json")
    ran = RUNNER.invoke(app, ["deploy"])

    assert ran.exit_code == 1
    assert "npm install --prefix .hourhand/cdk aws-cdk" in ran.output
    assert "reinstall hourhand" in ran.output


def test_a_package_carries_the_settings_of_the_clone() -> None:
    root = Path(__file__).parents[3]

    assert deploy.packed_settings() == root / "infra" / "hourhand_cdk" / "cdk.json"
    assert deploy.packed_settings().read_text() == (root / "cdk.json").read_text()


def test_ctrl_c_lets_the_cdk_end_and_is_code_130(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []

    class Interrupted:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def wait(self, timeout: float | None = None) -> int:
            if timeout is None:
                raise KeyboardInterrupt
            told.append(timeout)
            return 1

    computer.install_cdk()
    monkeypatch.setattr("subprocess.Popen", Interrupted)

    assert RUNNER.invoke(app, ["deploy"]).exit_code == 130
    assert told == [deploy.ENDS_WITHIN_SECONDS]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "This terminal has no AWS credentials: type `aws sso login` or `aws configure`"),
        (("--profile", "nobody"), "The AWS configuration has no profile nobody"),
    ],
)
def test_without_credentials_it_says_what_to_type_and_does_not_start(
    computer: Computer, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], said: str
) -> None:
    computer.install_cdk()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    ran = RUNNER.invoke(app, ["deploy", *flags])

    assert ran.exit_code in {2, 6}
    assert said in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert not computer.record.exists()


def test_a_template_needs_no_credentials(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer.install_cdk()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert RUNNER.invoke(app, ["deploy", "--synth"]).exit_code == 0
