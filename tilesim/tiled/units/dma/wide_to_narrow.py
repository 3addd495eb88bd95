"""The wide→narrow DMA engine: wide rows scattered over narrow words."""

from __future__ import annotations

from tilesim.sim.core.action import Action, Actions
from tilesim.sim.pipe.pipe import Pipe
from tilesim.tiled.isa.model.instructions import WideToNarrow
from tilesim.tiled.isa.model.loops import completions, gates
from tilesim.tiled.units.dma.narrow_to_wide import ROW_BUFFERS
from tilesim.tiled.units.engine import Engine, Throughput, Work, alike
from tilesim.tiled.units.memories import NarrowWriteRank, WideRank


class WideToNarrowEngine(Engine[WideToNarrow]):
    """Touches the wide memory once a row and writes a narrow word a cycle.

    Loops that produce are the rows' (``read``), as are those that watchers name.

    Timing: unloaded, R rows of w words take R * w + 1 cycles from start to retirement; peak rate one word a cycle.
    Source: US 19/025,090 [0052], [0055]; the double buffer is an assumption.
    """

    def execute(self, op: WideToNarrow) -> Work:
        yield from self.watch(op.wait)
        memories = self.tile.memories
        rows = self.tile.decoder.places(op.read, memories.row_bytes)
        words = self.tile.decoder.places(op.write, memories.word_bytes)
        words_per_row = memories.row_bytes // memories.word_bytes

        def move(first: int, end: int) -> None:
            data = memories.wide.read(rows.part(first, end))
            memories.narrow.write(words.part(first * words_per_row, end * words_per_row), data)

        pipe = Pipe(
            self.tile.clock.cycle,
            alike(len(rows), writes=words_per_row),
            ROW_BUFFERS,
            issue=[memories.wide_access(WideRank.WIDE_TO_NARROW)],
            extra=None,
            write=memories.writing(NarrowWriteRank.WIDE_TO_NARROW),
            move=move,
            accounts=self.accounts,
            every_span=self.unit.recording,
            flat=self.tile.arbiter.flat,
        )
        pace = Throughput(words_per_row, ROW_BUFFERS)
        yield from self.run_pipe(pipe, gates(op.read.nest, op.wait), completions(op.read.nest, op.produce), pace)

    def actions(self, op: WideToNarrow) -> Actions:
        memories, decoder = self.tile.memories, self.tile.decoder
        rows, words = decoder.places(op.read, memories.row_bytes), decoder.places(op.write, memories.word_bytes)
        return {Action.WIDE_READ: len(rows), Action.NARROW_WRITE: len(words)}
