"""The words of a row: bytes as the RAMs hold them, and the integers that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.topology import Topology
from tilesim.sim.core.memory import Bytes

Words = NDArray[np.int32]


def words_of(rows: Bytes, topology: Topology, signed: bool = True) -> Words:
    """The words of ``rows``, uint8 (..., row bytes), as int32 (..., units)."""
    return raw_words(rows, topology, signed).astype(np.int32)


def raw_words(rows: Bytes, topology: Topology, signed: bool = True) -> NDArray[Any]:
    """The words of ``rows`` as they are stored: int8, uint8, int16 or uint16 (..., units)."""
    kind = f"<{'i' if signed else 'u'}{topology.word_bytes}"
    return np.ascontiguousarray(rows).view(kind)


def bytes_of(words: NDArray[Any], topology: Topology) -> Bytes:
    """What is stored of integers (..., units): the lowest bits of each."""
    return np.ascontiguousarray(words.astype(f"<i{topology.word_bytes}")).view(np.uint8)
