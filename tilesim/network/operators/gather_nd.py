"""Elements of a tensor by their places along several axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.operators.gather import must_be_places
from tilesim.network.operators.samples import each_sample


@dataclass(frozen=True)
class GatherNd:
    """Inputs: a tensor, and places (..., n), integers along its first n axes. Output: what is at each place, of shape
    (..., axes after the first n). ``firsts`` are the lengths of their first axes; 0 stands for a constant.
    """

    firsts: tuple[int, int]

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        """Output of the first input's dtype; any number of samples on the first axis.

        Raises:
            ArrayError: a place that the tensor does not have.
        """
        return each_sample(inputs, self.firsts, _taken)


def _taken(x: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    along = tuple(np.moveaxis(places, -1, 0))
    for axis, own in enumerate(along):
        must_be_places(own, x.shape[axis])
    return np.asarray(x[along])
