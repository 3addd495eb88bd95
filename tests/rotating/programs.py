"""Programs of the rotating machine made by hand, whatever the compiler thinks of them.

Each begins with ``PROLOGUE`` slots in which nothing but parameters moves, so that its first slot is in cycle
``PROLOGUE``, and what the oracles say of cycles holds from there on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.program import DataSegment
from tilesim.rotating.isa.model.instructions import (
    Counter,
    End,
    Function,
    Halt,
    Instruction,
    Loop,
    Mask,
    Out,
    Parameters,
    Queue,
    Ram,
    ReadHostMemory,
    Rows,
    Set,
    Sync,
    WriteHostMemory,
)
from tilesim.rotating.isa.model.program import HostTensor, Layout, Program, Stripe
from tilesim.rotating.layout import words_in_rows
from tilesim.rotating.topology import Topology

Array = NDArray[Any]
PROLOGUE = 12
"""Slots before the first of a program: as many as the fetch of a set of parameters takes, and some."""
PARAMETER_ROW = -12
"""Where the parameters stand, from the end of the weight RAM."""
AS_IT_IS = (0, 1 << 30, 1)
"""Bias, multiplier and shift of a sum that stays as it is, by the rule ``single``."""


def halved(times: int) -> tuple[int, int, int]:
    """Bias, multiplier and shift of a sum that is shifted right, rounded down, by the rule ``single``."""
    return -(1 << (times - 1)), 1 << 30, 1 - times


def chip(units: int = 8, /, **keys: Any) -> Topology:
    """A small chip; ``keys`` are sections, or what stands in them: ``data_ram={"ports": "dual"}``."""
    sections: dict[str, Any] = {
        "machine": "rotating",
        "name": f"rotating-{units}",
        "units": {"count": units},
        "rotation": {"distances": "1"},
        "data_ram": {"rows": 64},
        "weight_ram": {"rows": 512},
        "host": {"bytes_per_cycle": 4096},
    }
    for section, values in keys.items():
        sections[section] = {**sections.get(section, {}), **values}
    return Topology.model_validate(sections)


def words_limits(topology: Topology) -> tuple[int, int]:
    return -(1 << (topology.units.word_bits - 1)), (1 << (topology.units.word_bits - 1)) - 1


def parameter_words(topology: Topology, bias: Any, multiplier: Any, shift: Any) -> Array:
    """The rows of a set, as words; each of the three is one number, or one a unit."""
    count, width = topology.units.count, topology.word_bytes
    numbers = (np.broadcast_to(np.asarray(value, kind), count) for value, kind in ((bias, "<i4"), (multiplier, "<i4")))
    parts = [np.ascontiguousarray(value).view(np.uint8).reshape(count, 4) for value in numbers]
    parts.append(np.broadcast_to(np.asarray(shift, np.int8), count).reshape(count, 1).view(np.uint8))
    each = np.concatenate(parts, axis=1)
    padded = np.pad(each, ((0, 0), (0, -each.shape[1] % width))).reshape(count, -1, width)
    rows = np.ascontiguousarray(padded.transpose(1, 0, 2)).reshape(-1, count * width)
    return rows.view("<i2" if width == 2 else "i1")


@dataclass(frozen=True)
class Bare:
    """What a program does behind its prologue, and what stands in the RAMs before it."""

    topology: Topology
    array: Sequence[Instruction]
    data: Mapping[int, Any]
    """Words of rows of the data RAM."""
    weights: Mapping[int, Any]
    mask: Mask | None = None
    scaling: tuple[Any, Any, Any] = AS_IT_IS
    control: Set | None = None
    dma: Sequence[Instruction] = ()
    """What DMA does meanwhile; its ``data`` are rows of zeros."""
    inputs: tuple[HostTensor, ...] = ()

    @property
    def sets(self) -> Set:
        return self.control or Set(rule="single", clamp=words_limits(self.topology))

    def program(self, sends: Iterable[int] = ()) -> Program:
        """As a program; behind its last write it sends the rows ``sends`` of the data RAM to the host."""
        sends, chip_ = list(sends), self.topology
        first = chip_.weight_ram.rows + PARAMETER_ROW
        weights = {**self.weights, **dict(enumerate(parameter_words(chip_, *self.scaling), first))}
        load, segments = _loading(chip_, {Ram.DATA: self.data, Ram.WEIGHT: weights})
        prologue: list[Instruction] = [Parameters(row=Rows(first)), *([self.mask] if self.mask else [])]
        prologue += [self.sets] * (PROLOGUE - len(prologue))
        zeros = DataSegment("zeros", np.zeros(64 * chip_.row_bytes, np.uint8))
        return Program(
            name="handmade",
            topology=chip_,
            load=(*(replace(op, tensor=op.tensor + 1) for op in load), Halt()),
            run=(*prologue, *self.array, Halt(), *self.dma, *_sending(sends, rows_written(self.array))),
            data=(zeros, *segments),
            inputs=self.inputs,
            outputs=(rows_tensor(chip_, len(sends)),) if sends else (),
        )


def rows_tensor(topology: Topology, rows: int, name: str = "rows", index: int = 0) -> HostTensor:
    """``rows`` rows, word by word."""
    units, dtype = topology.units.count, f"int{topology.units.word_bits}"
    layout = Layout(rows, units, 1, (Stripe(0, units, units, 0, ((0,),)),))
    return HostTensor(name, index, dtype, (1, rows, units, 1), (0, 1, 2, 3), dtype, layout)


def _loading(topology: Topology, rams: Mapping[Ram, Mapping[int, Any]]) -> tuple[list[ReadHostMemory], list[Any]]:
    ops, segments = [], []
    for ram, rows in rams.items():
        for row in sorted(rows):
            data = words_in_rows(np.asarray(rows[row], np.int64), topology)
            ops.append(ReadHostMemory(source="data", tensor=len(segments), ram=ram, row=row))
            segments.append(DataSegment(f"{ram}[{row}]", data))
    return ops, segments


def _sending(rows: list[int], written: int) -> list[Instruction]:
    if not rows:
        return []
    wait = Sync(unit=Queue.DMA_OUT, until=Counter.OUTPUT, count=written)
    return [wait, *(WriteHostMemory(tensor=0, offset=k, row=row) for k, row in enumerate(rows))]


def rows_written(array: Iterable[Instruction]) -> int:
    """Rows that the outs of a program write."""
    turns, rows = [1], 0
    for op in array:
        if isinstance(op, Loop):
            turns.append(turns[-1] * op.count)
        elif isinstance(op, End):
            turns.pop()
        elif isinstance(op, Out):
            rows += turns[-1] * (4 if op.function is Function.RAW else 1)
    return rows


def sending_cycles(rows: int) -> int:
    """How much longer a run is that sends ``rows`` rows behind its last write, a cycle each."""
    return rows + 1 if rows else 0
