"""Element-wise difference of two tensors of different scales."""

from __future__ import annotations

from dataclasses import dataclass

from tilesim.network.operators.add import Add


@dataclass(frozen=True)
class Subtract(Add):
    """The sum of the first and the opposite of the second, which ``scaling`` has: see
    :func:`tilesim.arithmetic.add.opposite`.
    """
