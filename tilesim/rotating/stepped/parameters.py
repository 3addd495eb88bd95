"""Fetches what the output unit needs: biases, multipliers and shifts into sets, and the table of look-ups."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.isa.model.instructions import Parameters
from tilesim.rotating.stepped.core import BUSY, PORT, Account
from tilesim.rotating.stepped.memory import Bytes, Ram, words_of
from tilesim.rotating.topology import TABLE_ENTRIES, Topology

TABLE = -1
"""Stands for the table among the sets."""


@dataclass(frozen=True)
class ParameterSet:
    """Of each unit: int32."""

    bias: NDArray[np.int32]
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int32]


@dataclass
class Request:
    """Rows that are still to come, of one instruction."""

    op: Parameters
    row: int
    count: int
    rows: list[Bytes] = field(default_factory=list)

    @property
    def target(self) -> int:
        return TABLE if self.op.table else self.op.set


class ParameterFetch:
    """Reads a row in each cycle in which nobody else wants the weight RAM, one request after the other.

    Timing: a request that is issued in t reads from t + 1 on; its set is there in the cycle after its last row.
    """

    def __init__(self, topology: Topology, ram: Ram) -> None:
        self.account = Account("nnu.parameters")
        self.sets: dict[int, ParameterSet] = {}
        self.table: NDArray[np.int64] | None = None
        self.last_read = -1
        self._topology = topology
        self._ram = ram
        self._requests: deque[Request] = deque()
        self._issued: list[Request] = []

    def issue(self, op: Parameters, row: int) -> None:
        count = self._topology.table_rows if op.table else self._topology.parameter_rows
        self._issued.append(Request(op, row, count))

    def has(self, target: int) -> bool:
        """Whether the set, or the table, is there, and no other is on its way to its place."""
        return not any(request.target == target for request in (*self._requests, *self._issued))

    @property
    def done(self) -> bool:
        return not self._requests and not self._issued

    def act(self, cycle: int) -> None:
        if not self._requests:
            return
        request = self._requests[0]
        if not self._ram.can_read:
            self.account.note(cycle, PORT, request.op.label)
            return
        request.rows.append(self._ram.read(request.row + len(request.rows)))
        self.last_read = cycle
        self.account.note(cycle, BUSY, request.op.label)
        if len(request.rows) == request.count:
            self._requests.popleft()
            self._keep(request)

    def commit(self) -> None:
        """The cycle ends."""
        self._requests.extend(self._issued)
        self._issued.clear()

    def _keep(self, request: Request) -> None:
        if request.op.table:
            bits = self._topology.units.word_bits
            self.table = np.concatenate([words_of(row, bits) for row in request.rows])[:TABLE_ENTRIES]
        else:
            self.sets[request.op.set] = set_of(request.rows, self._topology)


def set_of(rows: list[Bytes], topology: Topology) -> ParameterSet:
    """The set whose bytes stand in ``rows``: of each unit 4 of the bias, 4 of the multiplier, one of the shift."""
    each = np.stack([row.reshape(topology.units.count, topology.word_bytes) for row in rows], axis=1)
    unit_bytes = np.ascontiguousarray(each.reshape(topology.units.count, -1))
    bias, multiplier = (np.ascontiguousarray(unit_bytes[:, k : k + 4]).view("<i4")[:, 0] for k in (0, 4))
    shift = unit_bytes[:, 8].view(np.int8).astype(np.int32)
    return ParameterSet(bias.astype(np.int32), multiplier.astype(np.int32), shift)
