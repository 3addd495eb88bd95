"""A mesh-out DMA engine: words of a memory to the neighbour at one side."""

from __future__ import annotations

from tilesim.tiled.isa.model.fields import MemoryName
from tilesim.tiled.isa.model.instructions import MeshOut
from tilesim.tiled.stepped.core import BUSY, CREDIT, FLAG, IDLE, PORT
from tilesim.tiled.stepped.engine import Engine, Rounds
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.mesh_link import MeshLink, WordTransfer
from tilesim.tiled.stepped.ttu import Iteration


class MeshOutEngine(Engine):
    """Reads a word a cycle while its link has credits; of a wide row the first word is read, the others leave from a
    register. The instruction is through, and its flag rises, as the words get written in the neighbour.
    """

    op: MeshOut
    link: MeshLink

    def begin(self, op: MeshOut) -> None:
        wide = op.memory == MemoryName.WIDE
        self._memory = self.memories.wide if wide else self.memories.narrow
        self._access_bytes = self.memories.row_bytes if wide else self.memories.word_bytes
        self._port = self.memories.wide_port if wide else self.memories.narrow_read
        self._words_per_access = self._access_bytes // self.memories.word_bytes
        self._register: list[Bytes] = []
        self._accesses: list[Iteration] = []
        self._seen = 0
        self._transfer = WordTransfer()
        self.link.transfers.append(self._transfer)
        self._rounds = Rounds(op.read.nest, op)
        self.gate(self._rounds.next())

    def arbitrate(self) -> None:
        if self.op is None or not self.begun:
            return
        self.kind = self._holds()
        self._sends = not self.kind and (bool(self._register) or self._port.take())
        if self._sends and not self._register:
            self._read()
        self.kind = self.kind or PORT

    def _holds(self) -> str:
        if not self._register and self._rounds.step is None:
            return CREDIT
        if not self._register and not self.passes_gates():
            return FLAG
        return "" if self.link.has_credit(self._transfer) else CREDIT

    def _read(self) -> None:
        assert self._rounds.step is not None
        width = self.memories.word_bytes
        data = self._memory.read(self._rounds.step.address(self.op.read.reference), self._access_bytes)
        self._register = [data[at : at + width] for at in range(0, len(data), width)]
        self._accesses.append(self._rounds.step)
        self.gate(self._rounds.next())

    def advance(self) -> str:
        if self._sends:
            self.link.send(self._transfer, self._register.pop(0))
        kind = BUSY if self._sends else self.kind
        self.link.account.note(self.clock.cycle, kind if kind in (BUSY, CREDIT) else IDLE, self.op.label)
        return kind

    def through(self) -> bool:
        """Not known before the neighbour has done what it does in this cycle."""
        return False

    def hear_of_writes(self) -> None:
        """The cycle ends, in the neighbour, too."""
        if self.op is None or not self.begun:
            return
        written = self._transfer.written
        if written > self._seen and written % self._words_per_access == 0:
            self.raise_flag(self._rounds.raises(self._accesses[written // self._words_per_access - 1]))
        self._seen = written
        if not self._register and self._rounds.step is None and written == self._transfer.sent:
            self.retire()
            self.link.account.note(self.clock.cycle + 1, IDLE)
