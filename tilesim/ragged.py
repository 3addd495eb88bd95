"""Rows of unlike lengths, one behind the other in one array."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.int64]


def ranges(first: Indices | int, counts: NDArray[Any]) -> Indices:
    """So many numbers from each first one on, or all from the same, range behind range: (sum of ``counts``,) int64."""
    ends = counts.cumsum()
    numbers: Indices = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
    return numbers
