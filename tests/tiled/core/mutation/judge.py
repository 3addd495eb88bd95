"""Whether a mutant of the core is caught by comparing runs with those of SimPy."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tiled.core.mutation.sites import Mutant
from tests.tiled.core.mutation.trial import DIFFERS, NOT_COMPILED, SAME
from tilesim.tiled.core.build import SOURCES

ROOT = Path(__file__).resolve().parents[4]
LONGEST_SECONDS = 30
SURVIVED, NO_C = "survived", "does not compile"


def verdict(mutant: Mutant | None, expected: Path) -> str:
    """How a mutant is caught, or one of ``SURVIVED``, ``NO_C``; None: the core as it is."""
    with tempfile.TemporaryDirectory() as place:
        sources = Path(place) / "core"
        shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        if mutant:
            mutant.written(sources)
        command = [sys.executable, "-m", "tests.tiled.core.mutation.trial", sources, f"{place}/core.so", expected]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
            )
        except subprocess.TimeoutExpired:
            return "does not end"
    said = {SAME: SURVIVED, NOT_COMPILED: NO_C, DIFFERS: done.stdout.strip()}
    return said.get(done.returncode) or f"crashes: {done.returncode} {done.stderr.strip()[-80:]}"
