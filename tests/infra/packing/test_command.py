"""``python -m hourhand_cdk.packing``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hourhand
import hourhand_cdk.packing
from hourhand_cdk.packing.__main__ import main
from tests.infra.packing.folders import HANDLERS, write_files


def test_it_packs_and_prints_sizes_and_what_the_imports_cost(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_files(tmp_path / "jobs", {"handlers.py": HANDLERS})
    arguments = ["--handlers", str(folder), "--target", "this-machine", "--cache", str(cache)]
    assert main([*arguments, "--to", str(tmp_path / "to")]) == 0
    said = capsys.readouterr()
    assert "handlers of handlers: send-invoice" in said.out
    assert said.out.count(" s CPU") == 3
    assert "Importing handlers as the worker will, without credentials ..." in said.err


def test_what_is_refused_is_one_sentence_and_exit_code_1(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--handlers", str(tmp_path / "nothing"), "--to", str(tmp_path / "to")]
    assert main([*arguments, "--cache", str(cache)]) == 1
    assert capsys.readouterr().err.startswith("hourhand: Handlers are a folder or a .py file")


@pytest.mark.parametrize(
    "arguments",
    [[], ["--handlers", "."], ["--target", "riscv"], ["--environment", "NOVALUE"]],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_the_cache_can_be_filled_beforehand(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--fetch-only", "--target", "this-machine", "--cache", str(cache)]) == 0
    folder = Path(capsys.readouterr().out.rpartition(" ")[2].strip())
    assert (folder / "pydantic").is_dir()


def test_packing_does_without_the_cdk() -> None:
    roots = [
        str(Path(hourhand.__file__).parents[1]),
        str(Path(hourhand_cdk.packing.__file__).parents[2]),
    ]
    code = (
        f"import sys; sys.path[:0] = {roots!r}; import hourhand_cdk.packing.__main__; "
        "sys.exit('aws_cdk' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
