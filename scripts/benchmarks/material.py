"""What has to be there before anything is timed, made once into a folder: an environment for SCALE-Sim, ResNet-50."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from scripts.benchmarks.processes import ROOT

SCALESIM = "3.0.0"
PACKAGES = (f"scalesim=={SCALESIM}", "numpy<2", "pandas<3")
"""SCALE-Sim names no bounds, and runs with no newer ones."""
MAKER = ROOT / "scripts" / "make_resnet50.py"

Say = Callable[[str], None]


class MaterialError(Exception):
    """What can't be made, in a sentence."""


def scalesim_python(folder: Path, say: Say) -> Path:
    """An interpreter that has SCALE-Sim. Raises MaterialError."""
    environment = folder / f"scalesim-{SCALESIM}"
    python = environment / "bin" / "python"
    if not (environment / "done").is_file():
        say("installing SCALE-Sim into an environment of its own")
        _must([sys.executable, "-m", "venv", "--clear", str(environment)], "make an environment for SCALE-Sim")
        _must([str(python), "-m", "pip", "install", "-q", *PACKAGES], "install SCALE-Sim")
        (environment / "done").touch()
    return python


def resnet50(folder: Path, say: Say) -> Path:
    """The model, made by its script. Raises MaterialError."""
    model = folder / "resnet50.onnx"
    if not MAKER.is_file():
        raise MaterialError(f"there is no {MAKER.relative_to(ROOT)}")
    if not model.is_file() or model.stat().st_mtime < MAKER.stat().st_mtime:
        say("making ResNet-50")
        part = folder / "making-resnet50.onnx"
        _must([sys.executable, str(MAKER), str(part)], "make ResNet-50")
        part.replace(model)
    return model


def _must(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (our own commands)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise MaterialError(f"can't {what}: {reason}")
