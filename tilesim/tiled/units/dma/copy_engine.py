"""A DMA engine between a tile's memories: narrow words gathered into wide rows, or wide rows scattered over words."""

from __future__ import annotations

from tilesim.sim.core.clock import Work
from tilesim.sim.core.unit import Unit
from tilesim.sim.pipe.course import PipeForm
from tilesim.tiled.isa.model.fields import Engine
from tilesim.tiled.isa.model.instructions import Copy, counted_nest
from tilesim.tiled.isa.model.loops import completions, gates
from tilesim.tiled.isa.model.sheet import SheetRow
from tilesim.tiled.units.engine import TileContext, TileEngine, alike

ROW_BUFFERS = 2
"""Rows that are gathered, or wait to be written. Assumption: double buffering."""


class CopyEngine(TileEngine[Copy]):
    """Reads one memory and writes the other, a narrow word a cycle, and touches the wide one once a row.

    Loops that produce are the rows', as are those that watchers name.

    Timing: unloaded, R rows of w words take R * w + 1 cycles from start to retirement; peak rate one word a cycle.
    Source: US 19/025,090 [0052], [0055]; the double buffer is an assumption.
    """

    def __init__(self, tile: TileContext, unit: Unit, name: Engine, row: SheetRow) -> None:
        super().__init__(tile, unit, name)
        self._reading, self._writing = (tile.memories.side(name, side.field, side.memory) for side in row.operands)

    def execute(self, op: Copy) -> Work:
        yield from self.watch(op.wait)
        reading, writing = self._reading, self._writing
        sources = self.tile.ttu.places(op.read, reading.access_bytes)
        targets = self.tile.ttu.places(op.write, writing.access_bytes)
        row_bytes = max(reading.access_bytes, writing.access_bytes)
        reads, writes = row_bytes // reading.access_bytes, row_bytes // writing.access_bytes

        def move(first: int, end: int) -> None:
            data = reading.memory.read(sources.part(first * reads, end * reads))
            writing.memory.write(targets.part(first * writes, end * writes), data)

        nest = counted_nest(op)
        if self.unit.instant:
            yield from self.run_at_once(
                len(sources) // reads, gates(nest, op.wait), completions(nest, op.produce), move
            )
            return
        form = PipeForm(ROW_BUFFERS, [reading.slot], writing.slot)
        pipe = self.pipe(alike(len(sources) // reads, reads, writes), form, move)
        yield from self.run_pipe(pipe, gates(nest, op.wait), completions(nest, op.produce))
