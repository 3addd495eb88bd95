"""A mesh-in DMA engine: words from one side, or a fill, into the memory that the mesh joins."""

from __future__ import annotations

from collections import deque

import numpy as np

from tilesim.tiled.isa.instructions import MeshIn
from tilesim.tiled.isa.nests import iterations
from tilesim.tiled.stepped.account import BUSY, FIFO, FLAG, PORT
from tilesim.tiled.stepped.engine import Engine, Rounds
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.mesh_link import MeshLink, Transfer

FILL_WORDS = 2


class MeshInEngine(Engine):
    """Writes a word a cycle; of a wide row the last word is written, the others wait for it in a register.

    A word of a fill is made in one cycle and written in a later one; two may be in hand.
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
        self._transfer: Transfer | None = None
        self._fills: deque[Bytes] = deque()
        self._to_fill = 0
        if op.fill is not None:
            self._to_fill = self._words_per_access * iterations(op.write.nest)
        self._rounds = Rounds(op.write.nest, op)
        self.gate(self._rounds.next())

    def proceed(self) -> None:
        if self.op.fill is None and self._transfer is None and self.link is not None and self.link.transfers:
            self._transfer = self.link.transfers.popleft()

    def arbitrate(self) -> None:
        if self.op is None or not self.begun:
            return
        self.kind = self._holds()
        self._makes = self._to_fill > 0 and len(self._fills) < FILL_WORDS
        completes = len(self._register) == self._words_per_access - 1
        self._writes = not self.kind and (not completes or self._port.take())
        self.kind = self.kind or PORT

    def _holds(self) -> str:
        if not self._register and not self.passes_gates():
            return FLAG
        return "" if self._has_word() else FIFO

    def _has_word(self) -> bool:
        if self.op.fill is not None:
            return bool(self._fills)
        return self._transfer is not None and self.link is not None and self.link.arrived(self._transfer)

    def advance(self) -> str:
        if self._writes:
            self._write()
        if self._makes:
            self._fills.append(np.full(self.memories.word_bytes, self.op.fill or 0).astype(np.uint8))
            self._to_fill -= 1
            self.clock.stir()
        return BUSY if self._writes or self._makes else self.kind

    def _write(self) -> None:
        self._register.append(self._next_word())
        self.clock.stir()
        if len(self._register) == self._words_per_access:
            step = self._rounds.step
            assert step is not None
            self._memory.write(step.address(self.op.write.reference), np.concatenate(self._register))
            self._register = []
            self.raise_flag(self._rounds.raises(step))
            self.gate(self._rounds.next())

    def _next_word(self) -> Bytes:
        if self.op.fill is not None:
            return self._fills.popleft()
        assert self.link is not None and self._transfer is not None
        return self.link.receive(self._transfer)

    def through(self) -> bool:
        return self._rounds.step is None
