"""What each instruction does to the bytes of the tiles that it is for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilesim.sim.core.memory import Bytes, Memory, Places
from tilesim.tiled.dataflow.mesh import Meshes
from tilesim.tiled.dataflow.products import Products
from tilesim.tiled.dataflow.ring import RingRows
from tilesim.tiled.dataflow.senders import ALL, Senders
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
        self,
        ops: Sequence[Instruction],
        stacks: Stacks,
        decoder: Decoder,
        products: Products,
        sent: Sent,
        mesh: Meshes,
        ring: RingRows,
    ) -> None:
        self._ops, self._stacks, self._decoder, self._products = ops, stacks, decoder, products
        self._sent, self._mesh, self._ring = sent, mesh, ring
        alike = stacks.alike
        self._word_bytes, self._row_bytes = alike.word_bytes, alike.row_bytes
        self._access_bytes = {MemoryName.NARROW: alike.word_bytes, MemoryName.WIDE: alike.row_bytes}
        self._arrives_in = MemoryName(stacks.topology.mesh.destination)
        """The memory that gets what goes over the mesh."""

    def carry(self, place: int, tiles: Sequence[int], first: int, end: int) -> None:
        """Let the bytes be as they are when iterations of the instruction at ``place`` are through on ``tiles``."""
        op = self._ops[place]
        self._verbs[type(op)](self, op, place, tiles, first, end)

    def senders(self) -> Senders:
        """Who sends what others take."""
        ring, (place, tile, sender, its_tile) = self._ring.senders(), self._mesh.all_senders().T
        read_bytes = np.zeros(len(self._ops), np.int64)
        for out in {*sender.tolist()}:
            op = self._ops[out]
            assert isinstance(op, MeshOut)
            read_bytes[out] = self._access_bytes[op.memory]
        first, most, taken = (np.full(len(place), k) for k in (0, ALL, self._access_bytes[self._arrives_in]))
        mesh = place, tile, first, sender, its_tile, first, most, taken, read_bytes[sender]
        rows = np.pad(ring, ((0, 0), (0, 2)), constant_values=1)
        return Senders(np.concatenate([rows, np.stack(mesh, axis=1)]), self._stacks.topology.tiles)

    def _compute(self, op: TensorOp, _place: int, tiles: Sequence[int], first: int, end: int) -> None:
        decoded = self._decoder.tensorop(op, self._stacks.alike)
        if isinstance(decoded.regular, StridedProduct):
            self._multiply(decoded, decoded.regular, tiles, first, end)
        else:
            self._stacks.part(tiles).results.compute(decoded, first, end)

    def _multiply(self, decoded: Decoded, product: StridedProduct, tiles: Sequence[int], first: int, end: int) -> None:
        """In C if it can do that; else once for all tiles that have the same weights."""
        if self._products.cover(product):
            places = self._stacks.places(tiles)
            for low, high, box in decoded.pieces(first, end):
                if box is None or not self._products.move(product, box, places):
                    self._stacks.part(tiles).results.compute(decoded, low, high)
            return
        for alike in self._of_one_weight(product, tiles):
            alike.results.compute(decoded, first, end)

    def _of_one_weight(self, product: StridedProduct, tiles: Sequence[int]) -> Iterator[Part]:
        """Some tiles, together where a product finds the same weights."""
        together: dict[Hashable, list[int]] = defaultdict(list)
        for tile in tiles:
            spans = [self._stacks.wide[tile, :, low:end] for low, end in product.entry.ranges]
            same = all((span == span[0]).all() for span in spans)
            together[tuple(span[0].tobytes() for span in spans) if same else tile].append(tile)
        yield from map(self._stacks.part, together.values())

    def _copy(self, op: Copy, _place: int, tiles: Sequence[int], first: int, end: int) -> None:
        part, word, row = self._stacks.part(tiles), self._word_bytes, self._row_bytes
        if isinstance(op, NarrowToWide):
            reads, writes = self._places(op.read, word, first, end), self._places(op.write, row, first, end)
            part.narrow.copy(reads, part.wide, writes)
        else:
            reads, writes = self._places(op.read, row, first, end), self._places(op.write, word, first, end)
            part.wide.copy(reads, part.narrow, writes)

    def _send(self, op: MeshOut | RingProduce, place: int, tiles: Sequence[int], first: int, end: int) -> None:
        memory = op.memory if isinstance(op, MeshOut) else MemoryName.WIDE
        places = self._decoder.ttu.places(op.read, self._access_bytes[memory])
        data = _memory(self._stacks.part(tiles), memory).read(places.part(first, end))
        self._sent.put(place, op.tiles, tiles, first, len(places), data)

    def _take_words(self, op: MeshIn, place: int, tiles: Sequence[int], first: int, end: int) -> None:
        memory, size = self._arrives_in, self._access_bytes[self._arrives_in]
        places = self._decoder.ttu.places(op.write, size).part(first, end)
        if op.fill is None:
            data = self._words(place, tiles, first * size, end * size).reshape(-1, end - first, size)
        else:
            data = np.full((1, end - first, size), op.fill % FILL_BYTES, np.uint8)
        _memory(self._stacks.part(tiles), memory).write(places, data)

    def _words(self, place: int, tiles: Sequence[int], first: int, end: int) -> Bytes:
        """What neighbours have sent, [tiles, samples, bytes]."""
        outs, senders = self._mesh.senders(place, tiles)
        several = {*outs}
        if len(several) == 1:
            return self._sent.of(outs[0], senders)[:, :, first:end]
        words = np.empty((len(tiles), self._stacks.samples, end - first), np.uint8)
        for out in several:
            own = [k for k, other in enumerate(outs) if other == out]
            words[own] = self._sent.of(out, [senders[k] for k in own])[:, :, first:end]
        return words

    def _take_rows(self, op: RingConsume, place: int, tiles: Sequence[int], first: int, end: int) -> None:
        places = self._places(op.write, self._row_bytes, first, end)
        for same, taken in self._ring.taken(place, tiles, first, end):
            part = self._stacks.part(same)
            part.wide.write(places, part.spread(self._ring.rows(taken)))

    def _places(self, traversal: Traversal, access_bytes: int, first: int, end: int) -> Places:
        """Where rows, which may be several accesses each, are read or written."""
        places, accesses = self._decoder.ttu.places(traversal, access_bytes), self._row_bytes // access_bytes
        return places.part(first * accesses, end * accesses)

    _verbs: ClassVar[Mapping[type, Callable[..., None]]] = {
        TensorOp: _compute,
        NarrowToWide: _copy,
        WideToNarrow: _copy,
        MeshIn: _take_words,
        MeshOut: _send,
        RingConsume: _take_rows,
        RingProduce: _send,
    }


def _memory(part: Part, name: MemoryName) -> Memory:
    return part.wide if name == MemoryName.WIDE else part.narrow
