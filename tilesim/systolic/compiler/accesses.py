"""What each instruction reads and writes, as far as others change it while a program runs: ranges of the unified
buffer and of the accumulators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tilesim.systolic.isa.model.instructions import (
    Activate,
    Combine,
    Copy,
    Fill,
    Instruction,
    Lookup,
    MatrixMultiply,
    Nest,
    Normalisation,
    Pool,
    ReadHostMemory,
    Requantise,
    RowSoftmax,
    Window,
    WriteHostMemory,
)


class Range(NamedTuple):
    """Bytes of the buffer, or entries of the accumulators, from ``first`` up to ``end``."""

    memory: str
    first: int
    end: int


class Accesses(NamedTuple):
    reads: tuple[Range, ...] = ()
    writes: tuple[Range, ...] = ()


def accesses(op: Instruction) -> Accesses:
    """What an instruction touches, gaps between rows and images included."""
    known = _ACCESSES.get(type(op))
    return known(op) if known else Accesses()


def _bytes(first: int, end: int) -> Range:
    return Range("buffer", first, end)


def _nest(nest: Nest) -> Range:
    reach = sum((count - 1) * stride for count, stride in zip(nest.counts, nest.strides, strict=True))
    return _bytes(nest.address, nest.address + reach + nest.bytes)


def _window(window: Window, first: int, positions: int, size: int) -> Range:
    """The rows of maps that the windows of some positions reach."""
    an_image = window.output_height * window.output_width
    start, end = divmod(first, an_image), divmod(first + positions - 1, an_image)
    below = (window.kernel[0] - 1) * window.dilations[0] + 1
    top = start[1] // window.output_width * window.strides[0] - window.padding[0]
    bottom = end[1] // window.output_width * window.strides[0] - window.padding[0] + below
    low = start[0] * window.image_bytes + min(max(top, 0), window.height) * window.row_bytes
    high = end[0] * window.image_bytes + min(max(bottom, 0), window.height) * window.row_bytes
    beyond = window.row_bytes - (window.width - 1) * window.pixel_bytes - window.channels * size
    return _bytes(window.address + low, window.address + max(low, high - beyond))


def _multiply(op: MatrixMultiply) -> Accesses:
    read = _window(op.window, op.first, op.vectors, np.dtype(op.activations).itemsize)
    return Accesses((read,), (Range("accumulators", op.accumulator, op.accumulator + op.vectors),))


def _activate(op: Activate) -> Accesses:
    positions = op.window.positions if op.pool and op.window else op.vectors
    read = Range("accumulators", op.accumulator, op.accumulator + op.vectors)
    return Accesses((read,), (_vectors(op.address, positions, op.stride_bytes, op.columns, op.element),))


def _vectors(address: int, count: int, stride: int, columns: int, element: str) -> Range:
    return _bytes(address, address + (count - 1) * stride + columns * np.dtype(element).itemsize)


def _pool(op: Pool) -> Accesses:
    window = op.window
    read = _window(window, 0, window.positions, np.dtype(op.element).itemsize)
    return Accesses((read,), (_vectors(op.address, window.positions, op.stride_bytes, window.channels, op.element),))


def _moved(op: Normalisation | Requantise | Lookup | Copy | RowSoftmax) -> Accesses:
    return Accesses((_nest(op.source),), (_nest(op.destination),))


def _read_host(op: ReadHostMemory) -> Accesses:
    return Accesses((), (_bytes(op.address, op.address + op.bytes),) if op.destination == "unified_buffer" else ())


_ACCESSES: dict[type, Callable[[Any], Accesses]] = {
    ReadHostMemory: _read_host,
    WriteHostMemory: lambda op: Accesses((_bytes(op.address, op.address + op.bytes),)),
    MatrixMultiply: _multiply,
    Activate: _activate,
    Pool: _pool,
    Combine: lambda op: Accesses((_nest(op.a), _nest(op.b)), (_nest(op.destination),)),
    Fill: lambda op: Accesses((), (_nest(op.destination),)),
    **dict.fromkeys((Normalisation, Requantise, Lookup, Copy, RowSoftmax), _moved),
}
