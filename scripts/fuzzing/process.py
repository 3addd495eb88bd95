"""A command in a process of its own, which is held to limits and looked at when it has ended."""

from __future__ import annotations

import os
import resource
import shlex
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 20
"""Of the processor's time."""
MOST_WALL_SECONDS = 240
"""Of anybody's: nobody waits for ever. The machine may have much else to do."""
MOST_BYTES = 1 << 30
"""Resident."""
STOP_BYTES = 4 << 30
"""Of addresses: the machine is to survive."""
UNCAUGHT = 70
"""The exit status of a forked process that an exception ended."""


@dataclass(frozen=True)
class Ended:
    """How a process ended: its status (a signal counts below zero), what it printed, and what it took."""

    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    resident_bytes: int


def run(words: Sequence[str], folder: Path, shell: bool) -> Ended:
    """Run a command of tilesim in ``folder``: in a fork of this process, or in a new one that a shell starts."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _be_the_child(words, folder, shell, out, err)
        _, status, usage = os.wait4(child, 0)
        out.seek(0)
        err.seek(0)
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, out.read(), err.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def _be_the_child(words: Sequence[str], folder: Path, shell: bool, out: IO[bytes], err: IO[bytes]) -> NoReturn:
    status = UNCAUGHT
    try:
        _settle(folder, out, err)
        if shell:
            command = f"exec {shlex.join([sys.executable, '-m', 'tilesim', *words])}"
            os.execve("/bin/sh", ["sh", "-c", command], _environment(folder))  # noqa: S606  (the shell is the point)
        os.environ.update(_environment(folder))
        status = _called(words)
    except BaseException:  # noqa: BLE001  (whatever it is, it must not get into the fuzzer's own code)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _settle(folder: Path, out: IO[bytes], err: IO[bytes]) -> None:
    """Streams, limits and signals of a process that has just been forked."""
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 2))
    resource.setrlimit(resource.RLIMIT_AS, (STOP_BYTES, STOP_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(MOST_WALL_SECONDS)
    os.chdir(folder)


def _environment(folder: Path) -> dict[str, str]:
    """A folder of its own for temporary files, and a terminal of a known width."""
    temporary = str(folder.parent / "tmp")
    return {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": temporary, "COLUMNS": "80"}


def _called(words: Sequence[str]) -> int:
    """The exit status of tilesim with these words."""
    from tilesim.cli import main

    tempfile.tempdir = None
    sys.argv = ["tilesim", *words]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
