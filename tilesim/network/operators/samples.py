"""Samples kept apart where an operator works along the first axis, too.

Several inferences at once lie one after the other along the first axis: of a tensor (2, 3) that of three has shape
(6, 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


def each_sample(inputs: Sequence[Array], firsts: Sequence[int], compute: Callable[..., Array]) -> Array:
    """What ``compute`` makes of the inputs of each sample, one after the other along the first axis.

    Args:
        inputs: arrays of any number of samples, the same of each.
        firsts: of each input the length of its first axis in one sample; 0 of a constant, which all samples share.
        compute: from the inputs of one sample to its output.
    """
    apart = [x.reshape(-1, first, *x.shape[1:]) if first else x[None] for x, first in zip(inputs, firsts, strict=True)]
    samples = max(len(x) for x in apart)
    made = [np.atleast_1d(compute(*(x[k % len(x)] for x in apart))) for k in range(samples)]
    return np.ascontiguousarray(made[0] if samples == 1 else np.concatenate(made))
