"""Layers with weights: the array adds up, block by block, chunk by chunk, portion by portion; the vector unit takes
the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tilesim.network.operators import FullyConnected, Normalise, Table
from tilesim.systolic.compiler.boxes import Together, together
from tilesim.systolic.compiler.call import ArrayTraits, Item, PendingMultiply, TaskCall
from tilesim.systolic.compiler.lower.elementwise import normalise_of
from tilesim.systolic.compiler.lower.pool import pooling_of, window_of
from tilesim.systolic.compiler.product import OutputBlock, Product
from tilesim.systolic.compiler.storage import chunk
from tilesim.systolic.compiler.task import POOLS, WEIGHTED, Weighted, element_of
from tilesim.systolic.compiler.weight_tiles import Portion, cuts
from tilesim.systolic.isa.model.instructions import Activate, MatrixMultiply, Scale, Window


def lower_product(call: TaskCall, _op: Weighted) -> Iterator[Item]:
    """With a single portion a tile stays for all chunks; with several, all are fetched again for each."""
    product = call.product
    assert product is not None
    activate = _activate(call, product)
    for block in product.blocks:
        yield from _Block(call, product, block, activate).all()


def _activate(call: TaskCall, product: Product) -> Activate:
    """What the vector unit does with sums: scales them, and whatever follows; places and sizes are each block's."""
    op, made = product.op, call.task.made
    activate = Activate(scale=Scale(op.rule, 0, op.output_zero_point, op.clamp), element=element_of(made.dtype))
    for node in call.task.followers:
        follower = node.operator
        if isinstance(follower, Table):
            activate = replace(activate, table=call.storage.keep(follower.entries))
        elif isinstance(follower, Normalise):
            activate = replace(activate, normalise=normalise_of(follower), pool_first=activate.pool is not None)
        elif isinstance(follower, POOLS):
            pool, window = pooling_of(follower, made.shape), window_of(follower, made.shape)
            activate = replace(activate, pool=pool, window=window)
    return activate


PIECES, LEAST = 4, 64
"""Where layers meet, chunks are cut in so many pieces, of that many vectors at least: the next layer's first ones can
go through the array while the last sums of the one before still leave the accumulators.
"""


def _pieces(count: int, cut: bool) -> list[tuple[int, int]]:
    return cuts(count, max(LEAST, -(-count // PIECES)) if cut else count)


@dataclass(frozen=True)
class _Block:
    """The instructions of one block; ``activate`` is what they end with, but for places and sizes."""

    call: TaskCall
    product: Product
    block: OutputBlock
    activate: Activate

    def all(self) -> Iterator[Item]:
        positions, portions = self.product.window.positions, self.block.portions
        vectors = positions * len(self.call.targets)
        multiple = positions if self.activate.pool else 1
        size = chunk(vectors, len(portions), multiple, self.call.topology)
        images = list(together(self.call.sources[0]))
        multiplies = [
            [(image, self._multiply(image, portion, accumulate=number > 0)) for image in images]
            for number, portion in enumerate(portions)
        ]
        for first, count in cuts(vectors, size):
            entry = self.call.accumulators.take(count)
            for number, of_images in enumerate(multiplies):
                switch = first == 0 or len(portions) > 1
                address = self.product.address + (self.block.tile + number) * self.product.tile_bytes
                beginning = self.block is self.product.blocks[0] and first == number == 0
                for start, some in _pieces(count, beginning):
                    for op in self._multiplies(of_images, first + start, some, entry + start):
                        yield PendingMultiply(replace(op, switch=switch), address if switch else -1)
                        switch = False
            ending = self.block is self.product.blocks[-1] and not self.activate.pool
            for start, some in _pieces(count, ending):
                yield from self._activates(first + start, some, entry + start)

    def _window(self, images: Together, portion: Portion) -> Window:
        """Over the channels of the block; for a portion of one kernel position, that position."""
        whole, block = self.product.window, self.block
        window = replace(
            whole,
            address=self.call.sources[0][images.first] + block.channel * self.call.input.dtype.itemsize,
            images=images.count,
            image_bytes=images.pitches[0] or whole.image_bytes,
            channels=block.channels,
        )
        if portion.place < 0:
            return window
        place = divmod(portion.place, whole.kernel[1])
        down, across = (whole.padding[k] - place[k] * whole.dilations[k] for k in (0, 1))
        return replace(window, kernel=(1, 1), dilations=(1, 1), padding=(down, across))

    def _multiply(self, images: Together, portion: Portion, accumulate: bool) -> MatrixMultiply:
        """Of all vectors of some images."""
        op = self.product.op
        return MatrixMultiply(
            window=self._window(images, portion),
            first_row=portion.first,
            rows=portion.count,
            columns=self.block.columns,
            accumulate=accumulate,
            activations=self.product.activations,
            weights=self.product.weights,
            activation_zero_point=op.input_zero_point,
            weight_zero_point=op.weight_zero_point,
        )

    def _own(self, images: Together, first: int, count: int) -> range:
        """Of the vectors ``first`` and following of the step, those of some images."""
        positions = self.product.window.positions
        return range(max(first, images.first * positions), min(first + count, images.end * positions))

    def _multiplies(
        self, of_images: Sequence[tuple[Together, MatrixMultiply]], first: int, count: int, entry: int
    ) -> Iterator[MatrixMultiply]:
        """Of some vectors of the step, one for those of all images that lie equally far apart."""
        for images, multiply in of_images:
            if own := self._own(images, first, count):
                at = own.start - images.first * self.product.window.positions
                yield replace(multiply, first=at, vectors=len(own), accumulator=entry + own.start - first)

    def _activates(self, first: int, count: int, entry: int) -> Iterator[Activate]:
        """One for all images of a chunk whose results lie in one row."""
        taken = self.product.window.positions
        made = self.activate.window.positions if self.activate.window else taken
        size = self.call.output.dtype.itemsize
        stride = self.product.tiling.shape[0] * size
        pitches = {0: made * stride} if made > 1 else {}
        for images in together(self.call.targets, pitches=pitches):
            if own := self._own(images, first, count):
                image, within = divmod(own.start - images.first * taken, taken)
                pitch = images.pitches[0] or made * stride
                step = stride if made > 1 else pitch
                address = self.call.targets[images.first] + self.block.output * size + image * pitch + within * step
                yield self._placed(entry + own.start - first, len(own), address, step)

    def _placed(self, entry: int, vectors: int, address: int, stride: int) -> Activate:
        window, columns = self.activate.window, self.block.columns
        if window is not None:
            window = replace(window, images=vectors // self.product.window.positions, channels=columns)
        return replace(
            self.activate,
            accumulator=entry,
            vectors=vectors,
            columns=columns,
            scale=replace(self.activate.scale, parameters=self.block.parameters),
            window=window,
            address=address,
            stride_bytes=stride,
        )


OPERATORS = {kind: ArrayTraits(lower_product, on_map=kind is not FullyConnected) for kind in WEIGHTED}
