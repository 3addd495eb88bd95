"""A mesh-in DMA engine: words from one side, or a fill, into narrow memory."""

from __future__ import annotations

import numpy as np

from tilesim.sim.pipe import Costs, Pipe
from tilesim.tiled.isa.instructions import MeshIn
from tilesim.tiled.units import ttu
from tilesim.tiled.units.engine import Engine, Work, completions, gates
from tilesim.tiled.units.memories import NarrowWriteRank

FILL_WORDS = 2
"""Words of a fill that are made or wait to be written: enough for one a cycle."""


class MeshInEngine(Engine[MeshIn]):
    """Writes the fill byte (the zero point of what is filled), a word a cycle.

    Timing: unloaded, n words take n + 1 cycles from start to retirement; peak rate one word a cycle.
    Source: US 19/025,090 [0055]; the fill is from the Edge TPU as reported by others.
    """

    def execute(self, op: MeshIn) -> Work:
        yield from self.watch(op.wait)
        memories = self.tile.memories
        words = ttu.addresses(op.write.nest, op.write.reference)
        assert op.fill is not None
        fill_byte = op.fill % 256
        samples = memories.narrow.bytes.shape[0]

        def move(first: int, end: int) -> None:
            fill = np.full((samples, end - first, memories.word_bytes), fill_byte, np.uint8)
            memories.narrow.write_words(words[first:end], fill)

        ones = np.ones(len(words), np.int64)
        pipe = Pipe(
            self.tile.clock.cycle,
            Costs(0 * ones, ones, ones),
            FILL_WORDS,
            issue=[],
            extra=None,
            write=memories.writing(NarrowWriteRank[f"MESH_IN_{op.side.name}"]),
            move=move,
            book=self.book,
            every_span=self.unit.recording,
        )
        yield from self.run_pipe(pipe, gates(op.write.nest, op.wait), completions(op.write.nest, op.produce))
