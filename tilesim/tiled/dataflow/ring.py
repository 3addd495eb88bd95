"""What goes over the ring, by transfer and row: who takes what is in the core's log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.sim.core.memory import Bytes, joined
from tilesim.tiled.dataflow.data_memory import DataMemory
from tilesim.tiled.dataflow.host import HostRows
from tilesim.tiled.dataflow.sent import Sent
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.by_type import ByType
from tilesim.tiled.isa.model.instructions import Classify, Infeed, Outfeed, RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.units.classification import classified


class Taken(Struct, frozen=True):
    """Rows of a transfer, from ``row`` on, that an instruction takes as its rows from ``first`` on."""

    first: int
    transfer: int
    row: int
    rows: int


class RingRows:
    """The rows of each transfer, (samples or 1, rows, row bytes); ``host`` are those that the host sends, in order."""

    def __init__(self, program: Program, transfers: Numbers, data: DataMemory, host: HostRows, sent: Sent) -> None:
        ops = self._ops = (*program.load, *program.run)
        self._topology, self._data, self._host, self._sent = program.topology, data, host, sent
        self._row_bytes = program.topology.wide_memory.row_bytes
        self._sink = program.topology.tiles + 2
        self._transfers = transfers[:, [0, 1, 5]]
        by_type, produced = program.once(ByType), np.zeros(len(ops), bool)
        produced[[place for place, _ in by_type.of(RingProduce)]] = True
        self._of_tiles = produced[transfers[:, 0]]
        self._log: Numbers = np.empty((0, 6), np.int64)
        """Who took what: instruction, node, its first row, transfer, the first row of that, and how many."""
        self._starts = [0] * (len(ops) + 1)
        """Where each instruction's part of the log begins."""
        self._same: list[bool] = []
        """For each line of the log, whether its instruction takes on all of its nodes the rows that it says."""
        self._replies: dict[int, Bytes] = {}
        self._from_host = dict(_places_of_host(by_type.of(Infeed)))
        self._leaving: dict[int, list[int]] = defaultdict(list)
        for place, op in by_type.of(Outfeed):
            self._leaving[op.output].append(place)

    def hear(self, deliveries: Numbers) -> None:
        """Who has taken what in a section."""
        self._log = log = merged(np.concatenate([self._log, deliveries[:, [1, 0, 2, 3, 4, 5]]]))
        self._starts = np.searchsorted(log[:, 0], np.arange(len(self._ops) + 1)).tolist()
        self._same = said_alike(log).tolist()

    def taken(self, place: int, tiles: Sequence[int], first: int, end: int) -> list[tuple[list[int], list[Taken]]]:
        """What the instruction takes as its rows from ``first`` up to ``end``, and the tiles that take the same."""
        if self._same[line := self._starts[place]]:
            _, _, own, transfer, row, count = self._log[line].tolist()
            start = max(own, first)
            return [([*tiles], [Taken(start, transfer, row + start - own, min(own + count, end) - start)])]
        log = self._within(place, first, end)
        log = log[self._among(log[:, 0] - 1, tiles)]
        rows: dict[int, tuple[Taken, ...]] = {}
        for node, *row in log.tolist():
            rows[node - 1] = (*rows.get(node - 1, ()), Taken(*row))
        alike: dict[tuple[Taken, ...], list[int]] = {}
        for tile in tiles:
            alike.setdefault(rows[tile], []).append(tile)
        return [(same, [*taken]) for taken, same in alike.items()]

    def senders(self) -> Numbers:
        """Who has taken on a tile what tiles have sent: instruction, tile, its first row, the instruction that sent it,
        its tile, the first row of that, and how many. Before what the host makes of some rows, all of them have been
        sent.
        """
        place, node, own, transfer, row, count = self._log[self._of_tiles[self._log[:, 3]]].T
        op, _, tile = self._transfers[transfer].T
        senders = np.stack([place, node, own, op, tile, row, count], axis=1)
        if self._host.are_made:
            senders = np.concatenate([senders, *self._of_made()])
        senders = senders[senders[:, 1] <= self._topology.tiles]
        senders[:, 1] -= 1
        return senders

    def _of_made(self) -> Iterator[Numbers]:
        """Of what the host makes of outputs, all that these are made of: from the first row on that is taken of it."""
        origins: dict[tuple[int, ...], Numbers] = {}
        met: set[tuple[int, int, tuple[int, ...]]] = set()
        for place, node, own, transfer, row, count in self._log[~self._of_tiles[self._log[:, 3]]].tolist():
            sender, moved, _ = self._transfers[transfer].tolist()
            if sender not in self._from_host or node > self._topology.tiles:
                continue
            outputs = self._host.awaited(*self._of_host(sender, moved, row, row + count))
            if (place, node, outputs) not in met:
                met.add((place, node, outputs))
                theirs = origins[outputs] if outputs in origins else self._origins_of(outputs)
                origins[outputs] = theirs
                yield np.concatenate([np.broadcast_to([place, node, own], (len(theirs), 3)), theirs], axis=1)

    def _origins_of(self, outputs: Sequence[int]) -> Numbers:
        """Which tiles have sent what of some outputs: instruction, tile, and the last one of its rows."""
        found: dict[tuple[int, int], int] = defaultdict(int)
        left = [(place, self._sink) for output in outputs for place in self._leaving[output]]
        for place, node in left:
            for _, transfer, row, count in self._taken_at(place, node):
                sender, moved, tile = self._transfers[transfer].tolist()
                op = self._ops[sender]
                if tile >= 0 and isinstance(op, RingProduce):
                    found[sender, tile] = max(found[sender, tile], row + count)
                elif isinstance(op, Classify):
                    left.append((sender, self._sink - 1))
                elif sender in self._from_host:
                    awaited = self._host.awaited(*self._of_host(sender, moved, row, row + count))
                    left += [(place, self._sink) for output in awaited for place in self._leaving[output]]
                elif isinstance(op, Infeed) and op.source == "ring":
                    left.append((sender, self._sink))
        return np.array([(*who, end - 1, 1) for who, end in found.items()], np.int64).reshape(-1, 4)

    def _of_host(self, place: int, moved: int, first: int, end: int) -> tuple[int, int]:
        """Which of the host's rows are those of a transfer of an infeed."""
        op = self._ops[place]
        assert isinstance(op, Infeed)
        start = self._from_host[place] + moved * op.rows
        return start + first, start + end

    def _among(self, these: Numbers, tiles: Sequence[int]) -> NDArray[np.bool_]:
        there = np.zeros(self._topology.tiles + 2, bool)
        there[tiles] = True
        return there[these]

    def at(self, place: int, node: int) -> Bytes:
        """All that an instruction takes at a stop."""
        return self.rows([Taken(*row) for row in self._taken_at(place, node)])

    def _taken_at(self, place: int, node: int) -> list[list[int]]:
        log = self._within(place, 0, 1 << 62)
        taken: list[list[int]] = log[log[:, 0] == node, 1:].tolist()
        return taken

    def output(self, number: int) -> Bytes:
        """All bytes of an output, (samples, bytes)."""
        rows = joined([self.at_sink(place) for place in self._leaving[number]])
        rows = rows.reshape(len(rows), -1)
        return np.broadcast_to(rows, (self._sent.samples, rows.shape[1]))

    def _within(self, place: int, first: int, end: int) -> Numbers:
        """Of what was taken for an instruction as its rows from ``first`` up to ``end``: node, its first row, transfer,
        the first row of that, and how many.
        """
        node, own, transfer, row, count = self._log[self._starts[place] : self._starts[place + 1], 1:].T
        start, stop = np.maximum(own, first), np.minimum(own + count, end)
        some: Numbers = np.stack([node, start, transfer, row + start - own, stop - start], axis=1)[start < stop]
        return some

    def rows(self, taken: Sequence[Taken]) -> Bytes:
        """All of them, one after the other."""
        return joined([self._rows(each.transfer, each.row, each.row + each.rows) for each in taken])

    def at_sink(self, place: int) -> Bytes:
        """What reaches the ring's sink for an instruction."""
        return self.at(place, self._sink)

    def _rows(self, transfer: int, first: int, end: int) -> Bytes:
        place, moved, tile = self._transfers[transfer].tolist()
        op = self._ops[place]
        if isinstance(op, RingProduce):
            [sent] = self._sent.of(place, [tile])
            rows: Bytes = sent.reshape(len(sent), -1, self._row_bytes)[:, first:end]
            return rows
        if isinstance(op, Classify):
            return self._reply(place, op)[:, first:end]
        assert isinstance(op, Infeed)
        if op.source == "host":
            return self._host.between(*self._of_host(place, moved, first, end))
        first, end = (moved * op.rows + row for row in (first, end))
        if op.source == "data":
            return self._stored(op, first, end)
        if place not in self._replies:
            self._replies[place] = self.at_sink(place)
        return self._replies[place][:, first:end]

    def _stored(self, op: Infeed, first: int, end: int) -> Bytes:
        low, high = (op.address + row * self._row_bytes for row in (first, end))
        return self._data.read(low, high).reshape(1, end - first, self._row_bytes)

    def _reply(self, place: int, op: Classify) -> Bytes:
        if place not in self._replies:
            reply = classified(op, self.at(place, self._topology.tiles + 1))
            self._replies[place] = reply.reshape(len(reply), -1, self._row_bytes)
        return self._replies[place]


def merged(log: Numbers) -> Numbers:
    """In the order of instructions, nodes and rows; rows that follow one another, as one."""
    log = log[np.lexsort((log[:, 2], log[:, 1], log[:, 0]))]
    op, node, first, transfer, row, count = log.T
    begins = np.ones(len(log), bool)
    same = (node[1:] == node[:-1]) & (op[1:] == op[:-1]) & (transfer[1:] == transfer[:-1])
    begins[1:] = ~(same & (first[1:] == (first + count)[:-1]) & (row[1:] == (row + count)[:-1]))
    starts = np.flatnonzero(begins)
    merged = log[starts]
    if len(starts):
        merged[:, 5] = np.add.reduceat(count, starts)
    return merged


def said_alike(log: Numbers) -> NDArray[np.bool_]:
    """For each line of a log, whether all of its instruction's lines are of nodes of their own and say the same."""
    starts = np.flatnonzero(np.diff(log[:, 0], prepend=-1))
    lengths = np.diff(starts, append=len(log))
    same = (log[:, 2:] == np.repeat(log[starts, 2:], lengths, axis=0)).all(axis=1)
    same[1:] &= (log[1:, :2] != log[:-1, :2]).any(axis=1)
    return np.repeat(np.logical_and.reduceat(same, starts), lengths) if len(log) else same


def _places_of_host(infeeds: Iterable[tuple[int, Infeed]]) -> Iterator[tuple[int, int]]:
    """The first of the host's rows for each infeed that takes some."""
    row = 0
    for place, op in infeeds:
        if op.source == "host":
            yield place, row
            row += op.total_rows
