"""A small sound program as text, for tests that put one fault after the other into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.rotating.programs import chip
from tilesim.rotating.isa.assembly import ASSEMBLY
from tilesim.rotating.isa.model.program import Program

MAP = "layout=(height=2 width=8 depth=1 stripes=(first_column=0 columns=8 block=8 offset=0 channels=[0]))"
HEAD = f"""
.input name=in0 index=0 dtype=int8 shape=1,2,8,1 axes=0,1,2,3 element=int8 {MAP}
.output name=out0 index=9 dtype=int8 shape=1,2,8,1 axes=0,1,2,3 element=int8 {MAP}
.layer name=conv kind=convolution macs=48
.tensor index=9 name=t row=4 rows_written=2 {MAP} shape=1,2,8,1 axes=0,1,2,3 dtype=int8
"""
LOAD = """
D1: read_host_memory source=data ram=weight_ram rows=3
D2: read_host_memory source=data tensor=1 ram=weight_ram row=8 rows=9
halt
"""
RUN = """
I1: read_host_memory rows=2
P1: parameters row=(row=8)
C1: set rule=single
M1: mask offset=0 block=4 count=2 blocks=2
S1: sync unit=array until=dma_in count=2
L1: loop count=2
X1: step data=(row=0 strides=1) weights=(row=0) alu=multiply_add layer=0
X2: step rotate=1 weights=(row=1 step=1) alu=multiply_add repeat=2
O1: out row=(row=4 strides=1) place=(slots=2 slot=1) clear=zero
E1: end
S2: sync unit=dma_out until=output count=2
W1: write_host_memory row=4 rows=2
halt
"""
DATA = {"weights": 24, "parameters": 72}


def program(
    run: str = RUN, load: str = LOAD, head: str = HEAD, data: dict[str, int] | None = None, **keys: dict[str, object]
) -> Program:
    """For a chip of 8 units, with 16 rows of data and 64 of weights; ``data`` are the sizes of the segments."""
    topology = chip(8, **{"data_ram": {"rows": 16}, "weight_ram": {"rows": 64}, **keys})
    sizes = DATA if data is None else data
    first = ASSEMBLY.write(Program("test", topology, (), ())).removesuffix(".load\n.run\n")
    lines = "".join(f".data name={name} bytes={size}\n" for name, size in sizes.items())
    arrays = {name: np.zeros(size, np.uint8) for name, size in sizes.items()}
    return ASSEMBLY.read(f"{first}{lines}{head}\n.load\n{load}\n.run\n{run}\n", Path("test.tasm"), arrays)


def swapped(text: str, old: str, new: str) -> str:
    """A text with its first ``old`` replaced."""
    assert old in text
    return text.replace(old, new, 1)
