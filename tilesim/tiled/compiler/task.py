"""What a lowering gets: where its operands lie, and where its parameters may go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.isa.instructions import ElementType
from tilesim.tiled.topology import Topology


@dataclass(frozen=True)
class Task:
    """One node for some tiles: its maps in narrow memory, its constants, and ``keep``, which stores an array in wide
    memory.

    ``keep`` returns the address; it may be asked for the same part of a layer only once.
    """

    topology: Topology
    tiles: int
    layer: int
    inputs: tuple[FeatureMap, ...]
    output: FeatureMap
    constants: tuple[NDArray[Any], ...]
    input_type: ElementType
    output_type: ElementType
    keep: Callable[[NDArray[Any]], int]

    @property
    def row_bytes(self) -> int:
        return self.topology.wide_memory.row_bytes

    def with_constants(self, constants: tuple[NDArray[Any], ...]) -> Task:
        return replace(self, constants=constants)


def element_type(dtype: np.dtype[Any]) -> ElementType:
    return ElementType.U8 if dtype == np.uint8 else ElementType.I8
