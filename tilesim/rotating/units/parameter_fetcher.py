"""What fetches biases, multipliers, shifts and tables for the output unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tilesim.rotating.datapath.conversion import Scales, scales_of, table_of
from tilesim.rotating.datapath.words import Words
from tilesim.rotating.isa.model.instructions import Parameters
from tilesim.rotating.topology import Topology
from tilesim.rotating.units.row_memory import RowMemory
from tilesim.sim.core.action import Action
from tilesim.sim.core.memory import Bytes
from tilesim.sim.core.unit import BUSY, Reason, Unit


@dataclass
class _Request:
    """Rows from ``row`` on that are to be fetched; ``rows`` are those that have been."""

    op: Parameters
    row: int
    count: int
    rows: list[Bytes] = field(default_factory=list)


class ParameterFetcher:
    """Reads rows of the weight RAM in cycles in which neither DMA in nor the array uses its port, one a cycle.

    Nobody waits for it but an out, so it is only asked then what it has come to: :meth:`advance`. By then the array has
    said in which cycles it read.

    Timing: rows that ``parameters`` issued in t names are fetched from t + 1 on, in order, each in the first free
    cycle; what they make is there in the cycle after the last. Source: assumption.
    """

    def __init__(self, unit: Unit, topology: Topology, ram: RowMemory) -> None:
        self.unit = unit
        self.sets: dict[int, Scales] = {}
        self.table: Words | None = None
        self._topology = topology
        self._ram = ram
        self._requests: list[_Request] = []
        self._array_reads: list[tuple[int, int]] = []

    @property
    def pending(self) -> bool:
        """Whether there are rows to be fetched."""
        return bool(self._requests)

    def restart(self) -> None:
        """A section begins: no set is there."""
        self.sets, self.table, self._requests, self._array_reads = {}, None, [], []

    def request(self, op: Parameters, row: int, cycle: int) -> None:
        """Fetch rows from ``row`` on, in cycles from ``cycle`` on."""
        self.advance(cycle)
        if not self._requests:
            self.unit.spend("idle", cycle)
            self._array_reads = []
        count = self._topology.table_rows if op.table else self._topology.parameter_rows
        self._requests.append(_Request(op, row, count))

    def keep_out(self, begin: int, end: int) -> None:
        """The array reads the weight RAM in the cycles from ``begin`` up to ``end``."""
        self._array_reads.append((begin, end))

    def rows_until(self, wanted: Callable[[Parameters], bool]) -> int:
        """Rows that are still to be fetched until everything that is ``wanted`` is there."""
        places = [k for k, request in enumerate(self._requests) if wanted(request.op)]
        waited_for = self._requests[: places[-1] + 1] if places else []
        return sum(request.count - len(request.rows) for request in waited_for)

    def advance(self, until: int) -> None:
        """Do what was done before cycle ``until``."""
        unit = self.unit
        while self._requests and unit.accounted_until < until:
            request, cycle = self._requests[0], unit.accounted_until
            unit.instruction = request.op.label
            if self._is_free(cycle):
                request.rows.append(self._ram.row(request.row + len(request.rows))[0])
                unit.add(BUSY, 1)
                unit.act({Action.BUFFER_READ: self._topology.row_bytes})
                if len(request.rows) == request.count:
                    self._finish(self._requests.pop(0))
            else:
                unit.add(Reason.PORT.kind, 1)
        unit.instruction = unit.instruction if self._requests else ""

    def _is_free(self, cycle: int) -> bool:
        reads = self._array_reads
        while reads and reads[0][1] <= cycle:
            reads.pop(0)
        return not (reads and reads[0][0] <= cycle) and self._ram.may_read(cycle)

    def _finish(self, request: _Request) -> None:
        rows = np.stack(request.rows)
        if request.op.table:
            self.table = table_of(rows, self._topology)
        else:
            self.sets[request.op.set] = scales_of(rows, self._topology)
