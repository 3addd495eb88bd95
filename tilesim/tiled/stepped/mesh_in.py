"""A mesh-in DMA engine: words from one side, or a fill, into the memory that the mesh joins."""

from __future__ import annotations

from collections import deque

import numpy as np

from tilesim.tiled.isa.model.instructions import MeshIn
from tilesim.tiled.stepped.core import BUSY, FIFO, FLAG, PORT
from tilesim.tiled.stepped.engine import Engine, Rounds
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.mesh_link import MeshLink, WordTransfer

FILL_WORDS = 2


class MeshInEngine(Engine):
    """Writes a word a cycle; of a wide row the last word is written, the others wait for it in a register.

    A word of a fill is made in one cycle and written in a later one; two may be in hand. Watchers of loops hold the
    words that arrive before they are written, those of a fill before they are made.
    """

    op: MeshIn
    link: MeshLink | None = None

    def begin(self, op: MeshIn) -> None:
        wide = self.tile.topology.mesh.destination == "wide"
        self._memory = self.memories.wide if wide else self.memories.narrow
        self._port = self.memories.wide_port if wide else self.memories.narrow_write
        access_bytes = self.memories.row_bytes if wide else self.memories.word_bytes
        self._words_per_access = access_bytes // self.memories.word_bytes
        self._register: list[Bytes] = []
        self._transfer: WordTransfer | None = None
        self._fills: deque[Bytes] = deque()
        self._rounds = Rounds(op.write.nest, op)
        self._fill_rounds = Rounds(op.write.nest, op)
        self._made = 0
        self.gate(self._rounds.next())
        self._fill_rounds.next()

    def proceed(self) -> None:
        if self.op.fill is None and self._transfer is None and self.link is not None and self.link.transfers:
            self._transfer = self.link.transfers.popleft()

    def arbitrate(self) -> None:
        if self.op is None or not self.begun:
            return
        self.kind = self._holds()
        self._makes = self.op.fill is not None and self._may_make()
        completes = len(self._register) == self._words_per_access - 1
        self._writes = not self.kind and (not completes or self._port.take())
        self.kind = self.kind or PORT

    def _holds(self) -> str:
        """Why no word can be written, whatever the port."""
        if self.op.fill is not None:
            return "" if self._fills else FIFO if self.passes_gates() else FLAG
        if not self._register and not self.passes_gates():
            return FLAG
        return "" if self._has_word() else FIFO

    def _may_make(self) -> bool:
        """Whether a word of a fill can be made."""
        if self._fill_rounds.step is None or len(self._fills) == FILL_WORDS:
            return False
        return self._made > 0 or self.passes_gates()

    def _has_word(self) -> bool:
        return self._transfer is not None and self.link is not None and self.link.arrived(self._transfer)

    def advance(self) -> str:
        if self._writes:
            self._write()
        if self._makes:
            self._make()
        return BUSY if self._writes or self._makes else self.kind

    def _make(self) -> None:
        self._fills.append(np.full(self.memories.word_bytes, self.op.fill or 0).astype(np.uint8))
        self._made += 1
        self.clock.stir()
        if self._made == self._words_per_access:
            self._made = 0
            self.gate(self._fill_rounds.next())

    def _write(self) -> None:
        self._register.append(self._next_word())
        self.clock.stir()
        if len(self._register) == self._words_per_access:
            step = self._rounds.step
            assert step is not None
            self._memory.write(step.address(self.op.write.reference), np.concatenate(self._register))
            self._register = []
            self.raise_flag(self._rounds.raises(step))
            gates = self._rounds.next()
            if self.op.fill is None:
                self.gate(gates)

    def _next_word(self) -> Bytes:
        if self.op.fill is not None:
            return self._fills.popleft()
        assert self.link is not None
        assert self._transfer is not None
        return self.link.receive(self._transfer)

    def through(self) -> bool:
        return self._rounds.step is None
