"""A mesh-in DMA engine: words from one side, or a fill, into the memory that the mesh joins."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
import simpy

from tilesim.sim.core.clock import Work
from tilesim.sim.core.memory import Places
from tilesim.sim.core.unit import BUSY, Reason, Unit, Wait
from tilesim.sim.pipe.course import PipeForm
from tilesim.sim.pipe.pipe import Pipe
from tilesim.tiled.isa.model.fields import MemoryName, Side
from tilesim.tiled.isa.model.instructions import MeshIn
from tilesim.tiled.isa.model.loops import Gate, completions, gates
from tilesim.tiled.isa.model.sheet import MESH_IN
from tilesim.tiled.units.dma.mesh_link import MeshLink, WordsAtOnce, WordTransfer
from tilesim.tiled.units.engine import TileContext, TileEngine, alike

FILL_WORDS = 2
"""Words of a fill that are made or wait to be written: enough for one a cycle."""


class MeshInEngine(TileEngine[MeshIn]):
    """Writes the words that the neighbour sends as they come, or the fill byte (the zero point of what is filled), a
    word a cycle; into wide memory a row with its last word, the others of which have been gathered in a register.
    Watchers of loops hold a word that arrives before it is written (of a row, before the first is gathered), one of a
    fill before it is made.

    Timing: unloaded, a fill of n words takes n + 1 cycles from start to retirement; words from the neighbour are timed
    by :class:`~tilesim.tiled.units.dma.mesh_link.MeshLink`. Peak rate one word a cycle. Source: US 19/025,090 [0055];
    the fill is from the Edge TPU as reported by others.
    """

    link: MeshLink | None = None
    """Laid by the chip, if there is a neighbour."""

    def __init__(self, tile: TileContext, unit: Unit, side: Side) -> None:
        super().__init__(tile, unit, MESH_IN[side])
        destination = MemoryName(tile.memories.topology.mesh.destination)
        self.writing = tile.memories.side(self.name, "write", destination)
        """Where the words go."""

    def execute(self, op: MeshIn) -> Work:
        yield from self.watch(op.wait)
        accesses = self.tile.ttu.places(op.write, self.writing.access_bytes)
        nest, per_access = op.write.nest, self._per_access(op)
        held = list(gates(nest, op.wait, per_access))
        produce = completions(nest, op.produce, per_access)
        if op.fill is not None:
            if self.unit.instant:
                yield from self.run_at_once(
                    len(accesses) * per_access, held, produce, self._filling(accesses, op.fill % 256)
                )
                return
            pipe = self._fill(accesses, op.fill % 256)
            yield from self.follow(pipe, pipe.hold, held, produce)
            return
        received = yield from self._receive(accesses, held)
        if isinstance(received, WordsAtOnce):
            yield from self.pass_at_once(received.beats, held, produce, partial(self._take, received))
            return
        yield from self.follow(received, received.hold_writes, held, produce)
        self.unit.waiting = None

    def _per_access(self, op: MeshIn) -> int:
        """What an access takes together: words of a fill, which no link carries, else beats."""
        return self.writing.beats_per_access if op.fill is None else self.writing.words_per_access

    def _take(self, transfer: WordsAtOnce, part: range) -> Work:
        assert self.link is not None
        there = transfer.allow(self.unit, part.stop)
        yield from self.unit.wait(there, Reason.FIFO, self.link.describe_sender)
        self.unit.add(BUSY, 0)

    def _receive(self, accesses: Places, held: list[Gate]) -> Generator[simpy.Event, Any, Pipe | WordsAtOnce]:
        assert self.link is not None
        arrival = self.link.transfer()
        yield from self._pass(held, arrival)
        transfer: WordTransfer | WordsAtOnce = yield from self.unit.wait(
            arrival, Reason.FIFO, self.link.describe_sender
        )
        transfer.receive(accesses)
        if isinstance(transfer, WordsAtOnce):
            return transfer
        self.unit.waiting = Wait(Reason.FIFO, self.tile.clock.cycle, self.link.describe_sender)
        self.tile.arbiter.add(transfer.pipe, [self.writing.slot])
        return transfer.pipe

    def _pass(self, held: list[Gate], arrival: simpy.Event) -> Work:
        """Wait for the flags that hold the first word, until there is a sender; those that have come hold no more."""
        while held and held[0].group == 0 and not arrival.triggered:
            gate = held[0]
            reached = self.tile.flags.reached(gate.flag, gate.expected)
            yield from self.unit.wait(reached | arrival, Reason.FLAG, partial(self._describe, gate))
            if not reached.triggered:
                return
            self.hear(reached.value)
            held.pop(0)

    def _fill(self, accesses: Places, fill_byte: int) -> Pipe:
        words = self.writing.words_per_access
        form = PipeForm(FILL_WORDS, [], self.writing.slot, write_every=words)
        pipe = self.pipe(alike(len(accesses) * words), form, self._filling(accesses, fill_byte))
        self.tile.arbiter.add(pipe, pipe.slots)
        return pipe

    def _filling(self, accesses: Places, fill_byte: int) -> Callable[[int, int], None]:
        memory, words = self.writing.memory, self.writing.words_per_access

        def move(first: int, end: int) -> None:
            written = accesses.part(first // words, end // words)
            if len(written):
                memory.write(written, np.full((1, len(written), written.width_bytes), fill_byte, np.uint8))

        return move
