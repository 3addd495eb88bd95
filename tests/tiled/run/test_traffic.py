"""Bytes on the buses and what units count of their actions: by hand, and against the accesses of the stepped model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from tests.tiled.corpus.programs import inputs_of, random_program
from tests.tiled.programs import program
from tests.tiled.units.bench import Bench, at, chip_of, line, nest
from tilesim import simulate
from tilesim.arithmetic.average import average_scaling
from tilesim.errors import ProgramError, RunError
from tilesim.machines.accounts import accounts_of
from tilesim.sim.core.action import Action, Actions
from tilesim.tiled import stepped
from tilesim.tiled.isa.model.fields import Alternate
from tilesim.tiled.isa.model.instructions import (
    ElementType,
    Infeed,
    Instruction,
    Operation,
    Outfeed,
    RingConsume,
    RingProduce,
    TensorOp,
    TileFence,
)
from tilesim.tiled.isa.model.program import Layer, Program
from tilesim.tiled.run.measured import buses_of, measured
from tilesim.tiled.run.statistics import carriers, widths
from tilesim.tiled.stepped.chip import Chip
from tilesim.tiled.stepped.memory import Bytes, Memory, Port
from tilesim.tiled.topology import Topology

ROW, WORD = 256, 4
SINK = 1 << 3  # of a chip of two tiles: them, the classifier, the sink
FIRST = 7000
FROM_DATA_MEMORY_TO_THE_HOST = (
    "infeed", "tile1.ring_consumer", "tile0.ring_producer", "ring.link1", "ring.link2", "host.outfeed",
)  # fmt: skip
CONVOLUTION = TensorOp(
    tiles=1,
    operation=Operation.CONVOLUTION,
    nest=nest(Alternate("zb", 10), zb=2, x=5, zi=3, lane=64),
    reduce=("zi",),
    input=at(0, x=12, zi=4),
    weights=at(0, zb=3 * ROW, zi=ROW),
    parameters=at(0x4000, zb=3 * ROW),
    output=at(0x1000, zb=64, x=128),
    rule="double",
    label="op",
)
ELEMENTWISE = TensorOp(
    tiles=1,
    operation=Operation.ADD,
    nest=nest(x=50, lane=4),
    input=at(0, x=4),
    input_b=at(0x1000, x=4),
    output=at(0x2000, x=4),
    rule="float",
    scaling=(0, 0, 0),
    label="op",
)
POOL = replace(ELEMENTWISE, operation=Operation.MAXIMUM, nest=nest(x=50, k=9, lane=4), reduce=("k",), input_b=None)


def counted(track: str, *ops: Instruction, chip: Topology | None = None, host_rows: int = 0) -> Actions:
    """What a unit counts of ``ops``, run on a chip of one tile if no other is given."""
    bench = Bench(chip)
    bench.run(*ops, host_rows=[np.zeros((1, ROW), np.uint8)] * host_rows)
    found = measured(Program("test", bench.chip.topology, (), ops), bench.chip)
    return {
        tally.action: int(tally.counts[tally.tracks.index(f"chip.{track}")].sum())
        for tally in found.accounts.tallies(carriers(found.buses), widths(bench.chip.topology))
        if f"chip.{track}" in tally.tracks and tally.counts[tally.tracks.index(f"chip.{track}")].any()
    }


# ---- buses ---------------------------------------------------------------------------------------------------------


def moved(bus: str, *ops: Instruction, host_rows: int = 0) -> list[tuple[int, int]]:
    """What entered a bus of a chip of two tiles, and what its links carried: of the run, then of layers 0 and 1."""
    bench = Bench(chip_of(2, 1))
    bench.run(*ops, host_rows=[np.zeros((1, ROW), np.uint8)] * host_rows)
    buses = buses_of(bench.chip)
    layers = (Layer("a", "convolution", 0), Layer("b", "convolution", 0))
    accounts = accounts_of(Program("test", bench.chip.topology, (), ops, layers=layers), bench.chip.units)
    found = [accounts.total(buses), *accounts.by_layer(buses)]
    return [(of_bus[bus]["entered"], of_bus[bus]["carried"]) for of_bus in found]


def test_a_row_enters_the_ring_once_and_is_carried_to_its_last_stop() -> None:
    both = RingConsume(tiles=3, write=line(0, 3, ROW), layer=0, label="both")
    feed = Infeed(source="data", rows=3, to=3, layer=0, label="feed")
    send = RingProduce(tiles=1, read=line(0, 2, ROW), to=2, layer=1, label="send")
    take = RingConsume(tiles=2, write=line(0x1000, 2, ROW), layer=1, label="take")
    assert moved("ring", both, feed, take, send) == [
        (5 * ROW, 8 * ROW),
        (3 * ROW, 6 * ROW),  # source to tile 0, tile 0 to tile 1
        (2 * ROW, 2 * ROW),  # tile 0 to tile 1
    ]


def test_the_host_s_rows_belong_to_the_infeeds_and_outfeeds_that_move_them() -> None:
    take = RingConsume(tiles=1, write=line(0, 3, ROW), layer=0, label="take")
    feeds = [
        Infeed(source="host", rows=rows, to=1, layer=layer, label=f"feed{layer}") for rows, layer in ((2, 0), (1, 1))
    ]
    send = RingProduce(tiles=2, read=line(0, 4, ROW), to=SINK, layer=1, label="send")
    out = Outfeed(output=0, rows=4, layer=1, label="out")
    found = moved("host", take, *feeds, out, send, host_rows=3)
    assert found == [(7 * ROW, 7 * ROW), (2 * ROW, 2 * ROW), (5 * ROW, 5 * ROW)]
    assert moved("ring", take, *feeds, out, send, host_rows=3)[0] == (7 * ROW, 3 * ROW + 4 * 2 * ROW)


def test_an_instruction_enters_its_bus_once_and_no_width_changes_its_bytes() -> None:
    both = RingConsume(tiles=3, write=line(0, 1, ROW), layer=0, label="both")
    first = TileFence(tiles=1, layer=1, label="first")
    assert moved("instruction_bus", both, first) == [(80, 144), (64, 128), (16, 16)]
    narrow = Bench(chip_of(2, 1, instruction_bus={"width_bytes": 1}))
    narrow.run(both, first)
    assert narrow.bytes_by_bus()["instruction_bus"] == {"entered": 80, "carried": 144}


# ---- actions, by hand ---------------------------------------------------------------------------------------------


def test_a_convolution_multiplies_with_the_lanes_that_run_and_reads_whole_rows() -> None:
    results = 5 * (64 + 10)
    assert counted("tile0.mac_array", CONVOLUTION) == {Action.MAC_8X8: results * 3 * 4}
    assert counted("tile0.tensor", CONVOLUTION) == {
        Action.NARROW_READ: 2 * 5 * 3,
        Action.WIDE_READ: 2 * 5 * 3 + 2 * 3,  # weights, and parameters of each block
        Action.NARROW_WRITE: 5 * (16 + 3),
        Action.ADD_32: 2 * results,
        Action.MULTIPLY_32: results,
    }


@pytest.mark.parametrize(
    ("kind", "action", "passes"), [(ElementType.I8, Action.MAC_8X16, 2), (ElementType.I16, Action.MAC_16X16, 4)]
)
def test_wide_operands_are_read_in_each_of_their_passes(kind: ElementType, action: Action, passes: int) -> None:
    wide = replace(CONVOLUTION, widths=(kind.bits, 16), input_type=kind, weight_type=ElementType.I16)
    assert counted("tile0.mac_array", wide) == {action: 5 * 74 * 12}
    assert counted("tile0.tensor", wide)[Action.NARROW_READ] == passes * 30


def test_partial_sums_are_rows_and_go_past_the_activation_unit() -> None:
    sums = at(0x6000, zb=5 * ROW, x=ROW)
    first = replace(CONVOLUTION, parameters=None, output=None, sums_in=sums, sums_out=sums)
    assert counted("tile0.mac_array", first) == {Action.MAC_8X8: 5 * 74 * 12, Action.ADD_32: 5 * 74}
    assert counted("tile0.tensor", first) == {
        Action.NARROW_READ: 30,
        Action.WIDE_READ: 30 + 10,
        Action.WIDE_WRITE: 10,
    }


def test_a_sum_reads_both_operands_and_rescales_them_and_the_sum() -> None:
    assert counted("tile0.tensor", ELEMENTWISE) == {Action.NARROW_READ: 100, Action.NARROW_WRITE: 50}
    assert counted("tile0.mac_array", ELEMENTWISE) == {Action.MULTIPLY_32: 3 * 200, Action.ADD_32: 2 * 200}


def test_pools_compare_or_add_in_each_step_and_an_average_divides() -> None:
    assert counted("tile0.mac_array", POOL) == {Action.ADD_8: 200 * 9}
    average = replace(POOL, operation=Operation.AVERAGE, scaling=average_scaling((0.1, 0.1), (0, 0), 9))
    assert counted("tile0.mac_array", average) == {Action.ADD_32: 200 * 9 + 200, Action.MULTIPLY_32: 200}


@pytest.mark.parametrize("instruction", ["narrow_to_wide", "wide_to_narrow"])
def test_a_copy_between_the_memories_touches_each_word_and_each_row_once(instruction: str) -> None:
    words, rows = ("read", "write") if instruction == "narrow_to_wide" else ("write", "read")
    text = f"{instruction} tiles=1 {words}=[w:192 @0x0+w*4] {rows}=[r:3 @0x0+r*256]"
    [op] = program(text, "edge-1x1").run
    counts = counted(f"tile0.{instruction}", op)
    assert counts == {Action(f"narrow_{words}"): 192, Action(f"wide_{rows}"): 3}


@pytest.mark.parametrize(("destination", "memory", "accesses"), [("narrow", "narrow", 128), ("wide", "wide", 2)])
def test_the_mesh_reads_and_writes_the_memory_that_it_joins(destination: str, memory: str, accesses: int) -> None:
    words, rows = "[w:128 @0x0+w*4]", "[r:2 @0x0+r*256]"
    at_end = words if destination == "narrow" else rows
    text = f"mesh_in tiles=2 side=west write={at_end}\nmesh_out tiles=1 side=east memory={memory} read={at_end}"
    chip = chip_of(1, 2, mesh={"destination": destination})
    ops = program(text, "edge-1x2", mesh__destination=destination).run
    assert counted("tile0.mesh_out_east", *ops, chip=chip) == {Action(f"{memory}_read"): accesses}
    assert counted("tile1.mesh_in_west", *ops, chip=chip) == {Action(f"{memory}_write"): accesses}
    assert counted("mesh.tile0.east", *ops, chip=chip) == {Action.MESH_HOP: 128}


def test_a_transfer_is_read_once_and_written_by_each_consumer_and_hops_over_each_link() -> None:
    both = RingConsume(tiles=3, write=line(0, 3, ROW), label="both")
    feed = Infeed(source="data", rows=3, to=3, label="feed")
    send = RingProduce(tiles=1, read=line(0, 3, ROW), to=2 << 2, label="send")
    out = Outfeed(output=0, rows=3, label="out")
    everything = {
        track: counted(track, both, feed, out, send, chip=chip_of(1, 2)) for track in FROM_DATA_MEMORY_TO_THE_HOST
    }
    assert everything == {
        "infeed": {Action.DATA_MEMORY_READ: 3},
        "tile1.ring_consumer": {Action.WIDE_WRITE: 3},
        "tile0.ring_producer": {Action.WIDE_READ: 3},
        "ring.link1": {Action.RING_HOP: 6},
        "ring.link2": {Action.RING_HOP: 3},
        "host.outfeed": {Action.HOST_TRANSFER: 3},
    }


def test_rows_of_the_host_are_not_read_from_data_memory() -> None:
    take = RingConsume(tiles=1, write=line(0, 3, ROW), label="take")
    feed = Infeed(source="host", rows=3, to=1, label="feed")
    assert counted("infeed", take, feed, host_rows=3) == {}
    assert counted("host.infeed", take, feed, host_rows=3) == {Action.HOST_TRANSFER: 3}


def test_an_instruction_is_fetched_once_and_hops_past_each_stop() -> None:
    both = RingConsume(tiles=3, write=line(0, 1, ROW), label="both")
    feed = Infeed(source="data", rows=1, to=3, label="feed")
    chip = chip_of(1, 2)
    assert counted("controller", both, feed, chip=chip) == {Action.INSTRUCTION_MEMORY_READ: both.words}
    assert counted("instruction_bus.stop1", both, feed, chip=chip) == {Action.INSTRUCTION_HOP: both.words}


# ---- against the accesses of the stepped model ---------------------------------------------------------------------


class CountingPort(Port):
    granted = 0

    def take(self) -> bool:
        granted = super().take()
        self.granted += granted
        return granted


class CountingMemory(Memory):
    reads = writes = 0

    def read(self, address: int, width_bytes: int) -> Bytes:
        self.reads += 1
        return super().read(address, width_bytes)

    def write(self, address: int, data: Bytes) -> None:
        self.writes += 1
        super().write(address, data)


class CountingChip(Chip):
    """Says what its memories' ports granted in the section that ran last."""

    accesses: tuple[Counter[str], ...]

    def run(self, *section: object) -> tuple[int, int]:
        before = self._granted()
        found = super().run(*section)  # type: ignore[arg-type]
        CountingChip.accesses = tuple(now - then for now, then in zip(self._granted(), before, strict=True))
        return found

    def _granted(self) -> list[Counter[str]]:
        return [
            Counter(
                narrow_read=memories.narrow_read.granted,  # type: ignore[attr-defined]
                narrow_write=memories.narrow_write.granted,  # type: ignore[attr-defined]
                wide_read=memories.wide_port.granted - memories.wide.writes,  # type: ignore[attr-defined]
                wide_write=memories.wide.writes,  # type: ignore[attr-defined]
            )
            for memories in (tile.memories for tile in self.tiles)
        ]


def event_accesses(subject: Program) -> tuple[Counter[str], ...]:
    """The accesses to each tile's memories that its units count."""
    found = [Counter[str]() for _ in range(subject.topology.tiles)]
    for unit in simulate(subject, inputs_of(subject)).statistics["energy"]["units"]:
        tile = unit["track"].removeprefix("chip.tile").split(".")[0]
        if tile.isdecimal():
            found[int(tile)].update({a: n["count"] for a, n in unit["actions"].items() if a.startswith(MEMORIES)})
    return tuple(found)


MEMORIES = ("narrow", "wide")


def _leaves_in_halves(op: Instruction) -> bool:
    """Whether sums of 64 bits are written, which the stepped model does in two pieces, if in one access."""
    return isinstance(op, TensorOp) and op.sums_out is not None and 16 in op.widths


def both(numbers: range) -> Iterator[tuple[str, tuple[Counter[str], ...], tuple[Counter[str], ...]]]:
    """Of the programs that come to their end: the accesses in both models."""
    for number in numbers:
        subject = random_program(number)
        if any(map(_leaves_in_halves, subject.run)):
            continue
        try:
            ours = event_accesses(subject)
        except (ProgramError, RunError):
            continue
        stepped.simulate(subject, inputs_of(subject))
        yield subject.name, ours, CountingChip.accesses


def test_units_count_the_accesses_that_the_stepped_model_s_ports_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesim.tiled.stepped.memory.Port", CountingPort)
    monkeypatch.setattr("tilesim.tiled.stepped.memory.Memory", CountingMemory)
    monkeypatch.setattr(import_module("tilesim.tiled.stepped.simulate"), "Chip", CountingChip)
    seen: Counter[str] = Counter()
    for name, ours, theirs in both(range(FIRST, FIRST + 60)):
        assert ours == tuple(+each for each in theirs), name
        seen.update(action for tile in ours for action in tile)
    assert min(seen[action] for action in ("narrow_read", "narrow_write", "wide_read", "wide_write")) > 20
