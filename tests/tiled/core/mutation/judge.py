"""Whether a mutant of the core is caught: runs differ from those of SimPy, or sanitizers find something."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.tiled.core.mutation.sites import Mutant
from tests.tiled.core.mutation.trial import DIFFERS, NOT_COMPILED, SAME
from tilesim.tiled.core import build

ROOT = Path(__file__).resolve().parents[4]
LONGEST_SECONDS = 45
FOUND = 99
"""The status with which a process ends in which sanitizers find something."""
SURVIVED, NO_C = "survived", "does not compile"
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def sanitizing() -> dict[str, str]:
    """The environment of a Python that loads a library with sanitizers in it."""
    asan = subprocess.run(
        ["/usr/bin/env", "cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return {
        "LD_PRELOAD": asan.stdout.strip(),
        "ASAN_OPTIONS": f"detect_leaks=0:exitcode={FOUND}",
        "UBSAN_OPTIONS": f"exitcode={FOUND}",
    }


def verdict(mutant: Mutant | None, expected: Path) -> str:
    """How a mutant is caught, or one of ``SURVIVED``, ``NO_C``; None: the core as it is."""
    with tempfile.TemporaryDirectory() as place:
        sources = Path(place) / "core"
        for path in build.sources():
            folder = Path(place) / path.parent.name
            folder.mkdir(exist_ok=True)
            shutil.copy(path, folder)
        if mutant:
            mutant.written(Path(place))
        said = _tried(sources, expected, (), {})
        return _tried(sources, expected, SANITIZERS, sanitizing()) if said == SURVIVED else said


def _tried(sources: Path, expected: Path, flags: Sequence[str], variables: Mapping[str, str]) -> str:
    library, seconds = sources / "core.so", LONGEST_SECONDS * (3 if flags else 1)
    command = [sys.executable, "-m", "tests.tiled.core.mutation.trial", sources, library, expected, *flags]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode == FOUND or done.returncode < 0:
        return f"crashes: {done.returncode} {done.stderr.strip()[:200]}"
    assert done.returncode in (SAME, NOT_COMPILED, DIFFERS), done.stderr
    return {SAME: SURVIVED, NOT_COMPILED: NO_C}.get(done.returncode, done.stdout.strip())
