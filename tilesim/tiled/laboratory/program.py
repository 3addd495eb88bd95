"""The program of bare transfers: for each in turn the instructions that wait, take its rows and send them.

The rows are the same one again and again, so that any number fits the memories. A fence holds the controller: what
stands behind it in the program waits as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilesim.errors import ProgramError, refuse
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import Engine, Flag, Loop, Nest, Reference, Traversal, Watcher
from tilesim.tiled.isa.model.instructions import (
    Infeed,
    Instruction,
    Outfeed,
    RingConsume,
    RingProduce,
    ScalarFence,
    TileFence,
)
from tilesim.tiled.isa.model.program import Block, HostTensor, Program
from tilesim.tiled.laboratory.scenario import SINK, SOURCE, BareTransfer, Scenario, When, node_of, passes
from tilesim.tiled.topology import Topology


def program_of(scenario: Scenario, name: str) -> Program:
    """A program that makes these transfers, called ``name``.

    Raises:
        ProgramError: what the chip can't run, such as more rows than its data memory holds.
    """
    making = _Making(scenario)
    program = Program(name, making.chip, (), tuple(making.instructions()), outputs=tuple(making.outputs()))
    refuse(faults(program), ProgramError)
    return program


def sender(transfer: str) -> str:
    """The label of the instruction that sends a transfer."""
    return f"{transfer}.send"


class _Making:
    def __init__(self, scenario: Scenario) -> None:
        self.chip = scenario.topology()
        self._transfers = scenario.transfers
        self._places = {transfer.name: place for place, transfer in enumerate(scenario.transfers)}

    def instructions(self) -> Iterator[Instruction]:
        for transfer in self._transfers:
            yield from self._fences(transfer)
            yield from self._receivers(transfer)
            yield self._send(transfer)

    def outputs(self) -> Iterator[HostTensor]:
        to_host = [transfer for transfer in self._transfers if SINK in transfer.to]
        return (_output(number, transfer, self.chip) for number, transfer in enumerate(to_host))

    def _fences(self, transfer: BareTransfer) -> Iterator[Instruction]:
        for name, when in transfer.after.items():
            first, label = self._transfers[self._places[name]], f"{transfer.name}.after.{name}"
            if when is When.SENT:
                yield from _fence(_bitmap([first.master]), Engine.RING_PRODUCER, label)
            elif when is When.TAKEN:
                yield from _fence(_bitmap(first.to), Engine.RING_CONSUMER, label, SINK in first.to)

    def _receivers(self, transfer: BareTransfer) -> Iterator[Instruction]:
        label = f"{transfer.name}.receive"
        if tiles := _bitmap(transfer.to):
            row_bytes = self.chip.wide_memory.row_bytes
            yield RingConsume(tiles=tiles, write=_rows(transfer.rows, row_bytes), produce="r", label=label)
        if SINK in transfer.to:
            number = sum(SINK in earlier.to for earlier in self._before(transfer.name))
            yield Outfeed(output=number, rows=transfer.rows, label=f"{transfer.name}.outfeed")

    def _send(self, transfer: BareTransfer) -> Instruction:
        to, label = sum(1 << node_of(place, self.chip.tiles) - 1 for place in transfer.to), sender(transfer.name)
        waits = tuple(self._watchers(transfer))
        if transfer.master == SOURCE:
            turn = max((watcher.expected for watcher in waits), default=0)
            return Infeed(source="data", rows=transfer.rows, to=to, turn=turn, label=label)
        tiles = _bitmap([transfer.master])
        return RingProduce(tiles=tiles, read=_rows(transfer.rows, 0), to=to, wait=waits, label=label)

    def _watchers(self, transfer: BareTransfer) -> Iterator[Watcher]:
        """One a flag: the last of the transfers that are waited for says how far it must count."""
        flags = {When.PASSED: Flag.RING_PRODUCER_A, When.RECEIVED: Flag.RING_READ_A}
        for when, flag in flags.items():
            counts = [self._count(transfer, name, when) for name, wanted in transfer.after.items() if wanted is when]
            if counts:
                yield Watcher(flag, max(counts))

    def _count(self, transfer: BareTransfer, name: str, when: When) -> int:
        """Which transfer it is of those that pass the master of another, or that its consumer takes."""
        upto = [*self._before(name), self._transfers[self._places[name]]]
        if when is When.RECEIVED:
            return sum(transfer.master in earlier.to for earlier in upto)
        return sum(passes(earlier, transfer.master, self.chip.tiles) for earlier in upto)

    def _before(self, name: str) -> Sequence[BareTransfer]:
        return self._transfers[: self._places[name]]


def _bitmap(places: Sequence[int | str]) -> int:
    """The tiles among some places."""
    return sum(1 << place for place in places if isinstance(place, int))


def _rows(rows: int, address: int) -> Traversal:
    return Traversal(Nest((Loop("r", rows),)), Reference(address))


def _fence(tiles: int, engine: Engine, label: str, outfeed: bool = False) -> Iterator[Instruction]:
    """Hold the controller until an engine of some tiles has drained, or the outfeed has."""
    if tiles:
        yield TileFence(tiles=tiles, idle=(engine,), increment=1, label=label)
    yield ScalarFence(count=tiles.bit_count(), idle=("outfeed",) if outfeed else (), label=f"{label}.awaited")


def _output(number: int, transfer: BareTransfer, chip: Topology) -> HostTensor:
    """The bytes that a transfer brings to the host."""
    size = transfer.rows * chip.wide_memory.row_bytes
    block = Block((0, 0, 0), (1, 1, size), size, transfer.rows)
    return HostTensor(transfer.name, number, "int8", (1, 1, 1, size), (0, 1, 2, 3), "i8", (1, 1, size), (block,))
