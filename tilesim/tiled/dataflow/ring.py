"""What goes over the ring, by transfer and row: who takes what is in the core's log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tilesim.sim.core.memory import Bytes, Memory, joined
from tilesim.tiled.dataflow.sent import Sent
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.instructions import Classify, Infeed, Instruction, RingProduce
from tilesim.tiled.topology import Topology
from tilesim.tiled.units.classifier import classified


class Taken(NamedTuple):
    """Rows of a transfer, from ``row`` on, that an instruction takes as its rows from ``first`` on."""

    first: int
    transfer: int
    row: int
    rows: int


class RingRows:
    """The rows of each transfer, (samples or 1, rows, row bytes); ``host`` are those that the host sends, in order."""

    def __init__(
        self, ops: Sequence[Instruction], topology: Topology, transfers: Numbers, data: Memory, host: Bytes, sent: Sent
    ) -> None:
        self._ops, self._topology, self._data, self._host, self._sent = ops, topology, data, host, sent
        self._row_bytes = topology.wide_memory.row_bytes
        self._transfers: list[tuple[int, int, int]] = [
            (op, moved, sender) for op, moved, _, _, _, sender, _ in transfers.tolist()
        ]
        self._taken: dict[tuple[int, int], list[Taken]] = {}
        self._replies: dict[int, Bytes] = {}
        self._from_host = dict(_places_of_host(ops))

    def hear(self, deliveries: Numbers) -> None:
        """Who has taken what in a section."""
        for node, op, first, transfer, row, count in _merged(deliveries).tolist():
            self._taken.setdefault((op, node), []).append(Taken(first, transfer, row, count))

    def taken(self, place: int, node: int, first: int = 0, end: int = 1 << 62) -> tuple[Taken, ...]:
        """What the instruction takes at a stop as its rows from ``first`` up to ``end``."""
        return tuple(_within(self._taken.get((place, node), ()), first, end))

    def sender(self, transfer: int) -> tuple[int, int] | None:
        """The instruction and the tile whose memory it comes from, if it comes from one."""
        op, _, tile = self._transfers[transfer]
        return (op, tile) if isinstance(self._ops[op], RingProduce) else None

    def rows(self, taken: Sequence[Taken]) -> Bytes:
        """All of them, one after the other."""
        return joined([self._rows(each.transfer, each.row, each.row + each.rows) for each in taken])

    def at_sink(self, place: int) -> Bytes:
        """What reaches the ring's sink for an instruction."""
        return self.rows(self.taken(place, self._topology.tiles + 2))

    def _rows(self, transfer: int, first: int, end: int) -> Bytes:
        place, moved, tile = self._transfers[transfer]
        op = self._ops[place]
        if isinstance(op, RingProduce):
            sent: Bytes = self._sent.of(place, [tile])[0]
            return sent[:, first:end]
        if isinstance(op, Classify):
            return self._reply(place, op)[:, first:end]
        assert isinstance(op, Infeed)
        first, end = (moved * op.rows + row for row in (first, end))
        if op.source == "data":
            return self._stored(op, first, end)
        if op.source == "host":
            start = self._from_host[place]
            return self._host[:, start + first : start + end]
        if place not in self._replies:
            self._replies[place] = self.at_sink(place)
        return self._replies[place][:, first:end]

    def _stored(self, op: Infeed, first: int, end: int) -> Bytes:
        low, high = (op.address + row * self._row_bytes for row in (first, end))
        self._data.check(low, high)
        return self._data.content[:, low:high].reshape(1, end - first, self._row_bytes)

    def _reply(self, place: int, op: Classify) -> Bytes:
        if place not in self._replies:
            reply = classified(op, self.rows(self.taken(place, self._topology.tiles + 1)))
            self._replies[place] = reply.reshape(len(reply), -1, self._row_bytes)
        return self._replies[place]


def _merged(deliveries: Numbers) -> Numbers:
    """Rows that follow one another, as one."""
    log = deliveries[np.lexsort((deliveries[:, 2], deliveries[:, 0], deliveries[:, 1]))]
    node, op, first, transfer, row, count = log.T
    begins = np.ones(len(log), bool)
    same = (node[1:] == node[:-1]) & (op[1:] == op[:-1]) & (transfer[1:] == transfer[:-1])
    begins[1:] = ~(same & (first[1:] == (first + count)[:-1]) & (row[1:] == (row + count)[:-1]))
    starts = np.flatnonzero(begins)
    merged = log[starts]
    if len(starts):
        merged[:, 5] = np.add.reduceat(count, starts)
    return merged


def _within(taken: Sequence[Taken], first: int, end: int) -> Iterator[Taken]:
    for each in taken:
        low, high = max(each.first, first), min(each.first + each.rows, end)
        if low < high:
            yield Taken(low, each.transfer, each.row + low - each.first, high - low)


def _places_of_host(ops: Sequence[Instruction]) -> Iterator[tuple[int, int]]:
    """The first of the host's rows for each infeed that takes some."""
    row = 0
    for place, op in enumerate(ops):
        if isinstance(op, Infeed) and op.source == "host":
            yield place, row
            row += op.total_rows


def stacked(rows: Sequence[Bytes], row_bytes: int) -> Bytes:
    """Rows of (samples, row bytes) each as (samples, rows, row bytes)."""
    return np.stack(rows, axis=1) if rows else np.zeros((1, 0, row_bytes), np.uint8)
