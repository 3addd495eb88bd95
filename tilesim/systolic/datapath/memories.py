"""The memories that instructions work on, and what lies where in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import AccessError
from tilesim.sim.core.memory import Memory
from tilesim.systolic.isa.model.instructions import Element, Nest, Window
from tilesim.systolic.topology import Topology

Commit: TypeAlias = Callable[[], None]
"""What an instruction writes when it retires."""


@dataclass
class Memories:
    """Unified buffer, weight memory (as much as is used), and accumulators: int32 (samples, entries, outputs)."""

    buffer: Memory
    weights: Memory
    accumulators: NDArray[np.int32]


def read_tile(memories: Memories, address: int, weight_bytes: int, topology: Topology) -> NDArray[Any]:
    """A tile of weight memory as (inputs, outputs) of int8 or int16; the multiply that uses it says if it is uint8.

    Raises:
        AccessError: an address that weight memory does not have.
    """
    shape = topology.array.inputs, topology.array.outputs
    row = memories.weights.row(address, topology.weight_tile_bytes * weight_bytes)[0]
    tile: NDArray[Any] = row.view(np.int8 if weight_bytes == 1 else np.int16).reshape(shape)
    return tile


def at(
    memory: Memory, address: int, shape: tuple[int, ...], strides: tuple[int, ...], element: Element
) -> NDArray[Any]:
    """What lies in ``memory`` as an array (samples, *shape), to be read and written: element (i, j, ...) of each sample
    is at ``address + i * strides[0] + j * strides[1] + ...``.

    Raises:
        AccessError: an address that the memory does not have.
    """
    dtype = np.dtype(element)
    reaches = [(count - 1) * stride for count, stride in zip(shape, strides, strict=True)]
    end = address + sum(reach for reach in reaches if reach > 0) + dtype.itemsize
    memory.check(address + sum(reach for reach in reaches if reach < 0), end)
    content = memory.bytes
    return np.ndarray((len(content), *shape), dtype, content, address, (memory.size_bytes, *strides))


def nest(memory: Memory, places: Nest, element: Element = "uint8") -> NDArray[Any]:
    """What lies at a nest of addresses: (samples, *its counts, elements of an innermost run)."""
    size = np.dtype(element).itemsize
    shape, strides = (*places.counts, places.bytes // size), (*places.strides, size)
    return at(memory, places.address, shape, strides, element)


def maps(memory: Memory, window: Window, element: Element) -> NDArray[Any]:
    """The maps that a window runs over: (samples, images, height, width, channels)."""
    shape = window.images, window.height, window.width, window.channels
    strides = window.image_bytes, window.row_bytes, window.pixel_bytes, np.dtype(element).itemsize
    return at(memory, window.address, shape, strides, element)


def entries(memories: Memories, first: int, vectors: int, columns: int) -> NDArray[np.int32]:
    """Sums of the accumulators, (samples, vectors, columns), to be read and written.

    Raises:
        AccessError: entries or sums that they do not have.
    """
    _, there, outputs = memories.accumulators.shape
    if first < 0 or first + vectors > there:
        raise AccessError(f"the accumulators have entries 0 to {there - 1}, not {first} to {first + vectors - 1}")
    if columns > outputs:
        raise AccessError(f"the accumulators have {outputs} sums an entry, not {columns}")
    return memories.accumulators[:, first : first + vectors, :columns]


def writing(place: NDArray[Any], values: NDArray[Any]) -> Commit:
    """Write ``values``, in order, to a ``place`` of one of the arrays above."""

    def commit() -> None:
        place[...] = values.reshape(place.shape)

    return commit
