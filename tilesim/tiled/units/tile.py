"""A compute tile: its memories, its flags and its engines, each behind an instruction buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import simpy

from tilesim.sim.core.clock import Clock, Phase
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.core.unit import Unit
from tilesim.sim.pipe.arbiter import Arbiter
from tilesim.sim.trace.recorder import Waker
from tilesim.tiled.isa.model.fields import Channel, Engine, Flag, Side, neighbour
from tilesim.tiled.isa.model.instructions import Instruction, TileFence
from tilesim.tiled.isa.model.sheet import SHEET
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.dma.copy_engine import CopyEngine
from tilesim.tiled.units.dma.mesh_in import MeshInEngine
from tilesim.tiled.units.dma.mesh_out import MeshOutEngine
from tilesim.tiled.units.engine import TileContext, TileEngine
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.ring.ring import RingStop
from tilesim.tiled.units.ring.ring_commits import RingCommits
from tilesim.tiled.units.ring.ring_consumer import RingConsumer
from tilesim.tiled.units.ring.ring_producer import RingProducer
from tilesim.tiled.units.ring.ring_queue import RingQueue
from tilesim.tiled.units.tensor.decoder import Decoder
from tilesim.tiled.units.tensor.tensor_control import TensorControl


class Tile:
    """One tile. ``raise_fence(increment, waker)`` bumps the controller's fence counter; ``retired(tile, label)`` hears
    of instructions.
    """

    def __init__(
        self,
        index: int,
        clock: Clock,
        arbiter: Arbiter,
        topology: Topology,
        stops: Mapping[Channel, RingStop],
        unit: Callable[[str], Unit],
        samples: int,
        raise_fence: Callable[[int, Waker | None], None],
        retired: Callable[[int, str], None],
        decoder: Decoder,
    ) -> None:
        self.index = index
        self.memories = TileMemories(f"chip.tile{index}", topology, samples)
        self.flags = FlagFile(clock, topology.tile.strict_compare)
        self._clock = clock
        self._raise_fence = raise_fence
        around = TileContext(
            clock,
            self.memories,
            self.flags,
            arbiter,
            topology.instruction_bus.buffer_depth,
            lambda label: retired(index, label),
            self._raisers,
            decoder.ttu,
        )

        def track(name: str) -> Unit:
            return unit(f"chip.tile{index}.{name}")

        shared = topology.ring.queue == "shared"
        self.ring_queue = queue = RingQueue(clock, topology.instruction_bus.buffer_depth) if shared else None
        consumes, produces = (None, None) if queue is None else (queue.share(), queue.share())

        second = stops.get(Channel.B)
        commits = None if second is None else RingCommits(clock, topology.wide_memory.ports, second.node_link)

        self.tensor = TensorControl(around, track("tensor"), track("mac_array"), decoder)
        self.engines: dict[Engine, TileEngine[Any]] = {
            Engine.TENSOR: self.tensor,
            Engine.RING_CONSUMER: RingConsumer(
                around, track("ring_consumer"), stops[Channel.A], consumes, commits=commits
            ),
            Engine.RING_PRODUCER: RingProducer(around, track("ring_producer"), stops, produces),
        }
        for row in SHEET.values():
            if row.copies:
                self.engines[row.engine] = CopyEngine(around, track(row.engine), row.engine, row)
        sides = [side for side in Side if neighbour(topology.grid, index, side) is not None]
        self.mesh_in = {side: MeshInEngine(around, track(f"mesh_in_{side}"), side) for side in Side}
        self.mesh_out = {side: MeshOutEngine(around, track(f"mesh_out_{side}"), side) for side in sides}
        self.engines |= {engine.name: engine for engine in self.mesh_in.values()}
        self.engines |= {engine.name: engine for engine in self.mesh_out.values()}
        if Channel.B in stops:
            self.engines[Engine.RING_CONSUMER_B] = RingConsumer(
                around, track("ring_consumer_b"), stops[Channel.B], channel=Channel.B, commits=commits
            )

    def _raisers(self, flag: Flag) -> list[str]:
        return [label for engine in self.engines.values() for label in engine.raising(flag)]

    def buffer_of(self, op: Instruction) -> Fifo[Any]:
        return self.engines[op.engine].buffer  # type: ignore[union-attr]

    def deliver(self, op: Instruction) -> None:
        self.engines[op.engine].deliver(op)  # type: ignore[union-attr]

    def fence(self, op: TileFence) -> simpy.Event:
        """Wait until the engines named have drained, then reset flags and bump the controller's counter.

        Timing: through in the cycle in which the last of them has; what is raised in that cycle is reset with the rest.
        Source: US 19/025,090 [0059]; that the controller hears of it at once is an assumption.
        """
        through = self._clock.event()
        engines = [self.engines[name] for name in op.idle if name in self.engines]

        waker: Waker | None = None

        def look(_: simpy.Event | None = None) -> None:
            self._clock.phase(Phase.ARBITRATE).callbacks.append(pass_or_wait)  # whoever drains in this cycle has

        def pass_or_wait(_: simpy.Event) -> None:
            nonlocal waker
            busy = next((engine for engine in engines if engine.unfinished), None)
            if busy is None:
                end()
                return
            waker = Waker(busy.unit.track, busy.unfinished[-1].label)
            busy.drained().callbacks.append(look)

        def end() -> None:
            for flag in op.reset:
                self.flags.reset(flag)
            if op.increment:
                self._raise_fence(op.increment, waker)
            through.succeed(waker)

        look()
        return through
