"""A compute tile: its memories, its flags and its engines, each behind an instruction buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tilesim.tiled.isa.model.fields import Engine as EngineName
from tilesim.tiled.isa.model.fields import Flag, Side, neighbour
from tilesim.tiled.isa.model.instructions import TileFence
from tilesim.tiled.stepped.copy_engine import CopyEngine
from tilesim.tiled.stepped.core import Clock, Fifo, FlagFile, UnitAccount
from tilesim.tiled.stepped.engine import Engine
from tilesim.tiled.stepped.memory import Memories, Touch
from tilesim.tiled.stepped.mesh import MeshInEngine, MeshOutEngine
from tilesim.tiled.stepped.ring import RingStop
from tilesim.tiled.stepped.ring_consumer import RingConsumer
from tilesim.tiled.stepped.ring_producer import ORDINALS, RingProducer
from tilesim.tiled.stepped.tensor_control import TensorControl
from tilesim.tiled.topology import Topology


class Tile:
    """Tile ``index``, at the ring's ``stops``, one for each channel; ``raise_fence(increment)`` bumps the controller's
    fence counter; ``touch(label, access)`` hears of accesses to its memories.

    ``by_priority`` are the engines in the order in which they get at the memories' ports, the ring's apart: those of
    the mesh first, then the DMAs between the memories, then the tensor control.
    """

    def __init__(
        self,
        index: int,
        clock: Clock,
        topology: Topology,
        stops: list[RingStop],
        account: Callable[[str], UnitAccount],
        raise_fence: Callable[[int], None],
        touch: Callable[[str, Touch], None] | None,
    ) -> None:
        self.index = index
        self.clock = clock
        self.topology = topology
        self.memories = Memories(index, topology)
        self.flags = FlagFile(topology.tile.strict_compare)
        self.holds: Mapping[str, int] = {}
        self._raise_fence = raise_fence
        self.touch = touch

        def track(name: str) -> UnitAccount:
            return account(f"chip.tile{index}.{name}")

        self.tensor = TensorControl(self, track("tensor"), track("mac_array"), self._buffer())
        self.consumer = RingConsumer(self, track("ring_consumer"), Flag.RING_READ_A, self._buffer())
        shares = topology.ring.queue == "shared"
        self.producer = RingProducer(
            self, track("ring_producer"), self.consumer.buffer if shares else self._buffer(), stops
        )
        if shares:
            self.consumer.shares_with, self.producer.shares_with = self.producer, self.consumer
        self.consumers = [self.consumer]
        if len(stops) > 1:
            second = RingConsumer(self, track("ring_consumer_b"), Flag.RING_READ_B, self._buffer())
            second.beside, self.consumer.beside = self.consumer, second
            self.consumers.append(second)
        for stop, consumer, flag in zip(stops, self.consumers, ORDINALS, strict=False):
            consumer.parts = stop.parts
            stop.receiver = consumer
            stop.on_tail = partial(self.flags.rise, flag)
        to_wide = CopyEngine(self, track("narrow_to_wide"), Flag.NARROW_TO_WIDE, self._buffer())
        to_narrow = CopyEngine(self, track("wide_to_narrow"), Flag.WIDE_TO_NARROW, self._buffer())
        self.mesh_in = {
            side: MeshInEngine(self, track(f"mesh_in_{side}"), Flag(f"mesh_{side}_in"), self._buffer()) for side in Side
        }
        self.mesh_out = {
            side: MeshOutEngine(self, track(f"mesh_out_{side}"), Flag(f"mesh_{side}_out"), self._buffer())
            for side in Side
            if neighbour(topology.grid, index, side) is not None
        }
        self.by_priority: list[Engine] = [
            *self.mesh_in.values(),
            *self.mesh_out.values(),
            to_wide,
            to_narrow,
            self.tensor,
        ]
        self.engines: dict[EngineName, Engine] = {
            EngineName.TENSOR: self.tensor,
            EngineName.RING_CONSUMER: self.consumer,
            EngineName.RING_PRODUCER: self.producer,
            EngineName.NARROW_TO_WIDE: to_wide,
            EngineName.WIDE_TO_NARROW: to_narrow,
            **{EngineName(f"mesh_in_{side}"): engine for side, engine in self.mesh_in.items()},
            **{EngineName(f"mesh_out_{side}"): engine for side, engine in self.mesh_out.items()},
        }
        self.engines.update(zip([EngineName.RING_CONSUMER_B], self.consumers[1:], strict=False))

    def _buffer(self) -> Fifo[Any]:
        return Fifo(self.clock, self.topology.instruction_bus.buffer_depth)

    def buffer_of(self, op: Any) -> Fifo[Any]:
        return self.engines[op.engine].buffer

    def deliver(self, op: Any, later_cycles: int) -> None:
        self.engines[op.engine].deliver(op, later_cycles)

    def fence_is_through(self, fence: TileFence) -> bool:
        """Whether the engines that it names have drained."""
        return not any(self.engines[name].unfinished for name in fence.idle if name in self.engines)

    def obey(self, fence: TileFence) -> None:
        """The flags return to 0, what rose up to now with them; the controller hears of it at once."""
        for flag in fence.reset:
            self.flags.reset(flag)
        self._raise_fence(fence.increment)

    @property
    def awaits_tails(self) -> bool:
        """Whether an engine waits for transfers to pass."""
        return any(engine.awaited in ORDINALS for engine in self.engines.values())

    def request(self) -> None:
        """The cycle begins. Engines that have no instruction are left out of it."""
        self._at_work = [engine for engine in self.engines.values() if engine.unfinished]
        for engine in self._at_work:
            engine.request()
        for consumer in self.consumers:
            consumer.commit_owed()

    def arbitrate(self) -> None:
        """The ring has committed its rows: everybody else takes the accesses that are left."""
        if not self._at_work:
            return
        self.producer.claim()
        for engine in self.by_priority:
            if engine.unfinished:
                engine.arbitrate()

    def commit(self) -> None:
        """The cycle ends."""
        if not self._at_work:
            return
        for engine in self._at_work:
            engine.commit()
        self.memories.commit()

    def commit_late(self) -> None:
        """The cycle has ended in the neighbours, too."""
        for engine in self.mesh_out.values() if self._at_work else ():
            engine.hear_of_writes()
        self.flags.commit()
