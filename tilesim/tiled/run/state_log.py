"""What there is to log of a tiled chip: flags, queues, the ring's stops and links, and what units are at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tilesim.sim.core.clock import Clock
from tilesim.sim.core.fifo import Fifo
from tilesim.sim.core.flags import FlagFile
from tilesim.sim.trace.signals import NONE
from tilesim.sim.trace.state_log import Signal, StateLog, Tally
from tilesim.tiled.isa.model.fields import ORDINALS, Flag, channels_of
from tilesim.tiled.isa.model.sheet import FLAGS
from tilesim.tiled.units.chip import Chip
from tilesim.tiled.units.control.controller import FENCES, OUTFEEDS
from tilesim.tiled.units.host.infeed import TAILS
from tilesim.tiled.units.ring.ring import Packet, RingStop
from tilesim.tiled.units.ring.ring_queue import RoleQueue
from tilesim.tiled.units.tile import Tile


def attach(log: StateLog, chip: Chip) -> None:
    """Have ``chip`` tell the ``log`` of everything; units come first."""
    links = {link.unit.track for link in chip.mesh}
    rings = {stop.link.track for stop in chip.stops}
    for unit in chip.units:
        if unit.track not in rings:
            log.unit(unit.track, "word" if unit.track in links else "instruction")
    signals: dict[str, Signal] = {}
    for stop in chip.stops:
        track = stop.link.track
        if track not in signals:
            signals[track] = log.signal(track, "packet")
        stop.listener = StopLog(log, stop, signals[track])
    channels = channels_of(chip.topology)
    tails, ordinals = [TAILS[channel] for channel in channels], {ORDINALS[channel] for channel in channels}
    counters = [("controller", chip.sequencer.counters, (FENCES, OUTFEEDS)), ("infeed", chip.infeed.passed, tails)]
    for name, counter, names in counters:
        _follow(log, chip.clock, f"chip.{name}", counter, names)
    for tile in chip.tiles:
        rising = {FLAGS[engine] for engine in tile.engines} | {Flag.PARTIAL_SUMS, *ordinals}
        flags = [flag for flag in Flag if flag in rising]
        _follow(log, chip.clock, f"chip.tile{tile.index}", tile.flags, flags, reset_cycles=1)
    for name, fifo in _fifos(chip):
        fifo.on_fill = log.teller(f"{name}.fifo", "fill", lambda: chip.clock.cycle)


class StopLog:
    """Logs which packet stands at a stop of the ring, at the head of its register, how many do, and which enters its
    link.
    """

    def __init__(self, log: StateLog, stop: RingStop, link: Signal) -> None:
        name = stop.link.track.replace("link", "stop") + ".b" * stop.channel.number
        self._log = log
        self._link = link
        self._head = log.signal(name, "packet")
        self._fill: Tally = log.tally(f"{name}.fifo")
        self._standing = 0
        self._gone = 0
        """The cycle from which on nothing is left of the packet that left last."""

    def arrives(self, packet: Packet, cycle: int) -> None:
        self._fill.add(cycle, 1)
        if not self._standing:
            self._head.set(max(cycle, self._gone), self._number(packet))
        self._standing += 1

    def leaves(self, end: int, following: tuple[int, Packet] | None) -> None:
        self._gone = end
        self._fill.add(end, -1)
        self._standing -= 1
        self._head.set(end, NONE)
        if following is not None:
            ready, packet = following
            self._head.set(max(ready, end), self._number(packet))

    def enters(self, packet: Packet, cycle: int, end: int) -> None:
        self._link.set(cycle, self._number(packet))
        self._link.set(end, NONE)

    def _number(self, packet: Packet) -> int:
        assert packet.transfer is not None
        return self._log.number(f"{packet.sender} {packet.number} {packet.transfer.master}")


def _follow(
    log: StateLog, clock: Clock, path: str, flags: FlagFile, names: Iterable[str], reset_cycles: int = 0
) -> None:
    """Log a flag file. A fence resets when everybody has looked at the flags of its cycle: so many cycles later that
    can be seen.
    """
    signals = {name: log.signal(f"{path}.flags.{name}", "flag") for name in names}

    def change(flag: str, count: int) -> None:
        if flag in signals:  # fences reset others, too
            signals[flag].set(clock.cycle + (0 if count else reset_cycles), count)

    flags.on_count = change


def _fifos(chip: Chip) -> Iterator[tuple[str, Fifo[Any]]]:
    yield chip.host_infeed.unit.track, chip.host_infeed.rows
    yield chip.infeed.unit.track, chip.infeed.buffer
    yield f"{chip.infeed.unit.track}.forwarded", chip.infeed.forwarded
    yield chip.outfeed.unit.track, chip.outfeed.buffer
    yield chip.classifier.unit.track, chip.classifier.buffer
    for tile in chip.tiles:
        yield from _buffers(tile)


def _buffers(tile: Tile) -> Iterator[tuple[str, Fifo[Any]]]:
    """The instruction buffers of a tile; both ring roles may share one."""
    for engine in tile.engines.values():
        if not isinstance(engine.buffer, RoleQueue):
            yield engine.unit.track, engine.buffer
    if tile.ring_queue is not None:
        yield f"chip.tile{tile.index}.ring_queue", tile.ring_queue.fifo
