"""The wide→narrow DMA engine: wide rows scattered over narrow words."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from tilesim.tiled.isa.model.instructions import WideToNarrow
from tilesim.tiled.stepped.account import BUSY, FIFO, FLAG
from tilesim.tiled.stepped.engine import Engine, Rounds
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.ttu import Step, walk

ROW_BUFFERS = 2


class WideToNarrowEngine(Engine):
    """Writes a word a cycle; the words of a row that was read in t are written from t + 1 on.

    A row is read once its loop watchers let it and, of the two row buffers, one is free. The flag rises with the last
    word of a row that completes the loop.
    """

    op: WideToNarrow

    def begin(self, op: WideToNarrow) -> None:
        self._words: Iterator[Step] = walk(op.write.nest)
        self._rows: deque[tuple[Step, list[Bytes]]] = deque()
        self._rounds = Rounds(op.read.nest, op)
        self.gate(self._rounds.next())

    def arbitrate(self) -> None:
        if self.op is None or not self.begun:
            return
        self.kind = self._holds()
        self._reads = not self.kind and self.memories.wide_port.take()
        self._writes = bool(self._rows) and self.memories.narrow_write.take()
        self.kind = self.reason(self.kind, bool(self._rows) and not self._writes)
        if self._reads:
            self._data = self._read()

    def _holds(self) -> str:
        if self._rounds.step is None:
            return FIFO
        if not self.passes_gates():
            return FLAG
        return FIFO if len(self._rows) == ROW_BUFFERS else ""

    def _read(self) -> list[Bytes]:
        assert self._rounds.step is not None
        memories = self.memories
        row = memories.wide.read(self._rounds.step.address(self.op.read.reference), memories.row_bytes)
        return [row[at : at + memories.word_bytes] for at in range(0, memories.row_bytes, memories.word_bytes)]

    def advance(self) -> str:
        if self._writes:
            self._write()
        if self._reads:
            assert self._rounds.step is not None
            self._rows.append((self._rounds.step, self._data))
            self.gate(self._rounds.next())
            self.clock.stir()
        return BUSY if self._reads or self._writes else self.kind

    def _write(self) -> None:
        step, words = self._rows[0]
        self.memories.narrow.write(next(self._words).address(self.op.write.reference), words.pop(0))
        self.clock.stir()
        if not words:
            self._rows.popleft()
            self.raise_flag(self._rounds.raises(step))

    def through(self) -> bool:
        return self._rounds.step is None and not self._rows
