"""Products on a test bench, carried out by the core."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.tiled.units.bench import Bench
from tilesim.tiled.dataflow.products import Products
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.run.core import library, products
from tilesim.tiled.units.tensor.decoder import Decoded
from tilesim.tiled.units.tensor.strided_product import StridedProduct
from tilesim.tiled.units.tensor.windows import Box


def places(bench: Bench) -> Numbers:
    """Where the memories of the bench's tile are, sample by sample."""
    memories = bench.narrow(), bench.wide()
    samples = np.arange(len(memories[0]))
    return np.stack([memory.ctypes.data + samples * memory.strides[0] for memory in memories], axis=1)


def by_core(bench: Bench, decoded: Decoded, by: Products | None = None) -> Callable[[Box], bool] | None:
    """What carries a tensorop out at once, if there is a core, and it covers that."""
    try:
        library()
    except NoCompiler:
        return None
    of_core, product = by or products(), decoded.regular
    if not isinstance(product, StridedProduct) or not of_core.cover(product):
        return None
    return lambda box: of_core.move(product, box, places(bench))
