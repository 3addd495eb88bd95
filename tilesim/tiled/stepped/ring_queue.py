"""One instruction buffer for both ring roles of a tile."""

from __future__ import annotations

from typing import Any

from tilesim.tiled.isa.model.fields import Engine as EngineName
from tilesim.tiled.stepped.engine import Engine
from tilesim.tiled.stepped.fifo import Fifo


class Share:
    """What the role ``name`` sees of the tile's one buffer: places are shared; what stands first is its own if it is
    for this role and the ``other`` one is not at work.

    Timing: as that of a buffer of one engine.
    """

    other: Engine

    def __init__(self, queue: Fifo[Any], name: EngineName) -> None:
        self._queue = queue
        self._name = name

    def head(self) -> Any | None:
        op = self._queue.head()
        return op if op is not None and op.engine == self._name and self.other.op is None else None

    def take(self) -> Any:
        return self._queue.take()

    def room(self) -> bool:
        return self._queue.room()

    def reserve(self) -> None:
        self._queue.reserve()

    def put(self, item: Any, later_cycles: int = 0) -> None:
        self._queue.put(item, later_cycles)
