"""A link of the mesh: words from a tile to one neighbour."""

from __future__ import annotations

from collections import deque

from tilesim.tiled.stepped.core import Account, Clock
from tilesim.tiled.stepped.memory import Bytes
from tilesim.tiled.topology import Mesh


class WordTransfer:
    """The words of one instruction of the sender on their way to one of the receiver: the k-th of one meets the k-th of
    the other.
    """

    def __init__(self) -> None:
        self.on_the_way: deque[tuple[int, Bytes]] = deque()
        self.sent = 0
        self.written = 0


class MeshLink:
    """Holds ``mesh.credits`` words that were read and are not yet written.

    Timing: a word that is read in t can be written from t + hop_cycles on; its credit can be used in the cycle after
    the write.
    """

    def __init__(self, clock: Clock, account: Account, mesh: Mesh) -> None:
        self.account = account
        self.transfers: deque[WordTransfer] = deque()
        self._clock = clock
        self._mesh = mesh

    def has_credit(self, transfer: WordTransfer) -> bool:
        return transfer.sent - transfer.written < self._mesh.credits

    def send(self, transfer: WordTransfer, word: Bytes) -> None:
        """A word enters the link in this cycle."""
        transfer.on_the_way.append((self._clock.cycle + self._mesh.hop_cycles, word))
        transfer.sent += 1
        self._clock.stir(self._mesh.hop_cycles)

    def arrived(self, transfer: WordTransfer) -> bool:
        """Whether the next word can be written in this cycle."""
        return bool(transfer.on_the_way) and transfer.on_the_way[0][0] <= self._clock.cycle

    def receive(self, transfer: WordTransfer) -> Bytes:
        """The next word is written in this cycle."""
        transfer.written += 1
        self._clock.stir()
        return transfer.on_the_way.popleft()[1]
