"""A DMA engine between a tile's memories: narrow words gathered into wide rows, or wide rows scattered over words."""

from __future__ import annotations

from collections import deque

import numpy as np

from tilesim.tiled.isa.model.instructions import Copy, NarrowToWide
from tilesim.tiled.stepped.core import BUSY, FIFO, FLAG
from tilesim.tiled.stepped.engine import Engine, Rounds
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.ttu import Iteration, walk

ROW_BUFFERS = 2


class CopyEngine(Engine):
    """Reads one memory and writes the other, a narrow word a cycle, and touches the wide one once a row; what of a row
    was read last in t is followed by its first write from t + 1 on, whenever the port is free.

    A row is begun once its loop watchers let it and, of the two row buffers, one is free. The flag rises with the last
    write of a row that completes the loop.
    """

    op: Copy

    def begin(self, op: Copy) -> None:
        memories, gathers = self.memories, isinstance(op, NarrowToWide)
        self._source, self._target = (memories.narrow, memories.wide) if gathers else (memories.wide, memories.narrow)
        self._read_port = memories.narrow_read if gathers else memories.wide_port
        self._write_port = memories.wide_port if gathers else memories.narrow_write
        self._read_bytes = memories.word_bytes if gathers else memories.row_bytes
        self._write_bytes = memories.row_bytes if gathers else memories.word_bytes
        self._sources, self._targets = walk(op.read.nest), walk(op.write.nest)
        self._row: list[Bytes] = []
        self._rows: deque[tuple[Iteration, list[Bytes]]] = deque()
        self._rounds = Rounds(op.write.nest if gathers else op.read.nest, op)
        self.gate(self._rounds.next())

    def arbitrate(self) -> None:
        if self.op is None or not self.begun:
            return
        self.kind = self._holds()
        self._reads = not self.kind and self._read_port.take()
        self._writes = bool(self._rows) and self._write_port.take()
        self.kind = self.reason(self.kind, bool(self._rows) and not self._writes)
        if self._reads:
            address = next(self._sources).address(self.op.read.reference)
            self._row.append(self._source.read(address, self._read_bytes))

    def _holds(self) -> str:
        if self._rounds.step is None:
            return FIFO
        if self._row:
            return ""
        if not self.passes_gates():
            return FLAG
        return FIFO if len(self._rows) == ROW_BUFFERS else ""

    def advance(self) -> str:
        if self._writes:
            self._write()
        if self._reads and len(self._row) * self._read_bytes == self.memories.row_bytes:
            self._queue_row()
        if not self._reads and not self._writes:
            return self.kind
        self.clock.stir()
        return BUSY

    def _write(self) -> None:
        step, accesses = self._rows[0]
        self._target.write(next(self._targets).address(self.op.write.reference), accesses.pop(0))
        if not accesses:
            self._rows.popleft()
            self.raise_flag(self._rounds.raises(step))

    def _queue_row(self) -> None:
        assert self._rounds.step is not None
        row, self._row = np.concatenate(self._row), []
        accesses = [row[at : at + self._write_bytes] for at in range(0, len(row), self._write_bytes)]
        self._rows.append((self._rounds.step, accesses))
        self.gate(self._rounds.next())

    def through(self) -> bool:
        return self._rounds.step is None and not self._rows
