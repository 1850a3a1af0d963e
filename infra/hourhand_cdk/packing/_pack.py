"""Packing: from a folder of handlers to three folders that Lambda can run."""

from __future__ import annotations

import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name

from hourhand.aws.lambda_init import INITIALIZATION_TYPE
from hourhand.settings import Settings, settings_environment
from hourhand_cdk.packing import _probe_process
from hourhand_cdk.packing._bytecode import (
    Compiler,
    find_compiler,
    missing_note,
    remove_bytecode,
    too_large_note,
)
from hourhand_cdk.packing._dependencies import Dependencies, Say
from hourhand_cdk.packing._errors import HandlersFailed, InstallFailed, PackingError
from hourhand_cdk.packing._isolation import IMPORT_SECONDS, Ended, Isolation
from hourhand_cdk.packing._names import (
    MANIFEST,
    check_library_names,
    check_source_names,
    library_names,
)
from hourhand_cdk.packing._parts import (
    API,
    FUNCTIONS,
    SCHEDULER,
    WORKER,
    copy_hourhand,
    copy_libraries,
    distribution_of,
)
from hourhand_cdk.packing._report import (
    UNZIPPED_LIMIT_BYTES,
    FunctionRow,
    Report,
    check_limits,
)
from hourhand_cdk.packing._requirements import Requirements, read_requirements
from hourhand_cdk.packing._source import (
    HOW_TO_NAME_IT,
    HandlerSource,
    SourceFiles,
    choose_module,
    listed,
    read_source,
)
from hourhand_cdk.packing._target import Target
from hourhand_cdk.packing._trees import copy_file, settle, tree_digest, tree_size, zipped_bytes

REPORT = "packed.json"
"""Lies beside the three folders, and marks their parent as one that packing may replace."""

_ON_DEMAND = "on-demand"
"""How a function without provisioned concurrency starts (Lambda, defined variables)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Packed:
    """The three assets, and the names of the handlers.

    ``module``: for HOURHAND_HANDLERS. The manifest is ``manifest.json`` at the root of the api's
    and the scheduler's.
    """

    api: Path
    scheduler: Path
    worker: Path
    module: str
    handlers: tuple[str, ...]
    report: Report


@dataclass(frozen=True, kw_only=True, slots=True)
class _Libraries:
    """The installed trees of one target."""

    ours: Path
    theirs: Path


def pack(
    source: HandlerSource,
    target: Target,
    to: Path,
    *,
    cache: Path | None = None,
    environment: Mapping[str, str] | None = None,
    measures: bool = True,
    say: Say = lambda _: None,
) -> Packed:
    """Pack ``source`` for ``target`` into ``to``, which may only hold an earlier pack.

    ``cache`` keeps installed libraries: a second pack needs no network. ``environment``: the
    worker function's own variables, for handlers that read them when imported. ``measures``: zip
    each function for its size, and import it for its CPU time. ``say`` is called with progress.
    Raises `PackingError`, whose detail names the problem and the fix.
    """
    _require_replaceable(to)
    with tempfile.TemporaryDirectory(prefix="hourhand-pack-") as folder:
        workspace = Path(folder)
        work = _Work(
            source=source,
            files=read_source(source),
            workspace=workspace,
            target=target,
            dependencies=Dependencies(cache or workspace / "cache", say),
            isolation=Isolation(workspace, environment or {}),
            say=say,
        )
        report = _pack(work, measures=measures)
        _deliver(workspace / "assets", report, to)
    return Packed(
        api=to / API,
        scheduler=to / SCHEDULER,
        worker=to / WORKER,
        module=report.module,
        handlers=report.handlers,
        report=report,
    )


def fetch(target: Target, cache: Path, *, say: Say = lambda _: None) -> Path:
    """Put Hourhand's own libraries for ``target`` into ``cache`` and return their folder."""
    return Dependencies(cache, say).ours(target)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Work:
    source: HandlerSource
    files: SourceFiles
    target: Target
    workspace: Path
    dependencies: Dependencies
    isolation: Isolation
    say: Say

    def libraries(self, target: Target, requirements: Requirements | None) -> _Libraries:
        """Install what is needed for ``target``, and refuse names that shadow others."""
        ours = self.dependencies.ours(target)
        theirs = self.workspace / "no-requirements"
        theirs.mkdir(exist_ok=True)
        if requirements is not None:
            theirs = self.dependencies.theirs(requirements, target)
        check_library_names(ours, theirs)
        check_source_names(self.files, library_names(ours, theirs))
        return _Libraries(ours=ours, theirs=theirs)

    def assemble(
        self, function: str, libraries: _Libraries, manifest: Path | None, to: Path
    ) -> Path:
        """Put one function together at ``to``."""
        copy_hourhand(function, to)
        copy_libraries(function, libraries.ours, libraries.theirs, to)
        if function == WORKER:
            for place, file in self.files.places.items():
                copy_file(file, to / place)
        if manifest is not None:
            copy_file(manifest, to / MANIFEST)
        settle(to)
        return to


def _pack(work: _Work, *, measures: bool) -> Report:
    target = work.target
    module = choose_module(work.files, work.source.module)
    path = work.files.requirements
    requirements = None if path is None else read_requirements(path)
    here = Target.this_machine()
    # What can be imported here comes first: a mistake in the handlers is the likeliest.
    proving = _proving_libraries(work, here, target, requirements)
    manifest = work.workspace / MANIFEST
    worker = work.assemble(WORKER, proving, None, work.workspace / "here" / WORKER)
    handlers, said = _prove(work, module, worker, manifest, target)
    libraries = proving if target == here else work.libraries(target, requirements)
    trees = {one: _assembled(work, one, libraries, manifest) for one in FUNCTIONS}
    compiler = find_compiler(target)
    uncompiled = _compile(work, compiler, trees)
    notes = tuple(dict.fromkeys(uncompiled.values()))
    rows = tuple(_row(function, tree, measures=measures) for function, tree in trees.items())
    warnings = (*notes, *check_limits(rows))
    if measures:
        here_trees = {one: _here(work, one, proving, manifest) for one in FUNCTIONS}
        if compiler is not None:
            Compiler(sys.executable).compile(tuple(here_trees.values()))
        rows = tuple(_timed(work, row, module, here_trees[row.function], manifest) for row in rows)
    return Report(
        target=str(target),
        module=module,
        handlers=handlers,
        rows=rows,
        proof=_proof_text(here, target),
        uncompiled=tuple(uncompiled),
        notes=(*work.files.notes, *said, *_pinning_notes(requirements, libraries), *warnings),
    )


def _assembled(work: _Work, function: str, libraries: _Libraries, manifest: Path) -> Path:
    work.say(f"Assembling {function}")
    return work.assemble(function, libraries, manifest, work.workspace / "assets" / function)


def _compile(work: _Work, compiler: Compiler | None, trees: Mapping[str, Path]) -> dict[str, str]:
    """Put bytecode into ``trees``, where it can be compiled and fits.

    Returns the functions that have none, each with the note that says why.
    """
    if compiler is None:
        return dict.fromkeys(trees, missing_note(work.target))
    work.say("Compiling the functions' modules")
    compiler.compile(tuple(trees.values()))
    uncompiled = {}
    for function, tree in trees.items():
        if tree_size(tree).unzipped_bytes > UNZIPPED_LIMIT_BYTES:
            remove_bytecode(tree)
            uncompiled[function] = too_large_note(function)
        settle(tree)
    return uncompiled


def _row(function: str, tree: Path, *, measures: bool) -> FunctionRow:
    return FunctionRow(
        function=function,
        size=tree_size(tree),
        digest=tree_digest(tree),
        zipped_bytes=zipped_bytes(tree) if measures else None,
    )


def _proving_libraries(
    work: _Work, here: Target, target: Target, requirements: Requirements | None
) -> _Libraries:
    try:
        return work.libraries(here, requirements)
    except InstallFailed as error:
        raise InstallFailed(_with_lines(error.detail, target.advice_from(here))) from error


def _prove(
    work: _Work, module: str, worker: Path, manifest: Path, target: Target
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Import the handlers from ``worker`` and write ``manifest``; return names and warnings."""
    work.say(f"Importing {module} as the worker will, without credentials")
    ended = work.isolation.run(_probe_process.__file__, worker, [module, str(manifest)])
    answer = ended.answer
    if answer is None:
        raise HandlersFailed(_with_lines(f"Importing {module} {_reason(ended)}.", ended.output))
    if "error" in answer:
        advice = "" if answer["traceback"] else _module_advice(work.files, module)
        if answer["may_be_the_version"]:
            advice = target.advice_from(Target.this_machine())
        said = (answer["error"], advice, answer["traceback"], ended.output)
        raise HandlersFailed(_with_lines(*said))
    return tuple(answer["handlers"]), tuple(answer["notes"])


def _reason(ended: Ended) -> str:
    if ended.exit_code < 0:
        return f"was ended by signal {-ended.exit_code}; it may take {IMPORT_SECONDS:.0f} s"
    return f"ended the process with exit code {ended.exit_code}"


def _with_lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part).strip()


def _module_advice(files: SourceFiles, tried: str) -> str:
    others = [name for name in files.candidates if name != tried]
    if not others:
        return ""
    return f"If another module registers them ({listed(others)}), name it: {HOW_TO_NAME_IT}."


def _here(work: _Work, function: str, libraries: _Libraries, manifest: Path) -> Path:
    """Return a function that this machine can run, like the one that is packed."""
    folder = work.workspace / "here" / function
    if not folder.is_dir():
        work.assemble(function, libraries, manifest, folder)
    return folder


def _timed(work: _Work, row: FunctionRow, module: str, folder: Path, manifest: Path) -> FunctionRow:
    work.say(f"Measuring the import of {row.function}")
    environment = cold_start_environment(module, manifest)
    ended = work.isolation.run(_probe_process.__file__, folder, [], environment)
    if ended.answer is None:
        raise PackingError(
            f"The packed {row.function} function cannot be wired: it {_reason(ended)}.\n"
            f"{ended.output}"
        )
    return replace(row, cpu_seconds=ended.answer["cpu_seconds"])


def cold_start_environment(module: str, manifest: Path) -> dict[str, str]:
    """Return an environment in which a function wires itself; what it names does not exist."""
    made_up = {
        one.name: f"https://sqs.us-east-1.amazonaws.com/123456789012/{one.name}"
        for one in fields(Settings)
        if one.default == ""
    }
    made_up |= {"handlers": module, "manifest": str(manifest)}
    settings = replace(Settings(), **made_up)  # type: ignore[arg-type]  # its fields of text
    return {**settings_environment(settings), INITIALIZATION_TYPE: _ON_DEMAND}


def _proof_text(here: Target, target: Target) -> str:
    said = f"The handlers' import was proved by Python {platform.python_version()} on this machine"
    if here == target:
        return f"{said}, as the function will run them."
    return f"{said} ({here.platform}), with the wheels of this machine, not those of {target}."


def _pinning_notes(requirements: Requirements | None, libraries: _Libraries) -> tuple[str, ...]:
    """Name what was installed in a version that another pack may not have."""
    if requirements is None:
        return ()
    ours, theirs = (
        {canonicalize_name(distribution_of(PurePosixPath(notes.name))) for notes in found}
        for found in (libraries.ours.glob("*.dist-info"), libraries.theirs.glob("*.dist-info"))
    )
    names = sorted(theirs - ours - requirements.pinned)
    if not names:
        return ()
    return (
        f"not pinned to one version: {listed(names)}. A pack built elsewhere or later may contain "
        "others. To fix a version, write name==version in requirements.txt.",
    )


def _require_replaceable(to: Path) -> None:
    if to.is_dir() and any(to.iterdir()) and not (to / REPORT).is_file():
        raise PackingError(f"{to} holds what packing did not write. Name another folder.")
    if to.exists() and not to.is_dir():
        raise PackingError(f"{to} is not a folder.")


def _deliver(assets: Path, report: Report, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report.as_json(), indent=2) + "\n"
    (to / REPORT).write_text(text, encoding="utf-8")
    for function in FUNCTIONS:
        if (to / function).exists():
            shutil.rmtree(to / function)
        shutil.move(assets / function, to / function)
