"""Systolic programs for tests: random ones, and small ones written down as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.assembly import drawing
from tests.assembly.drawing import WHOLE, WORDS, segments, some
from tilesim.config import load as load_config
from tilesim.machines.program import DataSegment
from tilesim.systolic.isa.assembly import ASSEMBLY
from tilesim.systolic.isa.encoding import RULES, WIDTHS
from tilesim.systolic.isa.model.instructions import CLASSES, Instruction
from tilesim.systolic.isa.model.program import Batching, HostTensor, Layer, Program, TensorPlace
from tilesim.systolic.topology import Topology

TOPOLOGIES = Path(__file__).resolve().parents[2] / "topologies"
CHIP = Topology(machine="systolic", name="chip")


def any_of(kind: type, sound: bool = True) -> st.SearchStrategy[Any]:
    """Instances of a dataclass, each field drawn by its type; ``sound``: numbers have room where they are sent."""

    def special(kind: type, name: str) -> st.SearchStrategy[Any] | None:
        width = WIDTHS.get(kind, {}).get(name)
        if name == "rule":
            return st.sampled_from(RULES)
        return st.integers(width.least, width.most) if sound and width else None

    return drawing.any_of(kind, special)


def instructions(sound: bool = True) -> st.SearchStrategy[Instruction]:
    """Any instruction; unless ``sound``, with any numbers."""
    return st.one_of([any_of(kind, sound) for kind in CLASSES])


def programs(sound: bool = False) -> st.SearchStrategy[Program]:
    """Programs of a few lines of everything, which mean nothing together."""
    return st.builds(
        Program,
        name=WORDS,
        topology=WORDS.map(lambda name: CHIP.model_copy(update={"name": name})),
        load=some(instructions(sound), 2),
        run=some(instructions(sound), 4),
        data=segments(DataSegment),
        inputs=some(any_of(HostTensor)),
        outputs=some(any_of(HostTensor)),
        layers=some(any_of(Layer), 2),
        tensors=some(any_of(TensorPlace)),
        inferences=WHOLE,
        batching=st.none() | any_of(Batching),
    )


def program(run: str, load: str = "", head: str = "", data: dict[str, int] | None = None, **keys: object) -> Program:
    """A program for a chip of 4 x 4 cells; ``run`` and ``load`` hold a line an instruction.

    ``data`` are the sizes of the segments; ``keys`` change the chip (``array__rows=8``).
    """
    topology = load_config(
        TOPOLOGIES / "systolic-4.yaml", Topology, {key.replace("__", "."): value for key, value in keys.items()}
    )
    first = ASSEMBLY.write(Program("test", topology, (), ())).removesuffix(".load\n.run\n")
    arrays = {name: np.zeros(size, np.uint8) for name, size in (data or {}).items()}
    lines = "".join(f".data name={name} bytes={size}\n" for name, size in (data or {}).items())
    return ASSEMBLY.read(f"{first}{lines}{head}\n.load\n{load}\n.run\n{run}\n", Path("test.tasm"), arrays)


HEAD = """
.input name=in0 index=0 dtype=int8 shape=1,4 axes=0,1 element=int8
.output name=out0 index=0 dtype=int8 shape=1,4 axes=0,1 element=int8
.layer name=dense kind=fully_connected macs=16 vectors=1 inputs=4 outputs=4
"""
LOAD = """
W: read_host_memory source=data destination=weight_memory bytes=16
P: read_host_memory source=data tensor=1 address=0x100 bytes=48
halt
"""
RUN = """
L1: read_host_memory bytes=4
L2: read_weights
S1: sync unit=matrix until=dma_in count=1
L3: matrix_multiply window=(address=0x0 height=1 width=1 channels=4) rows=4 columns=4 layer=0
S2: sync unit=vector until=matrix count=2
L4: activate columns=4 scale=(rule=double parameters=0x100 zero_point=0 clamp=-128,127) address=0x200 stride_bytes=4
S3: sync unit=dma_out until=vector count=2
L5: write_host_memory address=0x200 bytes=4
halt
"""


def small(run: str = RUN, head: str = HEAD, **keys: object) -> Program:
    """One fully connected layer of 4 inputs and 4 outputs."""
    return program(run, LOAD, head, {"weights": 16, "parameters": 48}, **keys)
