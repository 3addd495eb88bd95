"""The mesh: a link from a tile to one neighbour, and the DMA engines at its ends."""

from __future__ import annotations

from collections import deque

import numpy as np

from tilesim.tiled.isa.model.fields import MemoryName
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut
from tilesim.tiled.stepped.core import BUSY, CREDIT, FIFO, FLAG, IDLE, PORT, Clock, UnitAccount
from tilesim.tiled.stepped.engine import Engine, Rounds
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.stepped.ttu import Iteration
from tilesim.tiled.topology import Mesh

FILL_WORDS = 2


class WordTransfer:
    """The words of one instruction of the sender on their way to one of the receiver, beat by beat: the k-th of one
    meets the k-th of the other.
    """

    def __init__(self) -> None:
        self.on_the_way: deque[tuple[int, Bytes]] = deque()
        self.sent = 0
        self.written = 0


class MeshLink:
    """Holds as much of what was read and is not yet written as ``mesh.credits`` words have, in beats of ``beat_bytes``,
    the width of the link.

    Timing: a beat that is read in t can be written from t + hop_cycles on; its credit can be used in the cycle after
    the write.
    """

    def __init__(self, clock: Clock, account: UnitAccount, mesh: Mesh, word_bytes: int) -> None:
        self.account = account
        self.transfers: deque[WordTransfer] = deque()
        self.beat_bytes = min(mesh.width_bytes or word_bytes, word_bytes)
        self._clock = clock
        self._mesh = mesh
        self._room_bytes = mesh.credits * word_bytes

    def has_credit(self, transfer: WordTransfer) -> bool:
        return (transfer.sent - transfer.written) * self.beat_bytes < self._room_bytes

    def send(self, transfer: WordTransfer, beat: Bytes) -> None:
        """A beat enters the link in this cycle."""
        transfer.on_the_way.append((self._clock.cycle + self._mesh.hop_cycles, beat))
        transfer.sent += 1
        self._clock.stir(self._mesh.hop_cycles)

    def arrived(self, transfer: WordTransfer) -> bool:
        """Whether the next beat can be written in this cycle."""
        return bool(transfer.on_the_way) and transfer.on_the_way[0][0] <= self._clock.cycle

    def receive(self, transfer: WordTransfer) -> Bytes:
        """The next beat is written in this cycle."""
        transfer.written += 1
        self._clock.stir()
        return transfer.on_the_way.popleft()[1]


class MeshOutEngine(Engine):
    """Reads a beat a cycle while its link has credits; of a word of several, or a wide row, the memory is read with the
    first one, the others leave from a register. The instruction is through, and its flag rises, as what it sent gets
    written in the neighbour.
    """

    op: MeshOut
    link: MeshLink

    def begin(self, op: MeshOut) -> None:
        wide = op.memory == MemoryName.WIDE
        self._memory = self.memories.wide if wide else self.memories.narrow
        self._access_bytes = self.memories.row_bytes if wide else self.memories.word_bytes
        self._port = self.memories.wide_port if wide else self.memories.narrow_read
        self._beats_per_access = self._access_bytes // self.link.beat_bytes
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
        width = self.link.beat_bytes
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
        if written > self._seen and written % self._beats_per_access == 0:
            self.raise_flag(self._rounds.raises(self._accesses[written // self._beats_per_access - 1]))
        self._seen = written
        if not self._register and self._rounds.step is None and written == self._transfer.sent:
            self.retire()
            self.link.account.note(self.clock.cycle + 1, IDLE)


class MeshInEngine(Engine):
    """Writes a beat a cycle, of a fill a word; of a word of several, or a wide row, the memory is written with the last
    one, for which the others wait in a register.

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
        taken_bytes = self.memories.word_bytes if self.link is None or op.fill is not None else self.link.beat_bytes
        self._parts_per_access = access_bytes // taken_bytes
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
        completes = len(self._register) == self._parts_per_access - 1
        self._writes = not self.kind and (not completes or self._port.take())
        self.kind = self.kind or PORT

    def _holds(self) -> str:
        """Why nothing can be written, whatever the port."""
        if self.op.fill is not None:
            return "" if self._fills else FIFO if self.passes_gates() else FLAG
        if not self._register and not self.passes_gates():
            return FLAG
        return "" if self._has_beat() else FIFO

    def _may_make(self) -> bool:
        """Whether a word of a fill can be made."""
        if self._fill_rounds.step is None or len(self._fills) == FILL_WORDS:
            return False
        return self._made > 0 or self.passes_gates()

    def _has_beat(self) -> bool:
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
        self._register.append(self._next())
        self.clock.stir()
        if len(self._register) == self._parts_per_access:
            step = self._rounds.step
            assert step is not None
            self._memory.write(step.address(self.op.write.reference), np.concatenate(self._register))
            self._register = []
            self.raise_flag(self._rounds.raises(step))
            gates = self._rounds.next()
            if self.op.fill is None:
                self.gate(gates)

    def _next(self) -> Bytes:
        if self.op.fill is not None:
            return self._fills.popleft()
        assert self.link is not None
        assert self._transfer is not None
        return self.link.receive(self._transfer)

    def through(self) -> bool:
        return self._rounds.step is None
