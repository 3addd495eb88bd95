"""Tensorops of products, carried out in C: whatever tiles they go to, each multiplies what its own memories hold.

Their addresses are regular, as :mod:`~tilesim.tiled.units.tensor.product_form` says: rows, blocks of lanes, and steps
are nests that move each operand.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.tiled.flat.columns import OPERANDS, PRODUCT, PRODUCT_ROW, PRODUCT_STEP
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.units.tensor.product_form import ProductForm
from tilesim.tiled.units.tensor.strided_product import StridedProduct
from tilesim.tiled.units.tensor.windows import Box, Range, extent

RULES = ("double", "single")
FARTHEST = 256
"""Zero points and limits of bytes lie nearer to 0."""
SIGN = 0x80
FLIPS = {ElementType.I8: SIGN, ElementType.U8: 0}
"""What makes bytes of a type such as have no sign."""
NOWHERE = -1
Bases = ctypes.c_int64 * len(OPERANDS)


class _Plan(Struct, frozen=True):
    """What C knows of a box of a product, and where its operands begin; the product is kept, so that no other one has
    its id.
    """

    product: StridedProduct
    numbers: Numbers
    bases: Any


class Products:
    """Carries products out by a ``core``."""

    def __init__(self, core: ctypes.CDLL) -> None:
        self._core = core
        self._covered: dict[int, tuple[StridedProduct, bool]] = {}
        self._plans: dict[tuple[int, Box], _Plan] = {}
        self._numbers: dict[tuple[int, Box], Numbers] = {}

    def cover(self, product: StridedProduct) -> bool:
        """Whether C knows how to carry a product out: of bytes that are scaled by integers, none written for another
        group to read.
        """
        if id(product) not in self._covered:
            self._covered[id(product)] = product, _is_known(product.op) and not _meets_itself(product)
        return self._covered[id(product)][1]

    def move(self, product: StridedProduct, box: Box, memories: NDArray[np.uintp]) -> bool:
        """Compute the groups in ``box`` in some samples, whose narrow and wide memories have these places (samples, 2);
        False, and all of it to be computed once more, if some are scaled in a way that C doesn't know.
        """
        key = id(product), box
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(product, box)
        places = plan.numbers.ctypes.data, plan.bases, memories.ctypes.data
        return bool(self._core.core_product(*places, len(memories)))

    def _plan(self, product: StridedProduct, box: Box) -> _Plan:
        form, own = product.form, product.bases
        key = id(form), box
        if key not in self._numbers:
            self._numbers[key] = np.array([*_numbers(form, box)])
        bases = Bases(*[own[name] + form.moved[name].first(box) if name in own else NOWHERE for name in OPERANDS])
        return _Plan(product, self._numbers[key], bases)


def _is_known(op: TensorOp) -> bool:
    near = max(map(abs, (op.input_zero_point, op.weight_zero_point, op.output_zero_point, *op.clamp))) < FARTHEST
    if not near or op.input_type not in FLIPS or op.weight_type not in FLIPS:
        return False
    return op.sums_out is not None or (op.rule in RULES and op.output_type in FLIPS and op.parameters is not None)


def _meets_itself(product: StridedProduct) -> bool:
    """Whether groups may write what others read: C takes them in an order of its own. Sums may become others where they
    stand.
    """
    form, bases = product.form, product.bases
    spans = {name: (bases[name] + low, bases[name] + end) for name, (low, end) in form.spans.items()}
    stay = bases.get("sums_in") == bases.get("sums_out") and form.moved.get("sums_in") == form.moved.get("sums_out")
    pairs = [("input", "output"), ("weights", "sums_out"), ("sums_in", "sums_out")][: 2 if stay else 3]
    return any(_meet(spans[one], spans[other]) for one, other in pairs if one in spans and other in spans)


def _meet(one: Range, other: Range) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _numbers(form: ProductForm, box: Box) -> Iterator[int]:
    op, grid = form.op, form.grid
    flips = [FLIPS[kind] for kind in (op.input_type, op.weight_type)]
    _, end = grid.columns_in(box)
    low, high = extent(grid.step_bounds, form.moved["weights"].steps, grid.lanes * form.inputs)
    unit = form.memories.result_bytes(op)
    nests = [*_nests(form, box)]
    counts = [prod(bounds) for bounds, _ in nests]
    known = {
        **dict(zip(("rows", "blocks", "steps", "runs"), counts, strict=True)),
        "depthwise": op.operation is Operation.DEPTHWISE,
        "inputs": form.inputs,
        "lanes": grid.lanes,
        "last_lanes": grid.lanes - max(0, end - form.columns),
        "run_bytes": counts[2] * form.inputs // counts[3],
        "register_bytes": form.memories.register_bytes,
        "unit_bytes": unit,
        "word_stride_bytes": form.word_stride_bytes or unit,
        "weights_from": low,
        "weights_bytes": high - low,
        "input_flip": flips[0],
        "input_zero": op.input_zero_point + flips[0],
        "weight_flip": flips[1],
        "weight_zero": op.weight_zero_point + flips[1],
        "output_zero": op.output_zero_point,
        "least": op.clamp[0] - op.output_zero_point,
        "most": op.clamp[1] - op.output_zero_point,
        "single": op.rule == "single",
    }
    yield from (known[name] for name in PRODUCT)
    for bounds, strides in nests:
        yield len(bounds)
        for loop, bound in enumerate(bounds):
            yield bound
            yield from (each[loop] if each else 0 for each in strides)


def _nests(form: ProductForm, box: Box) -> Iterator[tuple[Sequence[int], Sequence[Sequence[int]]]]:
    """The bounds of rows, blocks of lanes, steps and runs of inputs, and how far each loop moves operands; those that
    none moves have no strides.
    """
    grid, moved = form.grid, form.moved
    yield grid.rows_in(box), [grid.of_rows(moved[name].groups) if name in moved else () for name in PRODUCT_ROW]
    yield grid.blocks_in(box), [grid.of_columns(moved[name].groups) if name in moved else () for name in OPERANDS]
    yield grid.step_bounds, [moved[name].steps for name in PRODUCT_STEP]
    runs, width = len(grid.step_bounds), form.inputs
    while runs and (grid.step_bounds[runs - 1] == 1 or moved["input"].steps[runs - 1] == width):
        runs -= 1
        width *= grid.step_bounds[runs]
    yield grid.step_bounds[:runs], [moved["input"].steps[:runs]]
