"""The controller's outfeed: the ring's sink, on to the host or back to the infeed."""

from __future__ import annotations

from collections.abc import Iterator

from tilesim.tiled.isa.model.instructions import Infeed, Outfeed
from tilesim.tiled.stepped.core import FIFO, Clock, Fifo, Thread, UnitAccount
from tilesim.tiled.stepped.host import HostOutfeed
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.ring import Packet, RingStop
from tilesim.tiled.topology import Topology


class OutfeedEngine(Thread):
    """Takes rows at the ring's sink and sends them to the host, or to the infeed that forwards them, one at a time.

    Timing: a row of which the last part is taken in t is on the host's link, or at the infeed, from t + 1 on.
    ``through`` counts the instructions that are.
    """

    def __init__(
        self,
        clock: Clock,
        account: UnitAccount,
        topology: Topology,
        host: HostOutfeed,
        stop: RingStop,
        forwarded: Fifo[Bytes],
    ) -> None:
        self.buffer: Fifo[Outfeed | Infeed] = Fifo(clock, topology.instruction_bus.buffer_depth)
        self._host = host
        self._forwarded = forwarded
        self.through = 0
        self._posted = False
        self._row: Bytes | None = None
        stop.receiver = self
        super().__init__(clock, account)

    def life(self) -> Iterator[str]:
        while True:
            op: Outfeed | Infeed = yield from self.next_of(self.buffer)
            for _ in range(op.rows if isinstance(op, Outfeed) else op.total_rows):
                self._posted = True
                while self._posted:
                    yield FIFO
                yield from self._to_host(op) if isinstance(op, Outfeed) else self._to_infeed()
            self.through += 1

    def _to_host(self, op: Outfeed) -> Iterator[str]:
        assert self._row is not None
        yield from self._host.carry(op.output, self._row, op.label)
        self._host.receive(op.output, self._row)

    def _to_infeed(self) -> Iterator[str]:
        assert self._row is not None
        while not self._forwarded.room():
            yield FIFO
        self._forwarded.reserve()
        self._forwarded.put(self._row)

    def engaged(self) -> bool:
        return bool(self.label) and not self.held

    def ready(self) -> bool:
        return self._posted

    def accept(self, packet: Packet, last: bool) -> None:
        self.acted = True
        if last:
            self._row = packet.row
            self._posted = False
