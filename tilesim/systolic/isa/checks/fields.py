"""Static checks of single instructions: fields that contradict each other, the array or their elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from tilesim.machines.checks import RANGES, rule_faults
from tilesim.systolic.isa.checks.footprints import SIZES
from tilesim.systolic.isa.model import instructions as isa
from tilesim.systolic.topology import Topology

NORMALISING = 7
"""Numbers of a scaling that normalises."""


def field_faults(op: isa.Instruction, topology: Topology) -> Iterator[str]:
    """What is wrong with ``op``, whose fields have room for what they hold, beyond its addresses."""
    find = _RULES.get(type(op))
    return find(op, topology) if find else iter(())


def _within(name: str, element: str, *values: int) -> Iterator[str]:
    """A zero point, or the two ends of a clamp, must be something that an element can be."""
    low, high = RANGES[element]
    shown = " to ".join(map(str, values))
    if not all(low <= value <= high for value in values):
        yield f"{name} must be inside {low} to {high}, as {element} is, not {shown}"
    elif values[0] > values[-1]:
        yield f"{name} must be the smallest and the largest result, not {shown}"


def _at_most(name: str, value: int, most: int, what: str) -> Iterator[str]:
    if value > most:
        yield f"{name} must be at most {most}, {what}, not {value}"


def _multiply(op: isa.MatrixMultiply, topology: Topology) -> Iterator[str]:
    yield from _at_most("rows", op.rows, topology.array.inputs, "what the array takes in")
    yield from _at_most("columns", op.columns, topology.array.outputs, "what the array gives out")
    yield from _at_most("first + vectors", op.first + op.vectors, op.window.positions, "the positions of the window")
    yield from _at_most("first_row + rows", op.first_row + op.rows, op.window.elements, "the elements of a window")
    yield from _within("activation_zero_point", op.activations, op.activation_zero_point)
    yield from _within("weight_zero_point", op.weights, op.weight_zero_point)


def _activate(op: isa.Activate, topology: Topology) -> Iterator[str]:
    yield from _at_most("columns", op.columns, topology.array.outputs, "what the array gives out")
    yield from rule_faults("scale", op.scale.rule)
    yield from _within("scale.clamp", op.element, *op.scale.clamp)
    yield from _within("scale.zero_point", op.element, op.scale.zero_point)
    if op.table >= 0 and SIZES[op.element] != 1:
        yield f"element must be int8 or uint8 for a table, not {op.element}"
    if op.normalise:
        yield from _normalise(op.normalise, op.element)
    if op.pool_first and not (op.normalise and op.pool):
        yield "pool_first must be false where there is nothing to normalise or to pool"
    if op.pool and op.window:
        yield from _pooled(op, op.window, op.pool)
    elif op.pool or op.window:
        yield "pool and window must be given both, or neither"
    vectors = op.window.positions if op.window else op.vectors
    yield from _stride(op.stride_bytes, vectors, op.columns * SIZES[op.element])


def _pooled(op: isa.Activate, window: isa.Window, pool: isa.Pooling) -> Iterator[str]:
    pixels = window.images * window.height * window.width
    if pixels != op.vectors:
        yield f"vectors must be {pixels}, the pixels of the window's maps, not {op.vectors}"
    if window.channels != op.columns:
        yield f"columns must be {window.channels}, the channels of the window, not {op.columns}"
    yield from _pooling(pool, window, op.element)


def _stride(stride: int, vectors: int, width: int) -> Iterator[str]:
    if vectors > 1 and stride < width:
        yield f"stride_bytes must be at least {width}, the bytes of a vector, not {stride}"


def _normalise(normalise: isa.Normalise, element: str) -> Iterator[str]:
    if len(normalise.scaling) != NORMALISING:
        yield f"normalise.scaling must be {NORMALISING} numbers, not {len(normalise.scaling)}"
    yield from _within("normalise.clamp", element, *normalise.clamp)


def _pooling(pool: isa.Pooling, window: isa.Window, element: str) -> Iterator[str]:
    yield from _within("pool.clamp", element, *pool.clamp)
    yield from _within("pool.zero_point", element, pool.zero_point)
    yield from _within("pool.input_zero_point", element, pool.input_zero_point)
    rows, columns = (_counts(window, axis) for axis in (0, 1))
    if 0 in rows | columns:
        yield "window must have an element inside of the map at each of its positions"
    if pool.function != "average":
        if pool.rule or pool.scalings:
            yield f"pool.rule and pool.scalings must be empty for {pool.function}"
        return
    yield from rule_faults("average", pool.rule, *pool.scalings)
    counts = {a * b for a in rows for b in columns} - {0} if pool.inside_only else {window.kernel[0] * window.kernel[1]}
    missing = sorted(counts - {entry[0] for entry in pool.scalings if entry})
    if missing:
        yield f"pool.scalings must have an entry for {', '.join(map(str, missing))} elements"


def _counts(window: isa.Window, axis: int) -> set[int]:
    """How many taps along ``axis`` are inside of the map, of all positions."""
    stride, dilation, padding = window.strides[axis], window.dilations[axis], window.padding[axis]
    size, places = ((window.height, window.output_height), (window.width, window.output_width))[axis]
    counts = set()
    for first in range(-padding, -padding + places * stride, stride):
        low = max(0, -(first // dilation))
        high = min(window.kernel[axis] - 1, (size - 1 - first) // dilation)
        counts.add(max(0, high - low + 1))
    return counts


def _pool(op: isa.Pool, _: Topology) -> Iterator[str]:
    yield from _pooling(op.pool, op.window, op.element)
    yield from _stride(op.stride_bytes, op.window.positions, op.window.channels * SIZES[op.element])


def _normalisation(op: isa.Normalisation, _: Topology) -> Iterator[str]:
    yield from _alike(op.element, {"source": op.source, "destination": op.destination}, runs=True)
    yield from _normalise(op.normalise, op.element)


def _softmax(op: isa.RowSoftmax, _: Topology) -> Iterator[str]:
    yield from _alike(op.element, {"source": op.source, "destination": op.destination}, runs=True)
    yield from _within("clamp", op.element, *op.clamp)
    yield from rule_faults("softmax", op.rule, op.scaling)


def _combine(op: isa.Combine, _: Topology) -> Iterator[str]:
    yield from _alike(op.element, {"a": op.a, "b": op.b, "destination": op.destination})
    yield from _within("clamp", op.element, *op.clamp)
    yield from rule_faults(op.function, op.rule, op.scaling)


def _requantise(op: isa.Requantise, _: Topology) -> Iterator[str]:
    yield from _nest_faults("source", op.source, op.element)
    yield from _nest_faults("destination", op.destination, op.result)
    here, there = _elements(op.source, op.element), _elements(op.destination, op.result)
    if here != there:
        yield f"destination must have {here} elements, as source has, not {there}"
    yield from rule_faults("rescale", op.rule)
    yield from _within("input_zero_point", op.element, op.input_zero_point)
    yield from _within("zero_point", op.result, op.zero_point)
    yield from _within("clamp", op.result, *op.clamp)


def _alike(element: str, nests: dict[str, isa.Nest], runs: bool = False) -> Iterator[str]:
    """Nests of as many elements each; with ``runs`` in innermost runs of one length, too."""
    (name, first), *others = nests.items()
    for other, nest in nests.items():
        yield from _nest_faults(other, nest, element)
    for other, nest in others:
        here, there = _elements(first, element), _elements(nest, element)
        if here != there:
            yield f"{other} must have {here} elements, as {name} has, not {there}"
        elif runs and nest.bytes != first.bytes:
            yield f"{other}.bytes must be {first.bytes}, as {name} has, not {nest.bytes}"


def _nest_faults(name: str, nest: isa.Nest, element: str) -> Iterator[str]:
    if len(nest.counts) != len(nest.strides):
        yield f"{name} must have as many strides as counts ({len(nest.counts)}), not {len(nest.strides)}"
    if nest.bytes % SIZES[element]:
        yield f"{name}.bytes must be a multiple of {SIZES[element]}, the bytes of {element}, not {nest.bytes}"


def _elements(nest: isa.Nest, element: str) -> int:
    return nest.bytes // SIZES[element] * prod(nest.counts)


def _bytes_moved(op: isa.Lookup | isa.Copy, _: Topology) -> Iterator[str]:
    return _alike("uint8", {"source": op.source, "destination": op.destination})


_RULES: dict[type, Callable[[Any, Topology], Iterator[str]]] = {
    isa.ReadWeights: lambda op, _: _at_most("weight_bytes", op.weight_bytes, 2, "the bytes of int16"),
    isa.MatrixMultiply: _multiply,
    isa.Activate: _activate,
    isa.Pool: _pool,
    isa.Normalisation: _normalisation,
    isa.RowSoftmax: _softmax,
    isa.Combine: _combine,
    isa.Requantise: _requantise,
    isa.Lookup: _bytes_moved,
    isa.Copy: _bytes_moved,
    isa.Fill: lambda op, _: _nest_faults("destination", op.destination, "uint8"),
}
