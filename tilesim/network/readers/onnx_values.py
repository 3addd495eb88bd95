"""The values of an ONNX graph while it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import numpy as np

from tilesim.network.graph import Array, Quantisation, titled
from tilesim.network.readers.builder import Built


@dataclass(frozen=True)
class Constant:
    """Raw numbers from the file."""

    array: Array


@dataclass(frozen=True)
class Integers:
    """A tensor of the network, int8 or uint8, or int64 places in another one."""

    index: int


@dataclass(frozen=True)
class Reals:
    """A float32 tensor of the network: an input, or integers that were cast."""

    index: int


class Affine:
    """What has a ``quantisation``, in the float32 that ONNX Runtime computes with."""

    quantisation: Quantisation

    @property
    def scale(self) -> np.float32:
        return np.float32(self.quantisation.scale)

    @property
    def zero_point(self) -> int:
        return self.quantisation.zero_point


@dataclass(frozen=True)
class Dequantised(Affine):
    """Reals that integers stand for: a tensor of the network, or a constant (then ``index`` is -1)."""

    name: str
    index: int
    data: Array | None
    dtype: np.dtype[Any]
    quantisation: Quantisation
    axis: int = 0

    @property
    def title(self) -> str:
        """The name, cut for a sentence."""
        return titled(self.name)


@dataclass(frozen=True)
class Target(Affine):
    """The quantisation that a result must get, and the output integers that it may take.

    ``fused`` says whether ONNX Runtime makes the operator and its QuantizeLinear one operator on integers. Otherwise it
    computes reals: where an activation between them takes something from the output's range, or something else wants
    the reals too.
    """

    dtype: np.dtype[Any]
    quantisation: Quantisation
    clamp: tuple[int, int]
    fused: bool = True

    @property
    def whole(self) -> bool:
        """Whether no activation takes anything from the range of its type."""
        limits = np.iinfo(self.dtype)
        return self.clamp == (limits.min, limits.max)


@dataclass(frozen=True)
class Pending:
    """An operator whose output's quantisation is still to come, with the bounds that activations set meanwhile."""

    build: Callable[[Target], Built]
    low: float = -inf
    high: float = inf
    shared: bool = False
    """Whether something else than one operator takes the reals."""
    flattened: tuple[int, ...] | None = None
    """(C, H, W) of a map that the file counts by channel and the network by row, if that is the result."""
    axes: tuple[int, ...] | None = None
    """The canonical axis of each axis of the file, if they do not lie as usual."""
    made: str = ""
    """The reals that the operator itself makes, before activations, if the file names them."""


Value: TypeAlias = Constant | Integers | Reals | Dequantised | Pending


def target(dtype: np.dtype[Any], known: Quantisation) -> Target:
    limits = np.iinfo(dtype)
    return Target(dtype, known, (int(limits.min), int(limits.max)))
