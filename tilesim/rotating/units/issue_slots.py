"""The array's issue slots: a cycle each, later where a port is taken."""

from __future__ import annotations

from typing import NamedTuple

from tilesim.rotating.isa.model.instructions import Instruction
from tilesim.rotating.units.parameter_fetcher import ParameterFetcher
from tilesim.rotating.units.row_memory import RowMemory
from tilesim.sim.core.clock import Clock, Work
from tilesim.sim.core.logged import LoggedUnit
from tilesim.sim.core.unit import BUSY, Reason


class _Slots(NamedTuple):
    """Slots of an instruction that follow one another, and the ports that each needs."""

    label: str
    number: int
    data: bool
    weights: bool


class IssueSlots:
    """Slots are booked several at once, as if all ports were free, for no other unit sees any of them before the next
    out, sync, load or fetch. Whether a port was free shows only afterwards, for units of higher priority decide in the
    very cycle: when the cycles of all that is booked are over, those that were kept out are added (``port``).
    """

    def __init__(
        self, clock: Clock, unit: LoggedUnit, data_ram: RowMemory, weight_ram: RowMemory, fetcher: ParameterFetcher
    ) -> None:
        self.issued_until = 0
        """The cycle after the last slot."""
        self._clock = clock
        self._unit = unit
        self._data_ram = data_ram
        self._weight_ram = weight_ram
        self._fetcher = fetcher
        self._booked: list[_Slots] = []
        self._cycles = 0

    def book(self, op: Instruction, count: int = 1, *, data: bool = False, weights: bool = False) -> None:
        """The next ``count`` slots are those of ``op``; each reads the data RAM, or the weight RAM."""
        self._booked.append(_Slots(op.label, count, data, weights))
        self._cycles += count

    def catch_up(self) -> Work:
        """Let the cycles of all that is booked pass."""
        while self._cycles:
            yield self._clock.timeout(self._cycles)
            self._settle()
        self._unit.instruction = ""

    def _settle(self) -> None:
        """Account for the cycles up to now; slots for which there was none stay booked."""
        begin, now = self._unit.accounted_until, self._clock.cycle
        of_data = self._data_ram.kept_from_reading(begin, now)
        of_weights = self._weight_ram.kept_from_reading(begin, now)
        left: list[_Slots] = []
        for slots in self._booked:
            denied = {*(of_data if slots.data else ()), *(of_weights if slots.weights else ())}
            if rest := self._spend(slots, now, denied):
                left.append(slots._replace(number=rest))
        self._booked = left
        self._cycles = sum(slots.number for slots in left)

    def _spend(self, slots: _Slots, now: int, denied: set[int]) -> int:
        """Give slots their cycles, the ``denied`` ones excepted; how many have none before ``now``."""
        unit, rest = self._unit, slots.number
        unit.instruction = slots.label
        for cycle in sorted(denied):
            if unit.accounted_until <= cycle < unit.accounted_until + rest:
                rest -= self._issue(slots, cycle - unit.accounted_until)
                unit.add(Reason.PORT.kind, 1)
        return rest - self._issue(slots, min(rest, now - unit.accounted_until))

    def _issue(self, slots: _Slots, count: int) -> int:
        """Account for ``count`` slots in the cycles that come; their number."""
        begin = self._unit.accounted_until
        self._unit.add(BUSY, count)
        if count:
            self.issued_until = begin + count
        if slots.weights and count and self._fetcher.pending:
            self._fetcher.keep_out(begin, begin + count)
        return count
