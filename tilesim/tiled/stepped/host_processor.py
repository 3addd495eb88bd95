"""The host's own processor: the steps that a program leaves to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.tiled.isa.model.program import Program, awaited_by_step
from tilesim.tiled.stepped.core import FIFO, IDLE, Clock, Thread, UnitAccount
from tilesim.tiled.stepped.host import HostOutfeed
from tilesim.tiled.stepped.host_driver import HostSide


class HostProcessor(Thread):
    """Does one step after the other, each once all rows of results that it reads are there.

    Timing: a step takes ceil(bytes that it reads and makes * clock_hz / step_bytes_per_second) cycles, none if that is
    0; what is made of it is there in the cycle after its last.
    """

    def __init__(
        self, clock: Clock, account: UnitAccount, program: Program, side: HostSide, outfeed: HostOutfeed
    ) -> None:
        self._program = program
        self._side = side
        self._outfeed = outfeed
        self.started = False
        self.finished = False
        super().__init__(clock, account)

    def life(self) -> Iterator[str]:
        while not self.started:
            yield IDLE
        for step, awaited in awaited_by_step(self._program):
            self.label = step.label
            while not self._have_come(awaited):
                yield FIFO
            yield from self.spend(self._program.topology.step_cycles(step.bytes))
            self._side.do(step, awaited, self._outfeed.received)
            self._outfeed.last_arrival = max(self._outfeed.last_arrival, self.clock.cycle)
            self.clock.stir()
        self.finished = True
        self.label = ""
        while True:
            yield IDLE

    def _have_come(self, outputs: Sequence[int]) -> bool:
        """Whether all rows of some outputs are at the host; once all have left the chip, it is known when."""
        leaving, received = self._program.leaving, self._outfeed.received
        if any(len(received.get(number, ())) < leaving[number].rows for number in outputs):
            return False
        there = max((self._outfeed.arrivals[number] for number in outputs), default=0)
        if there > self.clock.cycle:
            self.clock.stir(there - self.clock.cycle)
        return there <= self.clock.cycle
