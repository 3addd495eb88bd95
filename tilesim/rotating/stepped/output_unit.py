"""Captures accumulators, converts them, and writes them into the data RAM."""

from __future__ import annotations

from collections import Counter as Tally
from collections import deque
from dataclasses import dataclass

from tilesim.rotating.isa.model.instructions import Counter
from tilesim.rotating.stepped.convert import Job, converted, written
from tilesim.rotating.stepped.core import BUSY, PORT, Account, Counters
from tilesim.rotating.stepped.memory import Ram, Words
from tilesim.rotating.topology import Topology


@dataclass
class Capture:
    """What an out captured, and which of its rows is the next to be converted."""

    job: Job
    rows: list[Words]
    next_row: int = 0


@dataclass(frozen=True)
class Converted:
    """A row that can be written from cycle ``due`` on."""

    job: Job
    row: int
    words: Words
    due: int


class OutputUnit:
    """Takes an out in the cycle after its issue, converts a row in ``conversion_cycles``, writes it ``latency_cycles``
    after the last of them; rows wait for the port, and keep the next conversion from beginning meanwhile.

    Timing: of an out that is issued in t the first conversion begins in t + 2; a buffer is free, and a row can be
    loaded, in the cycle after the last conversion, or after the write.
    """

    def __init__(self, topology: Topology, data_ram: Ram, weight_ram: Ram, counters: Counters) -> None:
        self.account = Account("nnu.output")
        self.held = 0
        """Captures at the start of the cycle."""
        self.writes: list[tuple[int, int]] = []
        """Cycle and row of each write."""
        self._topology = topology
        self._data_ram, self._weight_ram = data_ram, weight_ram
        self._counters = counters
        self._issued: list[Job] = []
        self._captures: deque[Capture] = deque()
        self._converting_cycles = 0
        """Cycles that the conversion under way has still to take."""
        self._converted: deque[Converted] = deque()
        self._on_the_way: Tally[int] = Tally()
        """Writes that cannot be seen yet, by row."""
        self._freed = 0
        self._seen: list[int] = []

    def issue(self, job: Job) -> None:
        """The array issues an out in this cycle."""
        self._issued.append(job)
        self.held += 1
        self._on_the_way.update(job.row + k for k in range(job.rows))

    def awaits(self, row: int) -> bool:
        """Whether a write of ``row`` cannot be seen yet."""
        return self._on_the_way[row] > 0

    @property
    def last_write(self) -> int:
        return self.writes[-1][0] if self.writes else -1

    @property
    def done(self) -> bool:
        return not (self._issued or self._captures or self._converted)

    def act(self, cycle: int, sums: Words, mux: Words) -> None:
        """``sums`` and ``mux``: the accumulators and mux-registers at the start of the cycle."""
        denied = self._write(cycle)
        if not self._converting_cycles and self._captures and not denied:
            self._converting_cycles = self._topology.conversion_cycles
        if self._converting_cycles:
            self.account.note(cycle, BUSY, self._captures[0].job.op.label)
            self._convert(cycle)
        elif denied:
            self.account.note(cycle, PORT, self._converted[0].job.op.label)
        for job in self._issued:
            self._captures.append(Capture(job, converted(job, sums, mux, self._topology)))
        self._issued.clear()

    def commit(self) -> None:
        """The cycle ends."""
        self.held -= self._freed
        self._freed = 0
        self._on_the_way.subtract(self._seen)
        self._seen.clear()

    def _write(self, cycle: int) -> bool:
        """Write the row whose turn it is; whether it was denied. A cycle has one write, over both RAMs."""
        if not self._converted or self._converted[0].due > cycle:
            return False
        if not self._data_ram.can_write or self._weight_ram.is_written:
            return True
        done = self._converted.popleft()
        self._data_ram.write(done.row, written(done.job, done.words, self._data_ram.peek(done.row), self._topology))
        self._counters.happen(Counter.OUTPUT)
        self._seen.append(done.row)
        self.writes.append((cycle, done.row))
        return False

    def _convert(self, cycle: int) -> None:
        self._converting_cycles -= 1
        if self._converting_cycles:
            return
        capture = self._captures[0]
        job, k = capture.job, capture.next_row
        due = cycle + self._topology.output.latency_cycles
        self._converted.append(Converted(job, job.row + k, capture.rows[k], due))
        capture.next_row += 1
        if capture.next_row == job.rows:
            self._captures.popleft()
            self._freed += 1
