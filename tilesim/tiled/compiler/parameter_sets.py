"""The parameters of a network, cut into sets: what one tensorop needs in wide memory at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, order=True)
class SetKey:
    """The parameters of a layer, or of the ``chunk``-th run of its outputs. Titles may repeat; the number tells."""

    layer: int
    chunk: int
    title: str


@dataclass(frozen=True)
class Variant:
    """The bytes of a set that are the same in ``tiles`` (a bitmap), whole wide rows."""

    tiles: int
    data: Bytes


class ParameterSets:
    """Collects what the lowerings want in wide memory. In every tile a set's parts follow one another in the same
    places, counted from the set's first byte, whichever tiles have which bytes of it.
    """

    def __init__(self, row_bytes: int) -> None:
        self._row_bytes = row_bytes
        self._places: dict[SetKey, dict[str, tuple[int, int]]] = {}
        self._bytes: dict[SetKey, dict[int, dict[str, Bytes]]] = {}

    def keep(self, key: SetKey, tiles: int, part: str, make: Callable[[], NDArray[Any]]) -> int:
        """Where in its set the array lies that ``make`` makes for some tiles; the longest of a part comes first."""
        own = self._bytes.setdefault(key, {}).setdefault(tiles, {})
        if part not in own:
            raw = np.ascontiguousarray(make()).reshape(-1).view(np.uint8)
            own[part] = np.pad(raw, (0, -raw.size % self._row_bytes))
            places = self._places.setdefault(key, {})
            places.setdefault(part, (self.size_bytes(key), own[part].size))
            if own[part].size > places[part][1]:
                raise AssertionError(f"{key}: {own[part].size} bytes of {part} after only {places[part][1]}")
        return self._places[key][part][0]

    def keys(self) -> list[SetKey]:
        """All sets, in the order in which they were first wanted."""
        return list(self._bytes)

    def size_bytes(self, key: SetKey) -> int:
        """Bytes of the set in a tile that has most of it."""
        return max((start + size for start, size in self._places.get(key, {}).values()), default=0)

    def tiles(self, key: SetKey) -> int:
        """All tiles that need some of the set."""
        everywhere = 0
        for tiles in self._bytes[key]:
            everywhere |= tiles
        return everywhere

    def variants(self, key: SetKey) -> list[Variant]:
        """The bytes of a set, one after the other for tiles that have different ones."""
        return [Variant(tiles, self._joined(key, parts)) for tiles, parts in self._bytes[key].items()]

    def _joined(self, key: SetKey, parts: dict[str, Bytes]) -> Bytes:
        whole = np.zeros(self.size_bytes(key), np.uint8)
        for part, data in parts.items():
            start = self._places[key][part][0]
            whole[start : start + data.size] = data
        return whole
