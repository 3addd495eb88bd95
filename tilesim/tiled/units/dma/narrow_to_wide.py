"""The narrow→wide DMA engine: narrow words gathered into wide rows."""

from __future__ import annotations

from tilesim.sim.core.action import Action, Actions
from tilesim.sim.pipe.pipe import Pipe
from tilesim.tiled.isa.model.instructions import NarrowToWide
from tilesim.tiled.isa.model.loops import completions, gates
from tilesim.tiled.units.engine import Engine, Throughput, Work, alike
from tilesim.tiled.units.memories import NarrowReadRank, WideRank

ROW_BUFFERS = 2
"""Rows that are gathered or wait to be written. Assumption: double buffering."""


class NarrowToWideEngine(Engine[NarrowToWide]):
    """Reads a narrow word a cycle and touches the wide memory once a row.

    Timing: unloaded, R rows of w words take R * w + 1 cycles from start to retirement; peak rate one word a cycle.
    Source: US 19/025,090 [0052], [0055]; the double buffer is an assumption.
    """

    def execute(self, op: NarrowToWide) -> Work:
        yield from self.watch(op.wait)
        memories = self.tile.memories
        words = self.tile.decoder.places(op.read, memories.word_bytes)
        rows = self.tile.decoder.places(op.write, memories.row_bytes)
        words_per_row = memories.row_bytes // memories.word_bytes

        def move(first: int, end: int) -> None:
            data = memories.narrow.read(words.part(first * words_per_row, end * words_per_row))
            memories.wide.write(rows.part(first, end), data)

        pipe = Pipe(
            self.tile.clock.cycle,
            alike(len(rows), issues=words_per_row),
            ROW_BUFFERS,
            issue=[memories.reading(NarrowReadRank.NARROW_TO_WIDE)],
            extra=None,
            write=memories.wide_access(WideRank.NARROW_TO_WIDE),
            move=move,
            accounts=self.accounts,
            every_span=self.unit.recording,
            flat=self.tile.arbiter.flat,
        )
        pace = Throughput(words_per_row, ROW_BUFFERS)
        yield from self.run_pipe(pipe, gates(op.write.nest, op.wait), completions(op.write.nest, op.produce), pace)

    def actions(self, op: NarrowToWide) -> Actions:
        memories, decoder = self.tile.memories, self.tile.decoder
        words, rows = decoder.places(op.read, memories.word_bytes), decoder.places(op.write, memories.row_bytes)
        return {Action.NARROW_READ: len(words), Action.WIDE_WRITE: len(rows)}
