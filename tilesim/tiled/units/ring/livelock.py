"""Notices when nothing happens on a chip any more but that packets go round its ring for ever."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import simpy
from simpy.core import StopSimulation

from tilesim.sim.core.clock import Clock, Phase
from tilesim.sim.core.unit import Unit
from tilesim.tiled.units.ring.node_link import NodeLink
from tilesim.tiled.units.ring.ring import RingStop

PATIENCE_LAPS = 1024
"""Laps of a tail for which somebody may wait who counts tails, when nothing else happens."""


class LivelockMonitor:
    """Ends the run when the ring's packets can only go on as they have gone before.

    From the first packet on that goes past its bit, it looks once a lap. The run is over when no event is to come
    but those of ring stops, no unit has come to another wait since an earlier look, and all stops are in the state in
    which they were then: what follows is what followed that look. While ``awaits_tails()`` says that somebody counts
    tails, each lap of a tail is a step; but nobody waits for more than ``PATIENCE_LAPS`` of nothing else. Looks are
    compared with one at ever longer distances, so that a period of any length is found. Source: US 2025/0265455 [0054]
    for the packets that do not stop; assumption for the patience.
    """

    def __init__(
        self, clock: Clock, stops: Sequence[RingStop], units: Sequence[Unit], awaits_tails: Callable[[], bool]
    ) -> None:
        self.endless = False
        self._clock = clock
        self._stops = stops
        self._units = units
        self._channels = len({stop.channel for stop in stops})
        self._awaits_tails = awaits_tails
        self._looking = False
        self._before: object = None
        self._looks, self._distance = 0, 1

    def start(self) -> None:
        """A packet goes past its bit in this cycle."""
        if not self._looking:
            self._looking = True
            self._before, self._looks, self._distance = None, 0, 1
            self._look_again()

    def _look_again(self) -> None:
        stop = self._stops[0]
        lap_cycles = max(len(self._stops) // self._channels * stop.hop_cycles, stop.row_cycles)
        self._clock.phase(Phase.SETTLE, lap_cycles).callbacks.append(self._look)

    def _look(self, _: simpy.Event) -> None:
        listens = any(True for _ in self._clock.listeners())  # else all packets stand, and the run is over without this
        if not listens or not any(stop.holds_packets for stop in self._stops):
            self._looking = False
            return
        state = self._state() if self._quiet() else None
        if state is not None and state == self._before and (self._looks >= PATIENCE_LAPS or not self._counted()):
            self.endless = True
            raise StopSimulation(None)
        self._looks += 1
        if self._looks == self._distance:
            self._before, self._looks, self._distance = state, 0, 2 * self._distance
        self._look_again()

    def _quiet(self) -> bool:
        return all(isinstance(listener, RingStop | NodeLink) for listener in self._clock.listeners())

    def _counted(self) -> bool:
        """Whether somebody counts the laps."""
        return self._awaits_tails() and any(packet.tail for stop in self._stops for packet in stop.packets)

    def _state(self) -> object:
        """A unit that has done anything since has another wait than before."""
        links = {stop.link for stop in self._stops}
        units = [(unit.instruction, unit.waiting) for unit in self._units if unit not in links]
        return [stop.state() for stop in self._stops], units
