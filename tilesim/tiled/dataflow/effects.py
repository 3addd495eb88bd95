"""What each instruction does to the bytes of the tiles that it is for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from typing import Any

import numpy as np

from tilesim.sim.core.memory import Bytes, Memory, Places
from tilesim.tiled.dataflow.cuts import Need, Piece
from tilesim.tiled.dataflow.mesh import Meshes
from tilesim.tiled.dataflow.ring import RingRows
from tilesim.tiled.dataflow.sent import Sent
from tilesim.tiled.dataflow.stacks import Part, Stacks
from tilesim.tiled.isa.model.fields import MemoryName, Traversal
from tilesim.tiled.isa.model.instructions import (
    Copy,
    Instruction,
    MeshIn,
    MeshOut,
    NarrowToWide,
    RingConsume,
    RingProduce,
    TensorOp,
    WideToNarrow,
)
from tilesim.tiled.units.tensor.decoder import Decoded, Decoder
from tilesim.tiled.units.tensor.strided_product import StridedProduct

FILL_BYTES = 256


class Effects:
    """Carries instructions out on stacked memories."""

    def __init__(
        self, ops: Sequence[Instruction], stacks: Stacks, decoder: Decoder, sent: Sent, mesh: Meshes, ring: RingRows
    ) -> None:
        self._ops, self._stacks, self._decoder = ops, stacks, decoder
        self._sent, self._mesh, self._ring = sent, mesh, ring
        self._needs: dict[Piece, Sequence[Need]] = {}
        self._verbs: dict[type, Callable[..., None]] = {
            TensorOp: self._compute,
            NarrowToWide: self._copy,
            WideToNarrow: self._copy,
            MeshIn: self._take_words,
            MeshOut: self._send,
            RingConsume: self._take_rows,
            RingProduce: self._send,
        }

    def carry(self, place: int, tiles: Sequence[int], first: int, end: int) -> None:
        """Let the bytes be as they are when iterations of the instruction at ``place`` are through on ``tiles``."""
        op = self._ops[place]
        self._verbs[type(op)](op, place, tiles, first, end)

    def takes(self, place: int) -> bool:
        """Whether the instruction at ``place`` takes what others send."""
        op = self._ops[place]
        return isinstance(op, RingConsume) or (isinstance(op, MeshIn) and op.fill is None)

    def needs(self, piece: Piece) -> Sequence[Need]:
        """What must have been sent for a piece."""
        op = self._ops[piece.place]
        if isinstance(op, MeshIn) and op.fill is None:
            out, tile = self._mesh.sender(piece.place, piece.tile)
            sender = self._ops[out]
            assert isinstance(sender, MeshOut)
            took = self._access_bytes(MemoryName(self._stacks.topology.mesh.destination))
            return [Need(out, tile, ceil(piece.end * took / self._access_bytes(sender.memory)))]
        if not isinstance(op, RingConsume):
            return ()
        if piece not in self._needs:
            self._needs[piece] = tuple(self._senders(piece))
        return self._needs[piece]

    def _senders(self, piece: Piece) -> Iterator[Need]:
        for taken in self._ring.taken(piece.place, piece.tile + 1, 0, piece.end):
            sender = self._ring.sender(taken.transfer)
            if sender is not None:
                yield Need(*sender, taken.row + taken.rows)

    def _compute(self, op: TensorOp, _place: int, tiles: Sequence[int], first: int, end: int) -> None:
        decoded = self._decoder.tensorop(op, self._stacks.alike)
        for part in self._stacks.parts(tiles):
            for alike in self._of_one_weight(decoded, part):
                alike.results.compute(decoded, first, end)

    def _of_one_weight(self, decoded: Decoded, part: Part) -> Iterator[Part]:
        """The tiles of a part, together where a product finds the same weights."""
        regular = decoded.regular
        if len(part.tiles) == 1 or not isinstance(regular, StridedProduct):
            yield part
            return
        wide, samples = part.memories.wide.content, self._stacks.samples
        spans = [wide[:, low:end] for low, end in regular.entry.ranges]
        left = np.arange(len(part.tiles))
        while len(left):
            head = left[0] * samples
            same = np.all([(span == span[head]).all(axis=1) for span in spans], axis=0).reshape(-1, samples)
            together = left[np.all(same, axis=1)[left]]
            if len(together) == len(part.tiles):
                yield part
                return
            chosen = together if len(together) else left[:1]  # a tile whose samples differ
            yield from self._stacks.parts([part.tiles[k] for k in chosen.tolist()])
            left = np.setdiff1d(left, chosen)

    def _copy(self, op: Copy, _place: int, tiles: Sequence[int], first: int, end: int) -> None:
        narrow, wide = MemoryName.NARROW, MemoryName.WIDE
        source, target = (narrow, wide) if isinstance(op, NarrowToWide) else (wide, narrow)
        row_bytes = self._access_bytes(wide)
        for part in self._stacks.parts(tiles):
            data = _memory(part, source).read(self._places(op.read, source, first, end, row_bytes))
            _memory(part, target).write(self._places(op.write, target, first, end, row_bytes), data)

    def _send(self, op: MeshOut | RingProduce, place: int, tiles: Sequence[int], first: int, end: int) -> None:
        memory = op.memory if isinstance(op, MeshOut) else MemoryName.WIDE
        places = self._decoder.ttu.places(op.read, self._access_bytes(memory))
        for part in self._stacks.parts(tiles):
            data = _memory(part, memory).read(places.part(first, end))
            self._sent.put(place, op.tiles, part.tiles, first, len(places), data)

    def _take_words(self, op: MeshIn, place: int, tiles: Sequence[int], first: int, end: int) -> None:
        memory = MemoryName(self._stacks.topology.mesh.destination)
        size = self._access_bytes(memory)
        places = self._decoder.ttu.places(op.write, size).part(first, end)
        for part in self._stacks.parts(tiles):
            if op.fill is None:
                data = self._words(place, part.tiles, first * size, end * size).reshape(-1, end - first, size)
            else:
                data = np.full((1, end - first, size), op.fill % FILL_BYTES, np.uint8)
            _memory(part, memory).write(places, data)

    def _words(self, place: int, tiles: Sequence[int], first: int, end: int) -> Bytes:
        """What neighbours have sent, [tiles, samples, bytes]."""
        senders: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for k, tile in enumerate(tiles):
            out, sender = self._mesh.sender(place, tile)
            senders[out].append((k, sender))
        words = np.empty((len(tiles), self._stacks.samples, end - first), np.uint8)
        for out, pairs in senders.items():
            sent = self._sent.of(out, [sender for _, sender in pairs])
            words[[k for k, _ in pairs]] = sent.reshape(*sent.shape[:2], -1)[:, :, first:end]
        return words

    def _take_rows(self, op: RingConsume, place: int, tiles: Sequence[int], first: int, end: int) -> None:
        places = self._decoder.ttu.places(op.write, self._access_bytes(MemoryName.WIDE)).part(first, end)
        alike: dict[Any, list[int]] = defaultdict(list)
        for tile in tiles:
            alike[self._ring.taken(place, tile + 1, first, end)].append(tile)
        for taken, same in alike.items():
            rows = self._ring.rows(taken)
            for part in self._stacks.parts(same):
                part.memories.wide.write(places, part.spread(rows))

    def _places(self, traversal: Traversal, memory: MemoryName, first: int, end: int, row_bytes: int) -> Places:
        """Where rows, which may be several accesses each, are read or written."""
        size = self._access_bytes(memory)
        return self._decoder.ttu.places(traversal, size).part(first * row_bytes // size, end * row_bytes // size)

    def _access_bytes(self, memory: MemoryName) -> int:
        alike = self._stacks.alike
        return alike.row_bytes if memory == MemoryName.WIDE else alike.word_bytes


def _memory(part: Part, name: MemoryName) -> Memory:
    return part.memories.wide if name == MemoryName.WIDE else part.memories.narrow
