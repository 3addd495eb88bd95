"""The text and the bytes of the systolic machine's own: its lines, its values, and what is wrong with them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.assembly.machines import CASES, data_of
from tests.systolic.programs import CHIP, TOPOLOGIES, small
from tilesim.assembly.files import machine_in
from tilesim.config import load as load_config
from tilesim.errors import ProgramError
from tilesim.systolic.isa.assembly import ASSEMBLY
from tilesim.systolic.isa.model.instructions import (
    Combine,
    Fill,
    Halt,
    Instruction,
    MatrixMultiply,
    Nest,
    Pool,
    Pooling,
    Queue,
    ReadHostMemory,
    Sync,
    Window,
)

PATH = Path("p.tasm")
SYSTOLIC = CASES["systolic"]
WINDOW = Window(0x40, 1, 64, 4, 4, 16, 4, 4, 4, 4, (3, 3), padding=(1, 1))


@pytest.mark.parametrize(
    ("op", "line"),
    [
        (Halt(), "  halt"),
        (ReadHostMemory(label="in", bytes=64), "in: read_host_memory bytes=64"),
        (Sync(unit=Queue.VECTOR, until=Queue.MATRIX, count=2), "  sync unit=vector until=matrix count=2"),
        (
            MatrixMultiply(label="L3", layer=2, window=replace(WINDOW, kernel=(1, 1), padding=(0, 0)), vectors=16),
            "L3: matrix_multiply window=(address=0x40 height=4 width=4 channels=4) vectors=16 layer=2",
        ),
        (
            MatrixMultiply(window=WINDOW, vectors=16, rows=36, columns=8, switch=False, accumulate=True),
            (
                "  convolve window=(address=0x40 height=4 width=4 channels=4 kernel=3,3 padding=1,1) vectors=16 "
                "rows=36 columns=8 switch=false accumulate=true"
            ),
        ),
        (
            Pool(window=replace(WINDOW, images=2, output_height=2), pool=Pooling("average", (0, 9), "real", ((9, 1),))),
            (
                "  pool window=(address=0x40 images=2 height=4 width=4 channels=4 output_height=2 kernel=3,3 "
                "padding=1,1) pool=(function=average clamp=0,9 rule=real scalings=[9,1])"
            ),
        ),
        (
            Combine(
                a=Nest(0, 4),
                b=Nest(16, 2, (2,), (8,)),
                destination=Nest(32, 4),
                rule="double",
                scaling=(),
                clamp=(0, 1),
            ),
            (
                "  add a=(address=0x0 bytes=4) b=(address=0x10 bytes=2 counts=2 strides=8) "
                "destination=(address=0x20 bytes=4) rule=double scaling=() clamp=0,1"
            ),
        ),
        (Fill(destination=Nest(0, 4), value=7, label="a b"), '"a b": fill destination=(address=0x0 bytes=4) value=7'),
    ],
)
def test_a_line_is_short(op: Instruction, line: str) -> None:
    assert ASSEMBLY.write_instruction(op) == line


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("activate", "actvate", "must be an instruction, not 'actvate'; did you mean 'activate'?"),
        ("columns=4 scale", "colums=4 scale", "must be a key of activate, not 'colums'; did you mean 'columns'?"),
        ("channels=4", "chanels=4", "must be a key of window, not 'chanels'; did you mean 'channels'?"),
        ("channels=4", "", "window must also have channels"),
        ("unit=matrix", "unit=matrx", "unit must be a queue, not 'matrx'; did you mean 'matrix'?"),
        ("source=data", "source=dta", "source must be one of its words, not 'dta'; did you mean 'data'?"),
        ("window=(", "window=", "window must go on with '(', not with 'address"),
        ("channels=4)", "channels=4", "the ( opened here must be closed on this line"),
        ("clamp=-128,127", "clamp=-128", "clamp must be 2 values, not 1"),
        ("memory bytes=4", "memory bytes=4 bytes=4", "bytes must stand only once"),
        ("memory bytes=4", "memory 4", "must be key=value, not '4'"),
        ("memory bytes=4", "memory bytes", "must be key=value, not 'bytes'"),
        ("in count=1", "in ", "sync must also have count"),
        ("weight_reuse=1349.25", "weight_reuse=x", "weight_reuse must be a number, not 'x"),
        ("machine=systolic", "array=4", "array must be a value or a section, not both"),
        (".step", ".batching schedule=a weight_reuse=1 batches=()\n.step", ".batching must stand only once"),
    ],
)
def test_a_fault_says_what_is_wrong(old: str, new: str, fault: str) -> None:
    assert old in SYSTOLIC.text
    with pytest.raises(ProgramError) as caught:
        ASSEMBLY.read(SYSTOLIC.text.replace(old, new, 1), PATH, data_of(SYSTOLIC.sample))
    assert any(fault in each for each in caught.value.faults), caught.value.faults


def test_a_step_belongs_to_a_batching_line() -> None:
    lines = [line for line in SYSTOLIC.text.splitlines() if not line.startswith(".batching")]
    with pytest.raises(ProgramError, match=r"a \.step must belong to a \.batching line"):
        ASSEMBLY.read("\n".join(lines), PATH, data_of(SYSTOLIC.sample))


def test_all_faults_come_at_once_with_their_places() -> None:
    text = (
        SYSTOLIC.text.replace("in count=1", "in cont=1 until=x")
        .replace("channels=4)", "channels=x) y=1")
        .replace("rows=4", "rows=-1", 1)
    )
    with pytest.raises(ProgramError) as caught:
        ASSEMBLY.read(text, PATH, data_of(SYSTOLIC.sample))
    lines = text.splitlines()
    sync, multiply = (1 + next(k for k, line in enumerate(lines) if word in line) for word in ("cont=", "y=1"))
    places = [fault.split(": ")[0] for fault in caught.value.faults]
    assert places == [
        "p.tasm:9:13",
        *(f"p.tasm:{sync}:{column}" for column in (5, 35, 42)),
        *(f"p.tasm:{multiply}:{column}" for column in (67, 70)),
    ]


def test_every_shipped_chip_comes_back(tmp_path: Path) -> None:
    for path in sorted(TOPOLOGIES.glob("*.yaml")):
        if "machine: systolic" in path.read_text():
            chip = load_config(path, type(CHIP))
            for name in ("p.tasm", "p.tbin"):
                saved = ASSEMBLY.save(replace(small(), topology=chip), tmp_path, name)
                assert machine_in(saved) == "systolic"
                assert ASSEMBLY.load(saved).topology == chip


def test_a_binary_program_runs_alike_in_a_new_process(tmp_path: Path) -> None:
    """The same bits and the same cycles as the program that was never saved."""
    network, chip = tilesim.load_network("digits"), tilesim.load_topology("systolic-32")
    program = tilesim.compile(network, chip)
    shape = program.inputs[0].shape
    image = np.arange(np.prod(shape)).reshape(shape).astype(program.inputs[0].dtype)
    run = tilesim.simulate(program, image)
    tilesim.save_program(program, tmp_path / "p.tbin")
    np.save(tmp_path / "image.npy", image)
    code = (
        "import json, numpy, tilesim\n"
        "run = tilesim.simulate(tilesim.load_program('p.tbin'), numpy.load('image.npy'))\n"
        "print(json.dumps([run.cycles, run.outputs[0].tolist()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [run.cycles, run.outputs[0].tolist()]
