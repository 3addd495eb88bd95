"""What the chip can do of an operator; a row for each stands beside its lowering."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tilesim.systolic.compiler.call import Item, TaskCall


@dataclass(frozen=True)
class Traits:
    """``lower`` makes the instructions of a call of an operator, in order. ``on_map``: its input must be a map;
    ``bytes_only``: it looks bytes up, and int16 is none.
    """

    lower: Callable[[TaskCall, Any], Iterator[Item]]
    on_map: bool = False
    bytes_only: bool = False
