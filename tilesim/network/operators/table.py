"""A function of one byte, looked up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tilesim.arithmetic.table import look_up


@dataclass(frozen=True)
class Table:
    """Input: int8 or uint8 of any shape. Output: ``entries`` (256,) of the output's dtype, each at its input's byte.

    ``function`` says what it is a table of, e.g. ``logistic``.
    """

    function: str
    entries: NDArray[Any] = field(repr=False)

    def evaluate(self, inputs: list[NDArray[Any]]) -> NDArray[Any]:
        return look_up(self.entries, inputs[0])
