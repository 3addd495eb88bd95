"""A chip on a test bench: instructions straight into buffers or over the bus, bytes in and out of memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.accounts import accounts_of
from tilesim.sim.core.memory import Bytes
from tilesim.sim.trace.recorder import Recorder
from tilesim.statistics import BytesByBus
from tilesim.tiled.isa.model.fields import Alternate, Loop, Nest, Reference, Traversal
from tilesim.tiled.isa.model.instructions import Instruction
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.measured import buses_of
from tilesim.tiled.topology import Grid, Topology
from tilesim.tiled.units.chip import Chip


def nest(alternate: Alternate | None = None, /, **bounds: int) -> Nest:
    return Nest(tuple(Loop(name, bound) for name, bound in bounds.items()), alternate)


def at(base: int, **strides: int) -> Reference:
    return Reference(base, tuple(strides.items()))


def line(base: int, bound: int, stride: int) -> Traversal:
    """A traversal of one loop, ``r``."""
    return Traversal(nest(r=bound), at(base, r=stride))


def chip_of(rows: int = 1, columns: int = 1, **sections: Any) -> Topology:
    """A topology that differs from the default where ``sections`` say so, e.g. ``ring={"hop_cycles": 2}``."""
    return Topology(machine="tiled", name="bench", grid=Grid(rows=rows, columns=columns), **sections)


class Bench:
    """A chip, who retired when, and ways in that skip the instruction bus."""

    def __init__(self, topology: Topology | None = None, samples: int = 1, seed: int = 0) -> None:
        self.retired: dict[str, int] = {}
        self.recorder = Recorder()
        self.chip = Chip(topology or chip_of(), samples, self.recorder, self._note)
        self.clock = self.chip.clock
        self.random = np.random.default_rng(seed)

    def _note(self, _tile: int, label: str) -> None:
        self.retired[label] = self.clock.cycle

    def narrow(self, tile: int = 0) -> Bytes:
        return self.chip.tiles[tile].memories.narrow.bytes

    def wide(self, tile: int = 0) -> Bytes:
        return self.chip.tiles[tile].memories.wide.bytes

    def bytes_by_bus(self) -> BytesByBus:
        """What its buses have carried."""
        return accounts_of(Program("bench", self.chip.topology, (), ()), self.chip.units).total(buses_of(self.chip))

    def randomise(self) -> None:
        """Random bytes in the memories of tile 0."""
        for memory in (self.narrow(), self.wide()):
            memory[:] = self.random.integers(0, 256, memory.shape, np.uint8)

    def deliver(self, op: Instruction, tile: int = 0, after: int = 0) -> None:
        """Put ``op`` into its engine's buffer ``after`` cycles from now."""
        if after:
            self.clock.timeout(after).callbacks.append(lambda _: self._put(op, tile))
        else:
            self._put(op, tile)

    def _put(self, op: Instruction, tile: int) -> None:
        assert self.chip.tiles[tile].buffer_of(op).room().triggered
        self.chip.tiles[tile].deliver(op)

    def cycles(self, *ops: Instruction) -> int:
        """How long ``ops``, all delivered to tile 0 now, take until the last one has retired."""
        start = self.clock.cycle
        for op in ops:
            self.deliver(op)
        self.clock.run()
        return max(self.retired.values()) - start

    def run(self, *ops: Instruction, host_rows: Sequence[Bytes] = ()) -> int:
        """Issue ``ops`` over the instruction bus; the length of the run."""
        start, end = self.chip.run(ops, list(host_rows))
        return end - start

    def unit(self, track: str) -> dict[str, int]:
        """The account of a unit, by kind."""
        return next(unit.cycles for unit in self.chip.units if unit.track == f"chip.{track}")

    def spans(self, track: str) -> list[tuple[int, int, str, str]]:
        """What a unit did: (start, cycles, kind, instruction)."""
        trace = self.recorder.trace()
        return [
            (int(start), int(cycles), trace.kinds[kind], trace.whats[what])
            for name, start, cycles, kind, what in zip(
                trace.track, trace.start_cycle, trace.cycles, trace.kind, trace.what, strict=True
            )
            if trace.tracks[name] == f"chip.{track}"
        ]


def signed(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.ascontiguousarray(data).view(np.int8).astype(np.int64)
