"""Products on a test bench, carried out by the core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from tests.tiled.units.bench import Bench, at, chip_of, nest
from tilesim.tiled.dataflow.products import Products
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.isa.model.fields import Alternate
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.run.core import library, products
from tilesim.tiled.units.tensor.decoder import Decoded
from tilesim.tiled.units.tensor.strided_product import StridedProduct
from tilesim.tiled.units.tensor.windows import Box

OUTPUT, PARAMETERS, SUMS, ROW = 0x8000, 0x40000, 0x60000, 256
LANES = 64
FARTHEST_SHIFTS = -31, 30
CONVOLUTION = TensorOp(
    tiles=1, operation=Operation.CONVOLUTION, nest=nest(zb=2, y=3, x=5, k=3, z=2, lane=12), reduce=("k", "z"),
    input=at(64, y=200, x=8, k=48, z=8), weights=at(0, zb=6 * ROW, k=2 * ROW, z=ROW),
    parameters=at(PARAMETERS, zb=3 * ROW), output=at(OUTPUT, y=120, zb=12, x=24), input_zero_point=-7,
    weight_zero_point=3, output_zero_point=5, clamp=(-120, 110), rule="double",
)  # fmt: skip
DEPTHWISE = TensorOp(
    tiles=1, operation=Operation.DEPTHWISE, nest=nest(y=3, x=4, cg=3, ky=3, kx=2, lane=4), reduce=("ky", "kx"),
    input=at(8, y=192, x=12, cg=4, ky=192, kx=12), weights=at(0, cg=4, ky=24, kx=12),
    parameters=at(PARAMETERS, cg=16), output=at(OUTPUT, y=48, x=12, cg=4), input_type=ElementType.U8,
    weight_type=ElementType.U8, input_zero_point=128, weight_zero_point=130, rule="single",
)  # fmt: skip
FINAL = TensorOp(
    tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=3, lane=LANES), reduce=(), input=at(0, x=4),
    weights=at(0), parameters=at(PARAMETERS), output=at(OUTPUT, x=LANES), rule="double",
)  # fmt: skip
"""Sums that are hardly more than a bias."""
STAYING, FIRST = (at(base, y=15 * ROW, zb=ROW, x=3 * ROW) for base in (SUMS, 0))
OPS = {
    "convolution": CONVOLUTION,
    "depthwise": DEPTHWISE,
    "final": FINAL,
    "once": replace(FINAL, rule="single"),
    "limited": replace(CONVOLUTION, nest=nest(Alternate("zb", 5), zb=2, y=3, x=5, k=3, z=2, lane=12)),
    "apart": replace(CONVOLUTION, nest=nest(y=3, x=5, k=3, z=2, lane=12), output=at(OUTPUT, y=400, x=32, lane=16)),
    "sums": replace(CONVOLUTION, output=None, parameters=None, sums_in=STAYING, sums_out=STAYING),
    "sums at 0": replace(
        CONVOLUTION,
        weights=at(SUMS, zb=6 * ROW, k=2 * ROW, z=ROW),
        output=None,
        parameters=None,
        sums_in=FIRST,
        sums_out=FIRST,
    ),
    "last": replace(CONVOLUTION, sums_in=STAYING),
}
"""Each has something of its own: lanes that a limit leaves out, words that lie apart and meet, sums that grow where
they stand, sums that become bytes.
"""


def bench_of(samples: int = 1, shifts: int = -9) -> Bench:
    """Random memories, with parameters of which something is left."""
    bench = Bench(chip_of(narrow_memory={"size_bytes": 65536}), samples, 1)
    bench.randomise()
    registers = bench.wide()[:, PARAMETERS : PARAMETERS + 6 * ROW].view(np.int32).reshape(samples, 2, 3, ROW // 4)
    registers[:, :, 0] %= 3000
    registers[:, :, 1] |= 1 << 30
    registers[:, :, 1] &= (1 << 31) - 1
    registers[:, :, 2] = shifts
    registers[:, :, 2, :2] = FARTHEST_SHIFTS
    return bench


def decoded_of(bench: Bench, op: TensorOp) -> Decoded:
    tile = bench.chip.tiles[0]
    return tile.tensor.decoder.tensorop(op, tile.memories)


def places(bench: Bench) -> NDArray[np.uintp]:
    """Where the memories of the bench's tile are, sample by sample."""
    memories = bench.narrow(), bench.wide()
    samples = np.arange(len(memories[0]))
    begins = [memory.ctypes.data + samples * memory.strides[0] for memory in memories]
    return np.stack(begins, axis=1).astype(np.uintp)


def by_core(bench: Bench, decoded: Decoded, by: Products | None = None) -> Callable[[Box], bool] | None:
    """What carries a tensorop out at once, if there is a core, and it covers that; ``by``: another than the usual."""
    of_core, product = by or _usual(), decoded.regular
    if of_core is None or not isinstance(product, StridedProduct) or not of_core.cover(product):
        return None
    return lambda box: of_core.move(product, box, places(bench))


def _usual() -> Products | None:
    try:
        return products(library())
    except NoCompiler:
        return None


def carries(bench: Bench, op: TensorOp, by: Products | None = None) -> bool:
    """Whether the core carries an operation out; if it does, all bytes are those that come group after group."""
    decoded, results = decoded_of(bench, op), bench.chip.tiles[0].tensor.results
    before = bench.narrow().copy(), bench.wide().copy()
    results.compute(structs.replace(decoded, regular=None), 0, decoded.operands.count)
    expected = bench.narrow().copy(), bench.wide().copy()
    bench.narrow()[:], bench.wide()[:] = before
    at_once = by_core(bench, decoded, by)
    assert at_once is not None
    [(_, _, box)] = decoded.pieces(0, decoded.operands.count)
    assert box is not None
    carried = at_once(box)
    if not carried:
        results.compute(decoded, 0, decoded.operands.count)
    assert np.array_equal(bench.narrow(), expected[0])
    assert np.array_equal(bench.wide(), expected[1])
    return carried
