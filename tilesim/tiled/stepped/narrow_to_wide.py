"""The narrow→wide DMA engine: narrow words gathered into wide rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from tilesim.tiled.isa.model.instructions import NarrowToWide
from tilesim.tiled.stepped.account import BUSY, FIFO, FLAG
from tilesim.tiled.stepped.engine import Engine, Rounds
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.ttu import Step, walk

ROW_BUFFERS = 2


class NarrowToWideEngine(Engine):
    """Reads a word a cycle; a row whose last word was read in t is written from t + 1 on, whenever the port is free.

    The first word of a row is read once its loop watchers let it and, of the two row buffers, one is free.
    """

    op: NarrowToWide

    def begin(self, op: NarrowToWide) -> None:
        self._words: Iterator[Step] = walk(op.read.nest)
        self._words_per_row = self.memories.row_bytes // self.memories.word_bytes
        self._row: list[Bytes] = []
        self._rows: deque[tuple[Step, Bytes]] = deque()
        self._rounds = Rounds(op.write.nest, op)
        self._next_row()

    def _next_row(self) -> None:
        self.gate(self._rounds.next())

    def arbitrate(self) -> None:
        if self.op is None or not self.begun:
            return
        self.kind = self._holds()
        self._writes = bool(self._rows) and self.memories.wide_port.take()
        self._reads = not self.kind and self.memories.narrow_read.take()
        self.kind = self.reason(self.kind, bool(self._rows) and not self._writes)

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
        if self._reads:
            self._read()
        return BUSY if self._reads or self._writes else self.kind

    def _write(self) -> None:
        step, row = self._rows.popleft()
        self.memories.wide.write(step.address(self.op.write.reference), row)
        self.raise_flag(self._rounds.raises(step))
        self.clock.stir()

    def _read(self) -> None:
        word = next(self._words).address(self.op.read.reference)
        self._row.append(self.memories.narrow.read(word, self.memories.word_bytes))
        self.clock.stir()
        if len(self._row) == self._words_per_row:
            assert self._rounds.step is not None
            self._rows.append((self._rounds.step, np.concatenate(self._row)))
            self._row = []
            self._next_row()

    def through(self) -> bool:
        return self._rounds.step is None and not self._rows
