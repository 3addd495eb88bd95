"""The classifier tile: applies a function to the outputs of the last fully connected layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.classify import classified
from tilesim.tiled.isa.model.instructions import Classify, TileFence
from tilesim.tiled.stepped.core import CREDIT, FIFO, Clock, Fifo, Thread, UnitAccount
from tilesim.tiled.stepped.mac_array import DTYPES
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.ring import Packet, RingStop, SentTransfer
from tilesim.tiled.topology import Topology

Array = NDArray[Any]


class ClassifierTile(Thread):
    """Collects rows from the ring, applies its function to the elements in them, and sends rows to the sink.

    Timing: elements * cycles_per_element cycles after the last row has come, of top-k for each of the k, then rows of
    results, each for as many cycles as it has parts.
    """

    def __init__(self, clock: Clock, account: UnitAccount, topology: Topology, stop: RingStop) -> None:
        self.buffer: Fifo[Classify] = Fifo(clock, topology.instruction_bus.buffer_depth)
        self._topology = topology
        self._stop = stop
        self._posted = False
        self._rows: list[Bytes] = []
        stop.receiver = self
        super().__init__(clock, account)

    def buffer_of(self, _op: object) -> Fifo[Classify]:
        return self.buffer

    def deliver(self, op: Any, later_cycles: int) -> None:
        self.buffer.put(op, later_cycles)

    def fence_is_through(self, _fence: TileFence) -> bool:
        return True

    def obey(self, fence: TileFence) -> None:
        raise AssertionError(f"{fence.label} is for tiles, not for the classifier")

    def life(self) -> Iterator[str]:
        while True:
            op: Classify = yield from self.next_of(self.buffer)
            self._rows = []
            while len(self._rows) < op.rows:
                self._posted = True
                yield FIFO
            self._posted = False
            times = op.scaling[0] if op.function.startswith("top_k") else 1
            yield from self.spend(times * op.elements * self._topology.classifier.cycles_per_element)
            yield from self._reply(op)

    def _reply(self, op: Classify) -> Iterator[str]:
        rows = results(op, self._rows)
        transfer = SentTransfer(op.label)
        for k, row in enumerate(rows):
            yield from self._stop.sending(Packet(1 << self._topology.tiles + 1, row, k == len(rows) - 1, transfer))

    def commit(self) -> None:
        self.acted = self.acted or (self._kind == CREDIT and self._stop.takes)
        super().commit()

    def engaged(self) -> bool:
        return bool(self.label) and not self.held

    def ready(self) -> bool:
        return self._posted

    def accept(self, packet: Packet, last: bool) -> None:
        self.acted = True
        if last:
            self._rows.append(packet.row)
            self._posted = False


def results(op: Classify, rows: list[Bytes]) -> list[Bytes]:
    """The rows of results: contiguous, with zeros behind them."""
    row_bytes = len(rows[0])
    elements = op.elements_per_sender or op.elements
    rows_of_one = -(-elements // row_bytes)
    parts = [np.concatenate(rows[at : at + rows_of_one])[:elements] for at in range(0, len(rows), rows_of_one)]
    x = np.concatenate(parts)[: op.elements].view(DTYPES[op.input_type])
    if op.function in ("argmax", "top_k_indices", "top_k_values"):
        made = chosen(op, x)
    else:
        made = classified(op.function, x[None], op.scaling)[0].astype(DTYPES[op.output_type]).tobytes()
    data = made.ljust(-(-len(made) // row_bytes) * row_bytes, b"\0")
    return list(np.frombuffer(data, np.uint8).reshape(-1, row_bytes))


def chosen(op: Classify, x: Array) -> bytes:
    """The largest elements or their places, by sorting: of equal ones the first comes first."""
    count = 1 if op.function == "argmax" else op.scaling[0]
    order = sorted(range(len(x)), key=lambda place: (-int(x[place]), place))[:count]
    if op.function == "top_k_values":
        return x[order].astype(DTYPES[op.output_type]).tobytes()
    return b"".join(place.to_bytes(4, "little") for place in order)
