"""Whatever ends a part of the proof from outside leaves nothing of it behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from proof.ending import TERMINATED, end_group
from proof.parts import PARTS

ROOT = Path(__file__).parents[1]
SECONDS = 30.0
PATIENCE = 1.0
"""What a part that does not end is given here."""


class Started:
    """Runs Python as the leader of a group, and knows what that started."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []

    def run(self, program: str) -> tuple[subprocess.Popen[bytes], list[int]]:
        """Run it until it has printed a line of process ids; return these."""
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.processes.append(process)
        assert process.stdout is not None
        return process, [int(pid) for pid in process.stdout.readline().split()]

    def close(self) -> None:
        """End all of it, whatever the test found."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture
def started() -> Iterator[Started]:
    it = Started()
    yield it
    it.close()


def test_sigterm_lets_context_managers_end_what_is_open(started: Started, tmp_path: Path) -> None:
    process, _ = started.run(f"""
        import os, time
        from contextlib import ExitStack
        from pathlib import Path
        from proof.ending import unwind_on_sigterm
        unwind_on_sigterm()
        with ExitStack() as stack:
            stack.callback(Path({str(tmp_path / "ended")!r}).touch)
            print(os.getpid(), flush=True)
            time.sleep(600)
    """)
    process.terminate()
    assert process.wait(SECONDS) == TERMINATED
    assert (tmp_path / "ended").exists()


def test_what_swallows_the_end_is_ended_all_the_same_and_no_cleaning_up_is_disturbed(
    started: Started, tmp_path: Path
) -> None:
    process, _ = started.run(f"""
        import os, time
        from contextlib import contextmanager
        from pathlib import Path
        from proof.ending import SECONDS_BETWEEN_LOOKS, unwind_on_sigterm
        unwind_on_sigterm()
        @contextmanager
        def ending_slowly():
            try:
                yield
            finally:
                time.sleep(SECONDS_BETWEEN_LOOKS * 2.5)
                Path({str(tmp_path / "ended")!r}).touch()
        with ending_slowly():
            print(os.getpid(), flush=True)
            try:
                time.sleep(600)
            except BaseException:
                pass
            time.sleep(600)
    """)
    process.terminate()
    assert process.wait(SECONDS) == TERMINATED
    assert (tmp_path / "ended").exists()


def test_a_process_that_is_forked_ends_without_ending_what_is_its_parents(
    started: Started, tmp_path: Path
) -> None:
    process, (_, forked) = started.run(f"""
        import os, time
        from contextlib import ExitStack
        from pathlib import Path
        from proof.ending import unwind_on_sigterm
        unwind_on_sigterm()
        with ExitStack() as stack:
            stack.callback(Path({str(tmp_path / "ended")!r}).touch)
            # Python forgets the signals that come while it forks: the child says when it is there.
            there, says = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(says, b".")
                time.sleep(600)
            else:
                os.read(there, 1)
                print(os.getpid(), child, flush=True)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -15
                os._exit(7)
    """)
    os.kill(forked, signal.SIGTERM)
    assert process.wait(SECONDS) == 7
    assert not (tmp_path / "ended").exists()


@pytest.mark.parametrize("session", ["its own", "the same"])
@pytest.mark.parametrize("state", ["deaf", "stopped"])
def test_nothing_outlives_the_group(started: Started, session: str, state: str) -> None:
    process, _ = started.run(f"""
        import os, signal, subprocess, sys, time
        program = "import signal, time;"
        program += "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        child = subprocess.Popen(
            [sys.executable, "-c", program], start_new_session={session == "its own"}
        )
        if {state == "stopped"}:
            child.send_signal(signal.SIGSTOP)
        print(child.pid, flush=True)
        time.sleep(600)
    """)
    end_group(process, PATIENCE)
    assert process.returncode == -signal.SIGTERM
    # Parent and child share one output, which ends with the last of them.
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], SECONDS)[0] != []
    assert process.stdout.read() == b""


def test_a_leader_that_does_not_end_is_killed(started: Started) -> None:
    process, _ = started.run("""
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(os.getpid(), flush=True)
        time.sleep(600)
    """)
    end_group(process, PATIENCE)
    assert process.returncode == -signal.SIGKILL


def test_every_part_unwinds_on_sigterm() -> None:
    folder = Path(__file__).parent
    for part in PARTS:
        texts = [path.read_text() for path in (folder / part.name).glob("*.py")]
        assert any("    unwind_on_sigterm()\n" in text for text in texts), part.name
