"""A mesh-out DMA engine: words of a memory to the neighbour at one side."""

from __future__ import annotations

from functools import partial

from tilesim.sim.core.clock import Work
from tilesim.sim.core.unit import Reason, Unit, Wait
from tilesim.tiled.isa.model.fields import Side
from tilesim.tiled.isa.model.instructions import MeshOut
from tilesim.tiled.isa.model.loops import completions, gates
from tilesim.tiled.isa.model.sheet import MESH_OUT
from tilesim.tiled.units.dma.mesh_link import MeshLink, WordsAtOnce
from tilesim.tiled.units.engine import TileContext, TileEngine


class MeshOutEngine(TileEngine[MeshOut]):
    """Reads a word as fast as its link, which the chip lays, carries them and has credits for them: a cycle each, if it
    is as wide as a word; from wide memory a row with its first word, the others of which leave from a register.

    Its flag rises as words get written in the neighbour: what was sent may then be overwritten.

    Timing: that of :class:`~tilesim.tiled.units.dma.mesh_link.MeshLink`; it retires when all credits are back.
    """

    link: MeshLink

    def __init__(self, tile: TileContext, unit: Unit, side: Side) -> None:
        super().__init__(tile, unit, MESH_OUT[side])

    def execute(self, op: MeshOut) -> Work:
        yield from self.watch(op.wait)
        nest = op.read.nest
        reading = self.tile.memories.side(self.name, "read", op.memory)
        beats = reading.beats_per_access
        places = self.tile.ttu.places(op.read, reading.access_bytes, beats)
        if self.unit.instant:
            at_once = self.link.send_at_once(reading, places)
            passing = partial(self._pass, at_once)
            yield from self.pass_at_once(
                at_once.beats, gates(nest, op.wait, beats), completions(nest, op.produce, beats), passing
            )
            return
        pipe = self.link.send(reading, places).pipe
        self.unit.waiting = Wait(Reason.CREDIT, self.tile.clock.cycle, self.link.describe_receiver)
        self.tile.arbiter.add(pipe, [reading.slot])
        yield from self.follow(pipe, pipe.hold, gates(nest, op.wait, beats), completions(nest, op.produce, beats))
        self.unit.waiting = None

    def _pass(self, transfer: WordsAtOnce, part: range) -> Work:
        there = transfer.allow(self.unit, part.stop)
        yield from self.unit.wait(there, Reason.CREDIT, self.link.describe_receiver)
