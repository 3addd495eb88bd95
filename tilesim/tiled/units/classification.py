"""What the classifier tile makes of the bytes of its rows, without time, and what that costs."""

from __future__ import annotations

import numpy as np

from tilesim.arithmetic import classify
from tilesim.sim.core.action import Action
from tilesim.sim.core.memory import Bytes
from tilesim.tiled.isa.model.instructions import Classify
from tilesim.tiled.units.tensor.operations import ELEMENT_DTYPES

PER_ELEMENT = (Action.LOOKUP, Action.ADD_32, Action.MULTIPLY_32)
"""What an element costs: an exponential from a table, its share in the sum, and scaling by that. Assumption."""
PER_COMPARISON = (Action.ADD_32,)
"""What an element costs in each pass of a function that chooses: a comparison with the best so far. Assumption."""


def classified(op: Classify, rows: Bytes) -> Bytes:
    """The function of the elements in ``rows``, (samples, rows, row bytes), with zeros up to whole rows: (samples,
    bytes).
    """
    x = _elements(op, rows).view(ELEMENT_DTYPES[op.input_type])
    y = classify.classified(op.function, x, op.scaling)
    row_bytes = rows.shape[2]
    y = y.astype(classify.type_made(op.function, ELEMENT_DTYPES[op.output_type])).view(np.uint8)
    out = np.zeros((len(rows), -(-y.shape[1] // row_bytes) * row_bytes), np.uint8)
    out[:, : y.shape[1]] = y
    return out


def _elements(op: Classify, rows: Bytes) -> Bytes:
    """The bytes that count: (samples, elements)."""
    per_sender = op.elements_per_sender or op.elements
    sender, place = np.divmod(np.arange(op.elements), per_sender)
    first_row = sender * -(-per_sender // rows.shape[2])
    return rows.reshape(len(rows), -1)[:, first_row * rows.shape[2] + place]
