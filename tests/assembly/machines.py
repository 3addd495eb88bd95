"""What the tests of all machines' programs are tried with: a program of each, and any others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.assembly.drawing import WORDS, any_of, segments, some
from tests.systolic import programs as systolic
from tilesim.assembly.files import Assembly
from tilesim.systolic.isa.assembly import ASSEMBLY as SYSTOLIC
from tilesim.systolic.isa.checks.program import faults as systolic_faults
from tilesim.systolic.isa.model.program import Batching, Step
from tilesim.tiled.isa.assembly import ASSEMBLY as TILED
from tilesim.tiled.isa.checks.program import faults as tiled_faults
from tilesim.tiled.isa.model.fields import Alternate, Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import (
    INSTRUCTIONS,
    Infeed,
    Operation,
    RingConsume,
    ScalarFence,
    TensorOp,
    TileFence,
)
from tilesim.tiled.isa.model.program import (
    Block,
    DataSegment,
    HostTensor,
    Layer,
    Program,
    Region,
    TensorLayout,
    TensorPiece,
)
from tilesim.tiled.topology import Tile, Topology

CHIP = Topology(machine="tiled", name="edge", tile=Tile(loop_depth=7))
OP = TensorOp(
    tiles=1,
    operation=Operation.CONVOLUTION,
    nest=Nest((Loop("y", 8), Loop("z", 4), Loop("lane", 16)), Alternate("y", 3)),
    reduce=("z",),
    input=Reference(0x40, (("y", 64), ("z", -4))),
    wait=(Watcher(Flag.AVDATA, 1), Watcher(Flag.WIDE_TO_NARROW, 3, "y", 2)),
    label="L3",
)
CONSUME = RingConsume(tiles=3, write=Traversal(Nest((Loop("r", 36),)), Reference(0, (("r", 256),))), produce="r")
BLOCK = Block((0, 0, 0), (4, 4, 3), 4, 1)
SAMPLE = Program(
    name="resnet8",
    topology=CHIP,
    load=(CONSUME, Infeed(source="data", rows=36, to=3)),
    run=(OP, TileFence(tiles=3), ScalarFence(count=2)),
    data=(DataSegment("params", np.arange(5, dtype=np.uint8), 0),),
    inputs=(HostTensor("in0", 0, "int8", (1, 4, 4, 3), (0, 1, 2, 3), "i8", (4, 4, 3), (BLOCK,), -128, 0.1),),
    layers=(Layer("conv1", "convolution", 99),),
)
_LISTS = {"layers": Layer, "tensors": TensorLayout, "pieces": TensorPiece, "regions": Region}


@dataclass(frozen=True)
class Case:
    """A machine: its assembly, one of its programs, any of them, its instructions, and what its checks find."""

    machine: str
    assembly: Assembly[Any]
    sample: Any
    programs: st.SearchStrategy[Any]
    instructions: Sequence[type]
    faults: Callable[[Any], Sequence[str]]

    @property
    def text(self) -> str:
        return self.assembly.write(self.sample)

    def same(self, a: Any, b: Any) -> bool:
        """Whether two programs are the same, to the last byte of their data."""
        names = [member.name for member in fields(self.assembly.program) if member.name != "data"]
        pairs = zip(a.data, b.data, strict=True)
        return all(getattr(a, name) == getattr(b, name) for name in names) and all(
            vars(x) | {"data": None} == vars(y) | {"data": None} and np.array_equal(x.data, y.data) for x, y in pairs
        )


def data_of(program: Any) -> dict[str, Any]:
    """The bytes of the data segments by name."""
    return {segment.name: segment.data for segment in program.data}


_tiled_instructions = st.one_of([any_of(kind) for kind in INSTRUCTIONS])
CASES = {
    "tiled": Case(
        "tiled",
        TILED,
        SAMPLE,
        st.builds(
            Program,
            name=WORDS,
            topology=WORDS.map(lambda name: CHIP.model_copy(update={"name": name})),
            load=some(_tiled_instructions, 2),
            run=some(_tiled_instructions, 4),
            data=segments(DataSegment),
            inputs=some(any_of(HostTensor)),
            outputs=some(any_of(HostTensor)),
            **{name: some(any_of(kind)) for name, kind in _LISTS.items()},
        ),
        INSTRUCTIONS,
        tiled_faults,
    ),
    "systolic": Case(
        "systolic",
        SYSTOLIC,
        replace(systolic.small(), batching=Batching("demand", 1349.25, (2,), (Step(0, 0, 1, "L4", 16),))),
        systolic.programs(),
        systolic.CLASSES,
        systolic_faults,
    ),
}
each_machine = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
