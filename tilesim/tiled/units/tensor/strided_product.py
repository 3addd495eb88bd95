"""Convolution and depthwise tensorops whose addresses are regular: a few operations on whole operands.

Whatever is not so goes address by address, with the same results: :mod:`tilesim.tiled.units.tensor.mac_array`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from string import ascii_lowercase
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.arithmetic.matmul import FLOAT32_EXACT, FLOAT64_EXACT, magnitude
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.activation_unit import biased
from tilesim.tiled.units.tensor.operations import ELEMENT_DTYPES, saturated, sums_type
from tilesim.tiled.units.tensor.product_form import INT32, ProductForm, ProductViews
from tilesim.tiled.units.tensor.sums import from_registers, to_registers
from tilesim.tiled.units.tensor.weight_cache import CacheEntry, LaneWeights, WeightCache, added_up, products_at_once
from tilesim.tiled.units.tensor.windows import Box, StridedView, parted

Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

BLOCK_ELEMENTS = 1 << 18
"""Inputs that are multiplied at once, where samples are many: as floats they stay in the processor's cache."""


class StridedProduct(Struct, frozen=True):
    """A tensorop of products on regular addresses, of a ``form``, whose operands begin at ``bases``."""

    op: TensorOp
    form: ProductForm
    bases: Mapping[str, int]
    entry: CacheEntry
    cache: WeightCache

    def move(self, memories: TileMemories, box: Box) -> bool:
        """Compute the groups in ``box``; False, and nothing done, if the samples have weights of their own, or sums may
        be too large for floats.
        """
        columns = self.cache.lookup(self.entry, memories.wide.blocks, self._columns)
        if columns is None:
            return False
        place = self.form.place(box)
        if columns.bound > FLOAT64_EXACT:
            return False
        multiply = self._convolve if self.op.operation is Operation.CONVOLUTION else self._multiply_bytes
        in_bytes = place.sums_in is place.sums_out is None and not self.form.wide and self.op.output_type.bytes == 1
        scale = columns.scaler(self.op, place.columns) if in_bytes else None
        if scale is None:
            self._finish(place, columns, multiply(place, columns, memories.narrow.blocks), memories)
            return True
        for narrow in parted(memories.narrow.blocks, BLOCK_ELEMENTS // prod(place.input.shape)):
            self._write(place, scale(multiply(place, columns, narrow)), narrow)
        return True

    def _convolve(self, place: ProductViews, columns: LaneWeights, narrow: Sequence[Bytes]) -> Floats:
        """(samples × rows, columns)."""
        weights, count = columns.weights[:, slice(*place.columns)], len(columns.weights)
        x = place.input.read(narrow, self.form.floats, self.bases["input"])
        if not self.form.grouped:
            return _products(x.reshape(-1, count), weights, columns.at_once)
        weights = weights.reshape(count, -1, self.form.grid.lanes).transpose(1, 0, 2)
        sums = _products(x.reshape(len(x), len(weights), -1, count), weights, columns.at_once)
        return sums.transpose(0, 2, 1, 3).reshape(-1, place.columns[1] - place.columns[0])

    def _multiply_bytes(self, place: ProductViews, columns: LaneWeights, narrow: Sequence[Bytes]) -> Floats:
        """(samples × rows, columns). All bytes from the first input to the last become numbers first."""
        window, (low, end), base = place.input, place.span, self.bases["input"]
        some = [block[:, base + low : base + end].view(window.dtype) for block in narrow]
        numbers = np.concatenate(some, dtype=self.form.floats)
        times = self.form.floats.itemsize // window.dtype.itemsize
        strides = tuple(times * stride for stride in window.strides)
        x = StridedView(times * (window.base - low), window.shape, strides, self.form.floats).view(numbers)
        first, last = place.columns[0], place.columns[0] + window.shape[-1]
        weights = columns.weights.reshape(*self.form.grid.step_bounds, -1)[..., first:last]
        sums: Floats = np.einsum(_subscripts(x.ndim, len(self.form.grid.step_bounds)), x, weights)
        return sums.reshape(-1, place.columns[1] - place.columns[0])

    def _finish(self, place: ProductViews, columns: LaneWeights, sums: Floats, memories: TileMemories) -> None:
        """By way of int32 sums, or int64."""
        part, kind = slice(*place.columns), sums_type(self.op)
        at_first = kind if columns.bound < 1 << 31 else np.int64  # out of whose range floats have no defined integer
        whole = sums.astype(at_first).astype(kind, copy=False)
        whole += columns.correction[part].astype(kind)
        if place.sums_in is not None:
            rows = np.moveaxis(place.sums_in.read(memories.wide.blocks, at=self.bases["sums_in"]), 1, -2)
            whole += np.ascontiguousarray(from_registers(rows)).reshape(whole.shape)
        if place.sums_out is not None:
            registers = to_registers(whole.reshape(-1, *place.sums_out.shape[1:])).view(INT32)
            for samples, view in place.sums_out.views(memories.wide.blocks, self.bases["sums_out"]):
                np.moveaxis(view, 1, -2)[...] = registers[samples]
            return
        if columns.parameters is not None:
            whole = biased(self.op, whole, columns.parameters[:, part])
        self._write(place, saturated(self.op, whole), memories.narrow.blocks)

    def _write(self, place: ProductViews, data: NDArray[np.uint8], narrow: Sequence[Bytes]) -> None:
        assert place.output is not None
        shape, rows = place.output.shape, len(place.rows)
        count = (place.columns[1] - place.columns[0]) * self.op.output_type.bytes
        in_bytes = len(shape) == rows + 1
        data = data.reshape(-1, *((*shape[:-1], count) if in_bytes else shape))
        for samples, view in place.output.views(narrow, self.bases["output"]):
            if self.form.word_stride_bytes and rows:  # one after the other along the last rows, which may meet
                for k in range(place.rows[-1]):
                    view[(slice(None),) * rows + (k,)] = data[samples][(slice(None),) * rows + (k,)]
            elif in_bytes and count < shape[-1]:
                view[..., :count] = data[samples]
                view[..., count:] = 0  # a word that lanes don't fill
            else:
                view[...] = data[samples]

    def _columns(self, wide: Bytes) -> LaneWeights:
        """From one sample's bytes."""
        op, form = self.op, self.form
        view = form.weights_view().view(wide, self.bases["weights"])[0]
        steps, blocks = len(form.grid.step_bounds), len(form.grid.column_bounds)
        order = (*range(blocks, blocks + steps), view.ndim - 1, *range(blocks), view.ndim - 2)
        products = prod(form.grid.step_bounds) * form.inputs
        elements = np.ascontiguousarray(view.transpose(order)).reshape(products, -1)[:, : form.columns]
        weights = elements.astype(form.floats, order="C")
        if op.weight_zero_point:
            weights -= form.floats.type(op.weight_zero_point)
        exact = FLOAT64_EXACT if form.wide else FLOAT32_EXACT
        bounds = magnitude(ELEMENT_DTYPES[op.input_type]), magnitude(elements.dtype, op.weight_zero_point)
        at_once, bound = products_at_once(weights, bounds, exact)
        correction = -op.input_zero_point * added_up(weights).astype(np.int64)
        weights = np.tile(weights, form.run) if form.run > 1 else weights
        return LaneWeights(weights, correction, self._parameters(wide), at_once, bound)

    def _parameters(self, wide: Bytes) -> NDArray[np.int32] | None:
        if "parameters" not in self.bases:
            return None
        view: NDArray[np.int32] = self.form.parameters_view().view(wide, self.bases["parameters"])[0]
        # the memory may hold something else when they serve again
        return view.reshape(len(view), -1)[:, : self.form.columns].copy()


def strided_product(op: TensorOp, form: ProductForm, cache: WeightCache) -> StridedProduct | None:
    """``op``, which is of that form, if its operands are in their memories."""
    bases = {name: getattr(op, name).base for name in form.moved}
    ranges = form.begin_at(bases)
    if ranges is None:
        return None
    key = form.kind, bases["weights"], bases.get("parameters")
    return StridedProduct(op, form, bases, cache.entry(key, ranges), cache)


def _products(x: NDArray[Any], weights: NDArray[Any], at_once: int) -> Floats:
    """Matrix products (..., rows, columns), of which floats add up so many terms exactly."""
    count = weights.shape[-2]
    if at_once >= count:
        return np.asarray(x @ weights)
    sums = np.zeros((*x.shape[:-1], weights.shape[-1]))
    for start in range(0, count, at_once):
        sums += x[..., start : start + at_once] @ weights[..., start : start + at_once, :]
    return sums


@cache
def _subscripts(axes: int, steps: int) -> str:
    """For einsum: (samples, steps, pixels, columns) times (steps, columns), added up over the steps."""
    letters = ascii_lowercase[:axes]
    over, pixels = letters[1 : 1 + steps], letters[1 + steps :]
    return f"{letters},{over}{letters[-1]}->{letters[0]}{pixels}"
