"""Plans all pipes of a chip, each again whenever something changes that it depends on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush

import simpy
from msgspec import Struct, field

from tilesim.sim.core.clock import Clock, Phase, Timer
from tilesim.sim.core.port import Change, Port, Slot
from tilesim.sim.pipe.pipe import Pipe


class _Client(Struct, eq=False):
    """A pipe in work: where it competes, where it has told its accesses, and who waits for how many of its groups."""

    pipe: Pipe
    alarm: Timer
    slots: list[Slot] = field(default_factory=list)
    published: list[Slot] = field(default_factory=list)
    awaited: list[tuple[int, simpy.Event]] = field(default_factory=list)
    stale: bool = False


class Arbiter:
    """Keeps the pipes of all memory ports in step.

    A change in cycle t (a pipe starts, a flag holds or releases one, a single access is made) makes pipes stale: those
    that it is about, and those of lower rank at a port where the accesses from t on are others than was said. (If there
    are only more of them, they delay those that tell nobody what they do: these are planned when their time has come.)
    In the settle phase of t stale pipes advance to t and are planned anew, until none is stale. Whatever the order in
    which they are taken, the end is the same, since what happens in a cycle depends on earlier cycles and, at each
    port, on higher ranks only; taking the highest ranks first only saves work. Data move when somebody hears of the
    groups that they belong to.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._clients: dict[Pipe, _Client] = {}
        self._at: dict[Port, dict[int, _Client]] = defaultdict(dict)
        self._stale: list[tuple[list[int], int, _Client]] = []
        self._numbers = 0
        self._requested = False

    def add(self, pipe: Pipe, slots: Sequence[Slot]) -> None:
        """Let ``pipe`` compete at ``slots`` from this cycle to its end; those above it have to tell what they do."""
        if pipe not in self._clients:
            self._clients[pipe] = _Client(pipe, Timer(self._clock, lambda: self._ring(pipe)))
        client = self._clients[pipe]
        client.slots += slots
        self._outdate(client)
        for slot in slots:
            self._at[slot.port][slot.rank] = client
            for rank, other in self._at[slot.port].items():
                if rank < slot.rank and Slot(slot.port, rank) not in other.published:
                    self._outdate(other)

    def change(self, pipe: Pipe) -> None:
        """A flag holds or releases ``pipe`` from this cycle on."""
        self._outdate(self._clients[pipe])

    def access(self, slot: Slot) -> None:
        """Make a single access in this cycle, which all above ``slot`` leave to it."""
        now = self._clock.cycle
        if not slot.port.free(slot.rank, now)[0]:
            raise AssertionError(f"{slot.port.name} has no access left in cycle {now} for rank {slot.rank}")
        slot.port.taken[slot.rank].append(now, now + 1)
        self._outdate_below(slot, Change.MORE)

    def reach(self, pipe: Pipe, written: int) -> simpy.Event:
        """When ``pipe`` has written ``written`` groups."""
        client, event = self._clients[pipe], self._clock.event()
        client.awaited.append((written, event))
        self._outdate(client)
        return event

    def stop(self) -> None:
        """Account for all cycles before this one; nothing more will happen."""
        for pipe in self._clients:
            pipe.advance(self._clock.cycle)
            pipe.charge()

    def _ring(self, pipe: Pipe) -> None:
        """``pipe`` has written as many groups as somebody waits for."""
        pipe.advance(self._clock.cycle)
        client = self._clients[pipe]
        if pipe.written < pipe.target:
            self._outdate(client)
            return
        pipe.deliver()
        if pipe.written == pipe.groups:
            del self._clients[pipe]
            for slot in client.slots:
                del self._at[slot.port][slot.rank]
        awaited, client.awaited = client.awaited, []
        for written, event in awaited:
            if written <= pipe.written:
                event.succeed()
            else:
                client.awaited.append((written, event))

    def _outdate_below(self, slot: Slot, change: Change) -> None:
        for rank, client in self._at[slot.port].items():
            if rank > slot.rank:
                if change is Change.MORE:
                    self._delay(client)
                else:
                    self._outdate(client)

    def _delay(self, client: _Client) -> None:
        """More accesses of others take cycles from a pipe. If nobody depends on what that one does, it is enough to see
        how far it has come when it could have been through: it can't be earlier.
        """
        if client.published or client.pipe.shares_port:
            self._outdate(client)
        else:
            client.pipe.forget_plan()

    def _outdate(self, client: _Client) -> None:
        if client.stale:
            return
        client.stale = True
        ranks = sorted((slot.rank for slot in client.slots), reverse=True)
        self._numbers += 1
        heappush(self._stale, (ranks, self._numbers, client))
        if not self._requested:
            self._requested = True
            self._clock.phase(Phase.SETTLE).callbacks.append(self._settle)

    def _settle(self, _: simpy.Event) -> None:
        while self._stale:
            client = heappop(self._stale)[-1]
            client.stale = False
            if client.pipe in self._clients:
                self._plan(client)
        self._requested = False

    def _plan(self, client: _Client) -> None:
        pipe, now = client.pipe, self._clock.cycle
        pipe.advance(now)
        pipe.target = min((written for written, _ in client.awaited), default=pipe.groups)
        before = client.published
        client.published = [slot for slot in client.slots if self._has_others_below(slot, client)]
        client.alarm.set(pipe.plan())
        for slot in before:
            if slot not in client.published:
                slot.port.taken[slot.rank].cut(now)
        for slot, taken in pipe.accesses(client.published):
            change = slot.port.taken[slot.rank].replace(now, taken)
            if change is not Change.NONE:
                self._outdate_below(slot, change)

    def _has_others_below(self, slot: Slot, client: _Client) -> bool:
        return any(rank > slot.rank and other is not client for rank, other in self._at[slot.port].items())
