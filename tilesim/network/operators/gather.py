"""Elements of a tensor by their places along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError
from tilesim.network.operators.samples import each_sample


@dataclass(frozen=True)
class Gather:
    """Inputs: a tensor, and places, integers along its ``axis``. Output: the tensor with the axes of the places instead
    of that one; the first ``shared`` axes of both are the same ones.

    ``firsts`` are the lengths of their first axes; 0 stands for a constant.
    """

    axis: int
    shared: int
    firsts: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the first input's dtype; any number of samples on the first axis.

        Raises:
            ArrayError: a place that the axis does not have.
        """
        return each_sample(inputs, self.firsts, self._taken)

    def _taken(self, x: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
        must_be_places(places, x.shape[self.axis])
        if not self.shared:
            return np.take(x, places, axis=self.axis)
        both = x.reshape(-1, *x.shape[self.shared :]), places.reshape(-1, *places.shape[self.shared :])
        made = [np.take(*pair, axis=self.axis - self.shared) for pair in zip(*both, strict=True)]
        return np.stack(made).reshape(*x.shape[: self.shared], *made[0].shape)


def must_be_places(places: NDArray[Any], length: int) -> None:
    """Refuse places that an axis of that length does not have."""
    if places.size and not 0 <= places.min() <= places.max() < length:
        raise ArrayError(f"places must be from 0 to {length - 1}, not from {places.min()} to {places.max()}")
