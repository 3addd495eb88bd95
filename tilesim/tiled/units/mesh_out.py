"""A mesh-out DMA engine: words of narrow memory to the neighbour at one side."""

from __future__ import annotations

from tilesim.sim.unit import Reason, Unit, Wait
from tilesim.tiled.isa.fields import Flag, Side
from tilesim.tiled.isa.instructions import MeshOut
from tilesim.tiled.units import ttu
from tilesim.tiled.units.engine import Engine, Surroundings, Work, completions, gates
from tilesim.tiled.units.mesh_link import MeshLink


class MeshOutEngine(Engine[MeshOut]):
    """Reads a word a cycle while its link, which the chip lays, has credits for them.

    Its flag rises as words get written in the neighbour: what was sent may then be overwritten.

    Timing: that of :class:`~tilesim.tiled.units.mesh_link.MeshLink`; it retires when all credits are back.
    """

    link: MeshLink

    def __init__(self, tile: Surroundings, unit: Unit, side: Side) -> None:
        super().__init__(tile, unit, Flag(f"mesh_{side}_out"))

    def execute(self, op: MeshOut) -> Work:
        yield from self.watch(op.wait)
        nest = op.read.nest
        pipe = self.link.send(ttu.addresses(nest, op.read.reference)).pipe
        self.unit.waiting = Wait(Reason.CREDIT, self.tile.clock.cycle, self.link.describe_receiver)
        self.tile.arbiter.add(pipe, [self.link.reading])
        yield from self.follow(pipe, pipe.hold, gates(nest, op.wait), completions(nest, op.produce))
        self.unit.waiting = None
