"""What packing is asked for by a deployment's config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hourhand_cdk import handlers
from hourhand_cdk.config import Config, read_config
from hourhand_cdk.handlers import packed_handlers
from hourhand_cdk.packing import CACHE, HandlerSource, Packed, PackingError, Target
from hourhand_cdk.packing._report import Report
from tests.infra.packing.folders import write_files


class FakePacking:
    """Stands for `pack`: makes folders with ``files`` in each, and notes what it was asked for."""

    uncompiled: tuple[str, ...] = ()

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self.asked: dict[str, Any] = {}

    def __call__(self, source: HandlerSource, target: Target, to: Path, **options: Any) -> Packed:
        self.asked = {"source": source, "target": target, **options}
        api, scheduler, worker = (
            write_files(to / name, self.files) for name in ("api", "scheduler", "worker")
        )
        report = Report(
            target=str(target),
            module="jobs",
            handlers=(),
            rows=(),
            proof="",
            uncompiled=self.uncompiled,
        )
        return Packed(
            api=api, scheduler=scheduler, worker=worker, module="jobs", handlers=(), report=report
        )


def packing(monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str]) -> FakePacking:
    fake = FakePacking(files)
    monkeypatch.setattr(handlers, "pack", fake)
    return fake


def config(**context: str) -> Config:
    return read_config(context)


def test_tracing_by_xray_without_its_sdk_is_refused_with_what_to_add(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packing(monkeypatch, {"main.py": ""})
    with pytest.raises(PackingError, match=r"needs aws-xray-sdk.*requirements\.txt"):
        packed_handlers(config(tracing="xray"), tmp_path)


@pytest.mark.parametrize(
    ("tracing", "files"), [("xray", {"aws_xray_sdk/__init__.py": ""}), ("off", {"main.py": ""})]
)
def test_tracing_is_taken_where_its_sdk_is_there_or_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracing: str, files: dict[str, str]
) -> None:
    packing(monkeypatch, files)
    assert packed_handlers(config(tracing=tracing), tmp_path).module == "jobs"


@pytest.mark.parametrize("uncompiled", [(), ("worker",)])
def test_a_package_without_bytecode_is_an_error_only_where_bytecode_is_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uncompiled: tuple[str, ...]
) -> None:
    packing(monkeypatch, {"main.py": ""}).uncompiled = uncompiled
    assert packed_handlers(config(), tmp_path).report.uncompiled == uncompiled
    strict = config(require_bytecode="true")
    if not uncompiled:
        assert packed_handlers(strict, tmp_path).module == "jobs"
        return
    with pytest.raises(PackingError, match="require_bytecode=true, and worker would have no byte"):
        packed_handlers(strict, tmp_path)


def test_the_config_says_what_is_packed_and_for_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = packing(monkeypatch, {"main.py": ""})
    asked_for = config(
        handlers="work", handlers_module="work.jobs", python="3.13", architecture="x86_64"
    )
    packed_handlers(asked_for, tmp_path, environment={"TABLE": "bills"})
    assert fake.asked["source"] == HandlerSource(path=Path("work"), module="work.jobs")
    assert fake.asked["target"] == Target.for_lambda("3.13", "x86_64")
    assert fake.asked["environment"] == {"TABLE": "bills"}
    assert fake.asked["cache"] == CACHE


def test_an_emulator_gets_what_runs_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = packing(monkeypatch, {"main.py": ""})
    packed_handlers(config(pack_for="this-machine"), tmp_path)
    assert fake.asked["target"].is_this_machine
