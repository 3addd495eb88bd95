"""Subjects in fresh processes, one after the other: first of one, then of the next, and round again."""

from __future__ import annotations

import compileall
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

SHARE = 0.1
"""Of a group's budget: a subject that takes more is run once."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """Something that is timed: what :mod:`~scripts.benchmarks.subject` calls it, with what arguments.

    ``needs`` are packages without which it is left out; those of ``answer`` that are one word must give the same
    outputs to the last bit. ``python`` is another interpreter with a script that prints the record.
    """

    label: str
    kind: str = "simulate"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    answer: str = ""
    python: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """What starts its process."""
        if self.python:
            return [*self.python, json.dumps(dict(self.arguments))]
        return [sys.executable, "-m", "scripts.benchmarks.subject", self.kind, json.dumps(dict(self.arguments))]


@dataclass(frozen=True)
class Patience:
    """How often each subject is run, after how many seconds of those that are run again a group has no further round,
    when a process is ended.
    """

    rounds: int
    budget_seconds: float
    limit_seconds: float


def one_core() -> None:
    """Keep this process and its children on one core, with one thread each."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if sys.platform == "linux":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def as_installed() -> None:
    """Compile the package's modules to bytecode, as installing it does, whatever the environment says."""
    compileall.compile_dir(ROOT / "tilesim", quiet=2)


def interleaved(subjects: Sequence[Subject], patience: Patience, say: Callable[[str], None]) -> dict[str, list[Record]]:
    """The records of all subjects by their labels, round by round. One that fails, or takes more than a share of the
    budget, is not run again, so that the others have all their rounds.
    """
    records: dict[str, list[Record]] = {subject.label: [] for subject in subjects}
    left, spent_seconds = [*subjects], 0.0
    for turn in range(patience.rounds):
        for subject in [*left]:
            start = time.monotonic()
            record = ran(subject, patience.limit_seconds)
            took_seconds = time.monotonic() - start
            records[subject.label].append(record)
            say(f"{subject.label}, round {turn + 1}: {record.get('error') or '{seconds:.3f} s'.format(**record)}")
            if "error" in record or took_seconds > SHARE * patience.budget_seconds:
                left.remove(subject)
            else:
                spent_seconds += took_seconds
        if spent_seconds > patience.budget_seconds:
            break
    return records


def ran(subject: Subject, limit_seconds: float) -> Record:
    """The record of a subject in a fresh process; with ``error`` in it if there is none."""
    if missing := [name for name in subject.needs if importlib.util.find_spec(name) is None]:
        return {"error": f"{' and '.join(missing)} is not installed"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(  # noqa: S603  (our own subjects)
            subject.command,
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit_seconds,
            check=True,
        )
        record: Record = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {limit_seconds:g} s"}
    except subprocess.CalledProcessError as error:
        return {"error": (error.stderr.strip().splitlines() or [f"exit status {error.returncode}"])[-1]}
    return record
