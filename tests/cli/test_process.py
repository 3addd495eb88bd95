"""What only a process of its own can show: signals, pipes, and that nothing is left over from another run."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TILESIM = (sys.executable, "-m", "tilesim")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}


def tilesim(*words: object) -> str:
    command = [*TILESIM, *map(str, words)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout


def test_a_program_gives_what_its_model_gave(models: Path, tmp_path: Path) -> None:
    folder = models / "mlperf_kws_dscnn"
    samples = np.load(folder / "io.npz")
    np.savez(tmp_path / "in.npz", in0=samples["s1_in0"])
    first, second = tmp_path / "model", tmp_path / "program"
    ending = ("--inputs", tmp_path / "in.npz", "--trace", "--json", "--out")
    of_model = tilesim("run", folder / "model.tflite", "--topology", "edge-1x1", *ending, first)
    of_program = tilesim("run", first / "program.tasm", *ending, second)
    assert json.loads(of_model) == json.loads(of_program)
    assert len(json.loads(of_model)["trace_sha256"]) == 64
    for name in ("outputs.npz", "program.tasm", "program.npz", "trace.npz", "run.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    np.testing.assert_array_equal(np.load(first / "outputs.npz")["out0"], samples["s1_out0_ref"])


def test_a_reader_that_leaves_early_is_no_error() -> None:
    with subprocess.Popen(
        [*TILESIM, "topologies"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def heed_interrupts() -> None:
    """A shell that starts tests in the background has them ignore interrupts, and all that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def read_to_its_end(terminal: int, seconds: float = 60) -> bytes:
    """What is still shown on ``terminal`` until nobody has it open; one that nobody reads holds its writers up."""
    shown, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 1000)
            except OSError:
                break
    return shown


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_an_interrupted_run_ends_quietly_and_leaves_nothing(models: Path, tmp_path: Path) -> None:
    """On a terminal, where progress is shown after a second of a run that takes several. A larger chip would take
    longer to compile for.
    """
    folder = models / "coral_tf2_mnv2_ptq"
    np.save(tmp_path / "in.npy", np.load(folder / "io.npz")["s0_in0"])
    model = folder / "model.tflite"
    files = "--inputs", tmp_path / "in.npy", "--out", tmp_path / "out"
    command = [*TILESIM, "run", model, "-t", "edge-2x2", "--engine", "simpy", *files]
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        env={
            **ENVIRONMENT,
            "PYTHONWARNINGS": "error,ignore::ResourceWarning",  # an import may be interrupted, too
        },
        stdout=subprocess.PIPE,
        stderr=theirs,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 -- the tests start no threads that could hold a lock
    )
    os.close(theirs)
    shown = b""
    while b"simulating" not in shown and process.poll() is None:
        shown += os.read(terminal, 1000)
    process.send_signal(signal.SIGINT)
    shown += read_to_its_end(terminal)
    assert process.wait(timeout=60) == 130
    assert b"Traceback" not in shown
    os.close(terminal)
    assert process.stdout is not None
    assert process.stdout.read() == b""
    process.stdout.close()
    assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize("loaded", ["tilesim.errors", "tilesim.config"])
def test_an_interrupt_while_modules_load_is_no_traceback(loaded: str) -> None:
    """Python tells on standard error of each module when it is loaded."""
    command = [sys.executable, "-X", "importtime", "-m", "tilesim", "topologies"]
    with subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 -- the tests start no threads that could hold a lock
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stderr:
            if line.split()[-1] == loaded.encode():
                process.send_signal(signal.SIGINT)
                break
        said = process.stderr.read()
        assert process.wait() == 130
        assert b"Traceback" not in said
        assert process.stdout.read() == b""


INTERRUPTED_IN_EXEC = """
import tilesim.__main__, tilesim.cli
def run():
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        raise SystemExit(130)  # as typer does
tilesim.cli.main = run
tilesim.__main__.main()
"""


def test_the_status_is_130_wherever_the_interrupt_comes_from(tmp_path: Path) -> None:
    """Such as out of what makes a dataclass: Python remembers that, and would end a module by the signal."""
    (tmp_path / "interrupted.py").write_text(INTERRUPTED_IN_EXEC)
    path = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run([sys.executable, "-m", "interrupted"], env=ENVIRONMENT | path, check=False, timeout=60)
    assert done.returncode == 130


def test_the_program_begins_where_interrupts_are_awaited() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"tilesim": "tilesim.__main__:main"}
    names = "print(*(name for name in sys.modules if name.startswith('tilesim')))"
    light = subprocess.run(
        [sys.executable, "-c", f"import sys, tilesim; {names}; tilesim.Run; from tilesim import *; load_topology"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert light.stdout.split() == ["tilesim"]


@pytest.mark.parametrize("words", ["--help >/dev/full", "nonsense 2>/dev/full", "run nothing -t edge-1x1 2>/dev/full"])
def test_what_cannot_be_said_ends_with_status_2(words: str) -> None:
    command = ["sh", "-c", f"{sys.executable} -m tilesim {words}"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
