"""A link of the mesh: words from a tile to one neighbour."""

from __future__ import annotations

import numpy as np
import simpy

from tilesim.sim.core.memory import Bytes, Places
from tilesim.sim.core.unit import BUSY, Reason, Unit
from tilesim.sim.pipe.course import Activity, Charge, PipeForm
from tilesim.sim.pipe.pipe import Pipe
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut
from tilesim.tiled.topology import Mesh
from tilesim.tiled.units.engine import TileEngine, alike
from tilesim.tiled.units.memories import OperandPort


class MeshLink:
    """Joins the mesh-out engine ``sender`` of a tile, at ``side``, to the mesh-in engine ``receiver`` of its neighbour.

    The k-th transfer of the one meets the k-th of the other, whichever end comes first. Words may leave before anybody
    is there to take them; a link holds ``mesh.credits`` words that were read and are not yet written. A word crosses in
    m = ceil(word bytes / width_bytes) beats, one a cycle, and credits are for beats: m for each word. In wide memory,
    and in narrow memory if m > 1, a beat counts as read, or written, when it is taken from, or put into, the register
    for its row or word; only with the first beat of that is the memory read, and with its last one written, and that
    beat waits for the port.

    Timing, the same for both memories: a beat that is read in cycle t can be written from t + hop_cycles on, and its
    credit can be used in the cycle after the write. So unloaded a word of which the first beat is read in t is written
    in t + hop_cycles + m - 1. With c credits, a hop of h cycles and a receiver that waits, the sender reads beat k
    (from 0) in its cycle (k // (c * m)) * max(c * m, h + 1) + k % (c * m), and both ends retire h + 1 cycles after it
    has read the last: n words take n * m + h cycles if c * m > h. The link is busy when a beat is read, stalls while it
    waits for credits, at the end for all of them, and is idle while the sender has nothing to send. Peak rate min(1, c
    * m / (h + 1)) / m words a cycle. Source: US 19/025,090 [0053]-[0055]; US 2025/0265455 [0029], [0032]; that there
    are credits is from libedgetpu's register names, the beats, the registers and all numbers are assumptions.
    """

    def __init__(
        self, unit: Unit, mesh: Mesh, sender: TileEngine[MeshOut], receiver: TileEngine[MeshIn], writing: OperandPort
    ) -> None:
        self.unit = unit
        self.mesh = mesh
        self.sender, self.receiver = sender, receiver
        self.writing = writing
        """Where the words go."""
        self._offered: WordTransfer | WordsAtOnce | None = None
        self._awaited: simpy.Event | None = None

    def send(self, reading: OperandPort, words: Places) -> WordTransfer:
        """The sender begins to send the ``words`` that it reads in this cycle."""
        transfer = WordTransfer(self, reading, words)
        self._offer(transfer)
        return transfer

    def send_at_once(self, reading: OperandPort, words: Places) -> WordsAtOnce:
        """The sender begins to send ``words`` that take no time."""
        transfer = WordsAtOnce(self, reading, words)
        self._offer(transfer)
        return transfer

    def transfer(self) -> simpy.Event:
        """The next transfer to receive, when there is one."""
        event = self._awaited = self.unit.clock.event()
        self._meet()
        return event

    def describe_receiver(self) -> str:
        """What a sender that can't go on waits for."""
        return f"{self.receiver.unit.track} to take its words; {_in_hand(self.receiver)}"

    def describe_sender(self) -> str:
        """What a receiver that can't go on waits for."""
        return f"words from {self.sender.unit.track}; {_in_hand(self.sender)}"

    def _offer(self, transfer: WordTransfer | WordsAtOnce) -> None:
        self.unit.spend("idle")
        self.unit.instruction = self.sender.unit.instruction
        self._offered = transfer
        self._meet()

    def _meet(self) -> None:
        if self._offered is not None and self._awaited is not None:
            self._awaited.succeed(self._offered)
            self._offered = self._awaited = None


class WordTransfer:
    """The words of one MeshOut on their way, a beat a group, and the accounts of the link and of its two ends
    meanwhile.
    """

    def __init__(self, link: MeshLink, reading: OperandPort, words: Places) -> None:
        self._link = link
        self._reading, self._writing = reading, link.writing
        self._from = words
        self._to: Places | None = None
        self._carrier = Carrier(reading, link.writing)
        form = PipeForm(
            link.mesh.credits * reading.word_bytes // reading.beat_bytes,
            [reading.slot],
            self._writing.slot,
            delay=link.mesh.hop_cycles - 1,
            read_every=reading.beats_per_access,
            write_every=self._writing.beats_per_access,
        )
        self.pipe = Pipe(link.unit.clock.cycle, alike(len(words)), form, self._move, self._charges)
        self.pipe.write_limit = 0  # until somebody takes them

    def receive(self, accesses: Places) -> None:
        """From this cycle on the receiver takes part; the words go to ``accesses``, which hold as many as are sent."""
        must_fit(self._link, accesses, self.pipe.groups)
        self.pipe.hold_writes(self._link.unit.clock.cycle, self.pipe.groups)
        self._to = accesses

    def _move(self, first: int, end: int) -> None:
        assert self._to is not None
        self._carrier.carry(self._from, self._to, first, end)

    def _charges(self, activity: Activity) -> list[Charge]:
        link = self._link
        if activity.reading:
            charges: list[Charge] = [(link.sender.unit, BUSY, 0), (link.unit, BUSY, self._reading.beat_bytes)]
        else:
            full = activity.reads_wait == Reason.FIFO
            held = Reason.CREDIT.kind if full else f"stall:{activity.reads_wait}"
            charges = [(link.sender.unit, held, 0), (link.unit, held if full else "idle", 0)]
        if self._to is not None:
            kind = BUSY if activity.writing else f"stall:{activity.writes_wait}"
            charges.append((link.receiver.unit, kind, 0))
        return charges


class Carrier:
    """Carries beats from one memory to another, which gathers what it writes in a register if that is several."""

    def __init__(self, reading: OperandPort, writing: OperandPort) -> None:
        self._reading, self._writing = reading, writing
        self._gathered: Bytes = np.zeros((reading.memory.samples, 0, reading.beat_bytes), np.uint8)

    def carry(self, source: Places, target: Places, first: int, end: int) -> None:
        """Carry the beats from number ``first`` to before ``end``."""
        per_access = self._writing.beats_per_access
        beats = self._reading.memory.read(source.part(first, end))
        accesses = target.part(first // per_access, end // per_access)
        if per_access > 1:
            beats = np.concatenate([self._gathered, beats], axis=1)
            self._gathered = beats[:, len(accesses) * per_access :]
        if len(accesses):
            self._writing.memory.write(accesses, beats[:, : len(accesses) * per_access])


class WordsAtOnce:
    """The words of one MeshOut that take no time: each is there as soon as neither end is held by a flag, without
    credits and with nobody's ports.
    """

    def __init__(self, link: MeshLink, reading: OperandPort, words: Places) -> None:
        self._link = link
        self._carrier = Carrier(reading, link.writing)
        self._from = words
        self._to: Places | None = None
        self._limits = {link.sender.unit.track: 0, link.receiver.unit.track: 0}
        self._carried = 0
        self._awaited: list[tuple[int, simpy.Event]] = []

    @property
    def beats(self) -> int:
        return len(self._from)

    def receive(self, accesses: Places) -> None:
        """From now on the receiver takes part, as in :meth:`WordTransfer.receive`."""
        must_fit(self._link, accesses, self.beats)
        self._to = accesses

    def allow(self, unit: Unit, end: int) -> simpy.Event:
        """No flag holds the words before ``end`` at the end of the link where ``unit`` is; the event is when all of
        them are there.
        """
        self._limits[unit.track] = end
        event = self._link.unit.clock.event()
        self._awaited.append((end, event))
        self._carry()
        return event

    def _carry(self) -> None:
        end = min(self._limits.values())
        if self._to is not None and end > self._carried:
            self._carrier.carry(self._from, self._to, self._carried, end)
            self._link.unit.spend("idle")
            self._link.unit.add(BUSY, 0, (end - self._carried) * self._link.writing.beat_bytes)
            self._carried = end
        there = [event for target, event in self._awaited if target <= self._carried]
        self._awaited = [(target, event) for target, event in self._awaited if target > self._carried]
        for event in there:
            event.succeed()


def must_fit(link: MeshLink, accesses: Places, beats: int) -> None:
    """As many words are taken as are sent, in so many ``beats``."""
    taken = len(accesses) * link.writing.words_per_access
    sent = beats * link.writing.beat_bytes // link.writing.word_bytes
    if taken != sent:
        raise AssertionError(f"{link.unit.track} joins {sent} words to {taken}")


def _in_hand(engine: TileEngine[MeshOut] | TileEngine[MeshIn]) -> str:
    label = engine.unit.instruction
    return f"it is in {label}" if label else "it has no instruction in hand"
