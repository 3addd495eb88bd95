"""Groups of memory accesses on their way through an engine: read, queue, write.

Every engine that moves data between memories has this shape. A tensor control reads the operands of a result group,
queues the results, writes them; a DMA reads words, queues a row, writes it, or the reverse; a mesh link reads words in
one tile and writes them in another.

Timing, cycle by cycle. The read stage takes one group after the other: first its *extra* reads (parameters, partial
sums; wide port only), then its *issue* reads. It may start group g once fewer than ``depth`` groups that it started
before are unwritten. The write stage takes a group ``delay`` cycles after all its reads are done. Either goes on in
each cycle in which its ports have an access left; extra reads take all that theirs has left; the last extra and the
first issue read share a cycle only if the extra reads' port has an access left for both. So the end of reading of group
g is the L-th free slot after max(end of reading g - 1, end of writing g - depth), and the end of writing the W-th free
slot after max(end of reading g + delay, end of writing g - 1).

A group that reads what one shortly before it writes is a hazard: its reads wait until that one has been written. Where
several groups make up one access (words of a row that passes through a register), only the first of them reads it, and
only the last one writes it: the others need no port.

Nobody steps cycles: :mod:`~tilesim.sim.pipe.steps` jumps from one change to the next, and over whole periods once the
pattern repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilesim.sim.core.port import Change
from tilesim.sim.pipe.course import Charges, Costs, Limits, PipeForm, Slot, charge_spans, charge_totals
from tilesim.sim.pipe.steps import Steps


class Pipe:
    """One instruction's groups on their way; see the module's docstring for the timing.

    Flags may hold both stages: groups from ``limit`` on are not read, those from ``write_limit`` on not written.
    ``move(first, end)`` carries the data of groups that have been written, in order. ``charges`` says which accounts
    the cycles of an activity belong to; they are charged when that may change, and at the end.
    """

    def __init__(
        self, cycle: int, costs: Costs, form: PipeForm, move: Callable[[int, int], None], charges: Charges
    ) -> None:
        self.groups = len(costs.issues)
        self.limit = self.groups
        self.write_limit = self.groups
        self.target = self.groups
        self.slots = form.slots
        self.shares_port = any(slot.port is form.write.port for slot in self.slots if slot is not form.write)
        """Whether it writes where it reads, so that a write that comes later lets a read come earlier."""
        self._move, self._charges, self._every_span = move, charges, form.every_span
        self._course = Steps(cycle, costs, form)
        self._delivered = 0

    @property
    def written(self) -> int:
        return self._course.written

    @property
    def cycle(self) -> int:
        """Up to when everything has happened: it won't ask for what others did before."""
        return self._course.cycle

    @property
    def retold(self) -> list[tuple[Slot, Change]]:
        """Where the last plan told a port something new."""
        return self._course.retold

    def hold(self, cycle: int, limit: int) -> None:
        """From ``cycle`` on, groups from ``limit`` on are not read; what came before stays as it was."""
        self.advance(cycle)
        self.limit = limit

    def hold_writes(self, cycle: int, limit: int) -> None:
        """From ``cycle`` on, groups from ``limit`` on are not written; what came before stays as it was."""
        self.advance(cycle)
        self.charge()
        self.write_limit = limit

    def advance(self, cycle: int) -> None:
        """Let everything happen that happens before ``cycle``; data follow in :meth:`deliver`."""
        if self._course.cycle == cycle:
            return
        self._course.advance(cycle, Limits(self.limit, self.write_limit))

    def charge(self) -> None:
        """Account for every cycle that has happened."""
        if self._every_span:
            charge_spans(self._course.spans(), self._charges)
        else:
            charge_totals(self._course.spent(), self._charges)

    def deliver(self) -> None:
        """Carry the data of what has been written. Nobody may look at them before somebody hears of it."""
        written = self._course.written
        if written > self._delivered:
            self._move(self._delivered, written)
            self._delivered = written
        if written == self.groups:
            self.charge()

    def forget_plan(self) -> None:
        """What was planned won't happen like that: somebody has taken an access."""
        self._course.forget()

    def plan(self, publish: Sequence[Slot] = ()) -> int | None:
        """When ``target`` groups will have been written, if nothing changes; None: never.

        The ports in ``publish`` are told all accesses to come, for the clients below; ``retold`` says where that is
        something new. Extra reads are not among them: a pipe that has some, or that writes where it reads, must be the
        lowest client of that port.
        """
        return self._course.plan(self.target, Limits(self.limit, self.write_limit), publish)
