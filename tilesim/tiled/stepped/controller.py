"""The controller's sequencer: issues a program's instructions in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilesim.tiled.isa.model.instructions import (
    Broadcast,
    Infeed,
    Instruction,
    Outfeed,
    Record,
    ScalarFence,
    header_of,
)
from tilesim.tiled.stepped.core import BUSY, FIFO, FLAG, HOST, IDLE, Clock, Fifo, Thread, UnitAccount
from tilesim.tiled.stepped.host import HostInfeed
from tilesim.tiled.stepped.infeed import InfeedEngine
from tilesim.tiled.stepped.instruction_bus import BusStop, Delivery, bus_words, send
from tilesim.tiled.stepped.outfeed import OutfeedEngine
from tilesim.tiled.topology import Topology


class Controller(Thread):
    """Sends instructions of tiles over the instruction bus, its own to infeed and outfeed, and waits at scalar fences.

    Where the host announces requests, it begins with one when that, or its instructions, has come. What a tile is to
    broadcast goes to that tile's stop alone. Rows that are forwarded concern both infeed and outfeed.

    Timing: an instruction of n bus words takes n cycles, one of the controller's own 1. What belongs to a record has
    left its first word in the record's header. ``fences`` counts the tile
    fences that are through, at once.
    """

    def __init__(self, clock: Clock, account: UnitAccount, topology: Topology) -> None:
        self.fences = 0
        self.to_issue: list[Instruction] = []
        self._topology = topology
        self._starts = 0
        self._announced = 0
        self._outfeeds = 0
        self._programs = 0
        super().__init__(clock, account)

    def connect(self, first_stop: BusStop, infeed: InfeedEngine, outfeed: OutfeedEngine, host: HostInfeed) -> None:
        self._first_stop, self._infeed, self._outfeed, self._host = first_stop, infeed, outfeed, host

    def start(self, instructions: tuple[Instruction, ...]) -> None:
        """Issue the instructions of a section, when the host has sent them, if it does."""
        self.to_issue = list(instructions)
        host = self._topology.host
        self._programs += bool(instructions) and (host.sends_instructions or host.request_ns > 0)

    def life(self) -> Iterator[str]:
        while True:
            self.label = ""
            while not self.to_issue:
                yield IDLE
            op = self.to_issue[0]
            self.label = op.label
            while self._host.programs < self._programs:
                yield HOST
            if isinstance(op, ScalarFence):
                yield from self._await(op)
            elif isinstance(op, Infeed | Outfeed):
                yield from self._dispatch(op)
            else:
                yield from self._send(op)
            self.to_issue.pop(0)

    def _send(self, op: Instruction) -> Iterator[str]:
        bus = self._topology.instruction_bus
        words = bus_words(op.words - 1 if self._announced else op.words, bus.width_bytes)
        stops = header_of(op, self._topology.tiles)
        delivery = Delivery(self._starts, op, words, stops) if self._starts else Delivery(stops, op, words)
        self._starts = stops if isinstance(op, Broadcast) else 0
        self._announced = op.parts if isinstance(op, Record) else max(self._announced - 1, 0)
        yield from send(self._first_stop, delivery, bus.hop_cycles)
        for _ in range(words):
            yield BUSY

    def _dispatch(self, op: Infeed | Outfeed) -> Iterator[str]:
        buffers: list[Fifo[Any]] = [self._infeed.buffer] if isinstance(op, Infeed) else []
        if isinstance(op, Outfeed) or op.source == "ring":
            buffers.append(self._outfeed.buffer)
            self._outfeeds += 1
        for buffer in buffers:
            while not buffer.room():
                yield FIFO
            buffer.reserve()
        for buffer in buffers:
            buffer.put(op, 1)
        yield BUSY

    def _await(self, op: ScalarFence) -> Iterator[str]:
        while self.fences < op.count:
            yield FLAG
        self.fences -= op.count
        while op.idle and self._outfeed.through < self._outfeeds:
            yield FLAG
        yield BUSY
