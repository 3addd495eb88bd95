"""Local response normalisation of pixels."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tilesim.arithmetic.normalise import normalise
from tilesim.arithmetic.requantise import saturate
from tilesim.systolic.datapath.memories import Commit, Memories, nest, writing
from tilesim.systolic.isa.model.instructions import Normalisation, Normalise


def prepare(op: Normalisation, memories: Memories) -> Commit:
    """Normalise pixels of the unified buffer."""
    values = normalised(op.normalise, nest(memories.buffer, op.source, op.element))
    return writing(nest(memories.buffer, op.destination, op.element), values)


def normalised(how: Normalise, x: NDArray[Any]) -> NDArray[Any]:
    """Normalised integers (..., channels), of their dtype."""
    return saturate(normalise(x, how.size, how.scaling), 0, how.clamp, x.dtype)
