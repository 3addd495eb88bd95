"""Weights and requantisation parameters as bytes of wide memory, cut into sets: what one tensorop needs at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, reduce
from hashlib import sha256
from operator import or_
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tilesim.tiled.compiler.feature_map import padded


def operand_stride(lanes: int, inputs: int) -> int:
    """Bytes from one reduction step's weights to the next: a power of two, so that no operand straddles a row."""
    return 1 << (lanes * inputs - 1).bit_length()


def lane_weights(weights: NDArray[Any], lanes: int, inputs: int, fill: int) -> NDArray[Any]:
    """Weights (O, kH, kW, C) as (blocks, kH, kW, steps, stride): in each step every lane finds its ``inputs`` bytes
    in a row.

    Lanes and channels that are not there have the weight ``fill``, the zero point.
    """
    outputs, height, width, channels = weights.shape
    blocks, steps = -(-outputs // lanes), -(-channels // inputs)
    whole = np.full((blocks * lanes, height, width, steps * inputs), fill, weights.dtype)
    whole[:outputs, :, :, :channels] = weights
    split = whole.reshape(blocks, lanes, height, width, steps, inputs).transpose(0, 2, 3, 4, 1, 5)
    flat = split.reshape(blocks, height, width, steps, lanes * inputs)
    spare = operand_stride(lanes, inputs) - lanes * inputs
    return np.pad(flat, ((0, 0),) * 4 + ((0, spare),), constant_values=fill)


def byte_weights(weights: NDArray[Any], block: int, fill: int) -> NDArray[Any]:
    """Depthwise weights (kH, kW, C) as (blocks, kH, kW, block)."""
    height, width, channels = weights.shape
    whole = np.full((height, width, padded(channels, block)), fill, weights.dtype)
    whole[:, :, :channels] = weights
    return whole.reshape(height, width, -1, block).transpose(2, 0, 1, 3)


def parameter_registers(input_bytes: int) -> int:
    """Registers for a block of channels: its bias, of 64 bits if activations have 16, then multiplier and shift."""
    return input_bytes + 2


def requantisation_values(
    bias: NDArray[Any], multiplier: NDArray[np.int32], shift: NDArray[np.int32], block: int, lanes: int, count: int
) -> NDArray[np.int32]:
    """Bias, multiplier and shift as (blocks, count, lanes) int32: what three registers hold, for each block of
    channels; or four, of which the first has the low, the second the high halves of the bias.
    """
    blocks = -(-bias.size // block)
    values_of = np.zeros((blocks, count, lanes), np.int32)
    halves = [bias] if count == parameter_registers(1) else [bias, bias.astype(np.int64) >> 32]
    for k, values in enumerate((*halves, multiplier, shift)):
        full = np.zeros(blocks * block, np.int32)
        full[: bias.size] = np.broadcast_to(values, bias.shape).astype(np.int32)
        values_of[:, k, :block] = full.reshape(blocks, block)
    return values_of


Bytes = NDArray[np.uint8]


class SetKey(Struct, frozen=True, order=True):
    """The parameters of a layer, or of the ``chunk``-th run of its outputs. Titles may repeat; the number tells."""

    layer: int
    chunk: int
    title: str


class KeepsParameters(Protocol):
    """Where lowerings put what they want in wide memory."""

    def keep(self, key: SetKey, tiles: int, part: str, make: Callable[[], NDArray[Any]], multiple: int) -> int: ...


class ParameterSets:
    """Collects what the lowerings want in wide memory. In every tile a set's parts follow one another in the same
    places, counted from the set's first byte, whichever tiles have which bytes of it. If sets are ``shared``, those
    of equal bytes have one place to stay: that of the first of them.
    """

    def __init__(self, row_bytes: int, *, shared: bool = False) -> None:
        self._row_bytes = row_bytes
        self._shared = shared
        self._places: dict[SetKey, dict[str, tuple[int, int]]] = {}
        self._bytes: dict[SetKey, dict[int, dict[str, Bytes]]] = {}
        self._ends: dict[SetKey, int] = {}
        self._multiples: dict[SetKey, int] = {}

    def keep(self, key: SetKey, tiles: int, part: str, make: Callable[[], NDArray[Any]], multiple: int) -> int:
        """Where in its set the array lies that ``make`` makes for some tiles: at a ``multiple`` (a power of two up to
        a row) of so many bytes; the longest of a part comes first.
        """
        own = self._bytes.setdefault(key, {}).setdefault(tiles, {})
        if part not in own:
            own[part] = np.ascontiguousarray(make()).reshape(-1).view(np.uint8)
            places = self._places.setdefault(key, {})
            if part not in places:
                places[part] = padded(self._ends.get(key, 0), multiple), padded(own[part].size, multiple)
                self._ends[key] = sum(places[part])
            self._multiples[key] = max(multiple, self._multiples.get(key, 1))
            if own[part].size > places[part][1]:
                raise AssertionError(f"{key}: {own[part].size} bytes of {part} after only {places[part][1]}")
        return self._places[key][part][0]

    def keys(self) -> list[SetKey]:
        """All sets, in the order in which they were first wanted."""
        return list(self._bytes)

    @cached_property
    def firsts(self) -> dict[SetKey, SetKey]:
        """For each set the first one of equal bytes, when all are there."""
        if not self._shared:
            return {key: key for key in self._bytes}
        known: dict[object, SetKey] = {}
        return {key: known.setdefault(self._likeness(key), key) for key in self._bytes}

    @cached_property
    def _equal(self) -> dict[SetKey, list[SetKey]]:
        equal: dict[SetKey, list[SetKey]] = {}
        for key, first in self.firsts.items():
            equal.setdefault(first, []).append(key)
        return equal

    def copies(self, key: SetKey) -> list[SetKey]:
        """All sets of the same bytes as the first of them, ``key``."""
        return self._equal[key]

    def size_bytes(self, key: SetKey) -> int:
        """Bytes of the set in a tile that has most of it, up to where another one may begin in the same row."""
        return padded(self._ends.get(key, 0), self._multiples.get(key, 1))

    def rows_bytes(self, key: SetKey) -> int:
        """Bytes of the whole rows that it takes alone."""
        return padded(self._ends.get(key, 0), self._row_bytes)

    def place(self, key: SetKey, end: int) -> int:
        """Where the set may begin behind ``end``."""
        return padded(end, self._multiples.get(key, 1))

    def tiles(self, key: SetKey) -> int:
        """All tiles that need some of the set."""
        everywhere = 0
        for tiles in self._bytes[key]:
            everywhere |= tiles
        return everywhere

    def tiles_of_copies(self, key: SetKey) -> int:
        """All tiles that need some of a set or of those that are equal to it."""
        return reduce(or_, map(self.tiles, self.copies(key)))

    def alike(self, key: SetKey) -> tuple[int, ...]:
        """Which tiles (a bitmap each) have the same bytes of it; where all have, also those that need an equal one."""
        own = tuple(self._bytes[key])
        return own if len(own) > 1 else (self.tiles_of_copies(key),)

    def variants(self, key: SetKey) -> list[tuple[int, Bytes]]:
        """The bytes of a set, with the tiles in which they are the same, as :meth:`alike` has them."""
        joined = [self._joined(key, parts) for parts in self._bytes[key].values()]
        return list(zip(self.alike(key), joined, strict=True))

    def _likeness(self, key: SetKey) -> object:
        """What sets have in common that are equal: their bytes, and who needs which, if not all need the same."""
        own = self._bytes[key]
        tiles = tuple(own) if len(own) > 1 else ()
        digests = [sha256(self._joined(key, parts).tobytes()).digest() for parts in own.values()]
        return tiles, tuple(digests), tuple(self._places.get(key, {}).items())

    def _joined(self, key: SetKey, parts: dict[str, Bytes]) -> Bytes:
        whole = np.zeros(self.size_bytes(key), np.uint8)
        for part, data in parts.items():
            start = self._places[key][part][0]
            whole[start : start + data.size] = data
        return whole
