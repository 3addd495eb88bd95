"""A mesh-in DMA engine: words from one side, or a fill, into narrow memory."""

from __future__ import annotations

import numpy as np

from tilesim.sim.pipe import Costs, Pipe
from tilesim.sim.unit import Reason, Unit, Wait
from tilesim.tiled.isa.fields import Flag, Side
from tilesim.tiled.isa.instructions import MeshIn
from tilesim.tiled.units import ttu
from tilesim.tiled.units.engine import Engine, Surroundings, Work, completions, gates
from tilesim.tiled.units.memories import NarrowWriteRank
from tilesim.tiled.units.mesh_link import Addresses, MeshLink, Transfer

FILL_WORDS = 2
"""Words of a fill that are made or wait to be written: enough for one a cycle."""


class MeshInEngine(Engine[MeshIn]):
    """Writes the words that the neighbour sends, or the fill byte (the zero point of what is filled), a word a cycle.

    Timing: unloaded, a fill of n words takes n + 1 cycles from start to retirement; words from the neighbour are timed
    by :class:`~tilesim.tiled.units.mesh_link.MeshLink`. Peak rate one word a cycle. Source: US 19/025,090 [0055]; the
    fill is from the Edge TPU as reported by others.
    """

    link: MeshLink | None = None
    """Laid by the chip, if there is a neighbour."""

    def __init__(self, tile: Surroundings, unit: Unit, side: Side) -> None:
        super().__init__(tile, unit, Flag(f"mesh_{side}_in"))

    def execute(self, op: MeshIn) -> Work:
        yield from self.watch(op.wait)
        words = ttu.addresses(op.write.nest, op.write.reference)
        yield from self._receive(op, words) if op.fill is None else self._fill(op, words, op.fill % 256)

    def _receive(self, op: MeshIn, words: Addresses) -> Work:
        assert self.link is not None
        arrival = self.link.transfer()
        transfer: Transfer = yield from self.unit.wait(arrival, Reason.FIFO, self.link.describe_sender)
        transfer.receive(words)
        self.unit.waiting = Wait(Reason.FIFO, self.tile.clock.cycle, self.link.describe_sender)
        pipe, nest = transfer.pipe, op.write.nest
        self.tile.arbiter.add(pipe, [self.link.writing])
        yield from self.follow(pipe, pipe.hold_writes, gates(nest, op.wait), completions(nest, op.produce))
        self.unit.waiting = None

    def _fill(self, op: MeshIn, words: Addresses, fill_byte: int) -> Work:
        memories = self.tile.memories
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
