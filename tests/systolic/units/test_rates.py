"""Each unit's latency with nothing in its way, and its highest rate, are those of its docstring."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tests.systolic.handmade import Listing, chip_of, multiply, some, times, topology, tpu, vectors_at
from tilesim.systolic.isa.model.instructions import (
    Activate,
    Combine,
    Copy,
    Fill,
    Lookup,
    MatrixMultiply,
    Nest,
    Nop,
    Pool,
    Pooling,
    Queue,
    ReadHostMemory,
    ReadWeights,
    Requantise,
    RowSoftmax,
    Scale,
    Sync,
    VectorInstruction,
    Window,
    WriteHostMemory,
)
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.chip import Chip

SLOW_STREAM = {"host": {"instruction_bytes_per_cycle": 1}}
FIRST = 2
"""When the first instruction is in its queue: its bytes take a cycle, and so does the pipeline."""


def seen(chip: Chip, address: int) -> int:
    return int(chip.data.memories.buffer.bytes[0, address])


def started(chip: Chip, *ops: object) -> None:
    """Begin a section without running it to its end."""
    listing = Listing()
    for op in ops:
        listing.add(op)  # type: ignore[arg-type]
    for unit in (*chip.units, *chip.links):
        unit.restart()
    chip.clock.process(chip.sequencer.run(listing.halt(), chip.clock.event()))


@pytest.mark.parametrize(("latency", "size", "cycles"), [(0, 4, 1), (0, 5, 2), (7, 9, 3)])
def test_dma_in(latency: int, size: int, cycles: int) -> None:
    chip = topology(host={"latency_cycles": latency})
    one, two = (ReadHostMemory(address=k * 64, bytes=size) for k in range(2))
    found = times(chip_of(chip, [np.arange(1, 65, dtype=np.uint8)]), one, two)
    assert found["dma_in.0"] == (FIRST, FIRST + cycles + latency)
    assert found["dma_in.1"][1] - found["dma_in.0"][1] == max(1, cycles)


def test_an_inputs_bytes_are_there_when_it_retires_and_not_a_cycle_before() -> None:
    chip = chip_of(topology(host={"latency_cycles": 7}), [np.full(9, 5, np.uint8)])
    started(chip, ReadHostMemory(address=64, bytes=9))
    there = FIRST + 3 + 7
    for cycle, value in ((there, 0), (there + 1, 5)):  # up to the end of the cycle before
        chip.clock.run(until=cycle)
        assert seen(chip, 72) == value


@pytest.mark.parametrize(("latency", "size", "cycles"), [(0, 4, 1), (3, 9, 3)])
def test_dma_out(latency: int, size: int, cycles: int) -> None:
    chip = topology(host={"latency_cycles": latency})
    found = times(chip_of(chip), *(WriteHostMemory(offset=k * 64, bytes=size) for k in range(2)))
    assert found["dma_out.0"] == (FIRST, FIRST + cycles + latency)
    assert found["dma_out.1"][1] - found["dma_out.0"][1] == max(1, cycles)


def test_instructions_come_a_few_bytes_a_cycle() -> None:
    chip = topology(**SLOW_STREAM, sequencer={"pipeline_cycles": 5})
    ops = [Fill(destination=Nest(k, 1), value=k) for k in range(3)]
    made = chip_of(chip)
    found = times(made, *ops)
    length = made.instructions.moved["vector.0"]
    assert length > 3
    assert [found[f"vector.{k}"][0] for k in range(3)] == [(k + 1) * length + 5 for k in range(3)]


def test_an_instruction_is_issued_each_cycle_and_a_nop_takes_one() -> None:
    found = times(chip_of(topology()), Nop(), Nop(), Fill(destination=Nest(0, 1), value=1), WriteHostMemory(bytes=1))
    assert (found["vector.0"][0], found["dma_out.0"][0]) == (FIRST + 2, FIRST + 3)


def test_a_full_queue_stalls_the_sequencer() -> None:
    chip = chip_of(topology(sequencer={"queue_depth": 2}))
    times(chip, *(WriteHostMemory(bytes=40) for _ in range(6)))
    assert chip.sequencer.unit.cycles["stall:fifo"] > 0
    assert len(chip.retirement.retired) == 6


def test_a_tile_of_tpu_v1_takes_1349_cycles_and_a_third() -> None:  # oracle 32
    assert float(tpu().weight_tile_cycles) == pytest.approx(1349.3, abs=0.05)
    for tiles in (1, 2, 4):
        begun, retired = times(chip_of(tpu()), ReadWeights(tiles=tiles))["weight_fetcher.0"]
        assert retired == -(-(_tick(tpu(), begun) + tiles * 4096) * 700 // 2125)


def test_tiles_back_to_back_take_exactly_as_long_as_one_each() -> None:
    chip, n = tpu(weight_fifo={"tiles": 64}), 60
    found = times(chip_of(chip), *(ReadWeights() for _ in range(n)))
    start = Fraction(_tick(chip, found["weight_fetcher.0"][0]) * 700, 2125)
    ends = [found[f"weight_fetcher.{k}"][1] for k in range(n)]
    assert ends == [int(-(-(start + (k + 1) * chip.weight_tile_cycles) // 1)) for k in range(n)]


def _tick(chip: Topology, cycle: int) -> int:
    return -(-cycle * chip.weight_memory.clock_hz // chip.clock_hz)


@pytest.mark.parametrize(("chip", "weight_bytes", "cycles"), [(tpu(), 1, 256), (topology(4, 6), 2, 8)])
def test_a_tile_is_shifted_in_a_row_a_cycle(chip: Topology, weight_bytes: int, cycles: int) -> None:
    made = chip_of(chip)
    tile = ReadWeights(weight_bytes=weight_bytes)
    use = multiply(switch=True, weights="int8" if weight_bytes == 1 else "int16")
    found = times(made, tile, use)
    assert found["matrix.0"][0] == found["weight_fetcher.0"][1] + cycles
    assert made.matrix.cycles["stall:shift"] == cycles
    begun, retired = found["weight_fetcher.0"]
    assert made.matrix.cycles["stall:weights"] == retired - (begun + 1)


@pytest.mark.parametrize(("size", "vectors", "last"), [(256, 200, 710), (2, 2, 4)])
def test_the_last_result_of_a_skewed_array(size: int, vectors: int, last: int) -> None:  # oracle 31
    begun, retired = times(chip_of(topology(size, accumulators={"entries": 256})), multiply(vectors=vectors))[
        "matrix.0"
    ]
    assert retired - begun == last


def test_vectors_follow_one_another_each_cycle() -> None:
    found = times(chip_of(topology()), multiply(vectors=5), multiply(vectors=3), multiply(vectors=1))
    assert [found[f"matrix.{k}"] for k in range(3)] == [(2, 2 + 5 + 6), (7, 7 + 3 + 6), (10, 10 + 1 + 6)]


@pytest.mark.parametrize(("activations", "weights", "passes"), [
    ("int8", "int8", 1), ("int16", "int8", 2), ("int8", "int16", 2), ("int16", "int16", 4),
])  # fmt: skip
def test_sixteen_bits_take_twice_as_long_on_either_side(activations: str, weights: str, passes: int) -> None:
    chip = chip_of(topology())  # oracle 36
    window = vectors_at(0, 8, 2, 2)
    op = MatrixMultiply(window=window, vectors=8, rows=2, columns=2, activations=activations, weights=weights)  # type: ignore[arg-type]
    found = times(chip, ReadWeights(weight_bytes=2 if weights == "int16" else 1), op)["matrix.0"]
    assert found[1] - found[0] == 8 * passes + 4 + 4 - 2
    assert chip.matrix.cycles["busy"] == 8 * passes


def test_sums_are_there_when_a_multiply_retires_and_not_a_cycle_before() -> None:
    chip = chip_of(topology())
    chip.data.memories.weights.bytes[...] = 1
    chip.data.memories.buffer.bytes[0, :4] = 3
    op = multiply(elements=4, columns=4, switch=True)
    listing = (ReadWeights(), op)
    retired = times(chip_of(topology()), *listing)["matrix.0"][1]
    started(chip, *listing)
    for cycle, value in ((retired, 0), (retired + 1, 12)):
        chip.clock.run(until=cycle)
        assert chip.data.memories.accumulators[0, 0].tolist() == [value] * 4


def test_switches_follow_one_another_as_fast_as_tiles_are_shifted_in() -> None:
    chip = chip_of(topology(weight_memory={"channels": 64}))
    ops = [ReadWeights(tiles=6), *(multiply(vectors=v, switch=True) for v in (9, 2, 9, 1, 1))]
    found = times(chip, *ops)
    begun = [found[f"matrix.{k}"][0] for k in range(5)]
    assert [later - earlier for earlier, later in pairwise(begun)] == [9, 4, 9, 4]


PARTS = Nest(0, 5, (3,), (8,))
"""Three runs of five bytes: two chunks each on four lanes."""
WINDOW = Window(0, 1, 64, 4, 4, 20, 5, 5, 2, 2, kernel=(2, 2), strides=(2, 2))
MOST = Pooling("max", (-128, 127))
SOFT = RowSoftmax(source=PARTS, destination=PARTS, rule="softmax", scaling=(0, 0, 0), clamp=(-128, 127))
SUMS = Activate(vectors=3, columns=4, scale=Scale("single", 0, 0, (-128, 127)), stride_bytes=4)
WIDE = Activate(vectors=3, columns=4, scale=SUMS.scale, stride_bytes=4)
ONE = Requantise(
    source=PARTS, destination=PARTS, rule="single", multiplier=1 << 30, shift=1, input_zero_point=0, zero_point=0,
    clamp=(-128, 127),
)  # fmt: skip
SUM = Combine(
    a=PARTS, b=PARTS, destination=PARTS, rule="double", scaling=(20, 0, 0, 1 << 30, 1, 1 << 30, 1, 1 << 30, -20, 0),
    clamp=(-128, 127),
)  # fmt: skip


@pytest.mark.parametrize(
    ("op", "cycles"),
    [
        (Copy(source=PARTS, destination=PARTS), 6),
        (Fill(destination=PARTS, value=3), 6),
        (Lookup(source=PARTS, destination=PARTS, table=512), 6),
        (ONE, 6),
        (Pool(window=WINDOW, pool=MOST, stride_bytes=5), 4 * 4 * 2),
        (SUMS, 3 * 1 + 3),
    ],
    ids=lambda value: getattr(value, "mnemonic", None),
)
def test_vector_instructions(op: VectorInstruction, cycles: int) -> None:
    found = times(chip_of(topology()), op, op)
    assert found["vector.0"] == (FIRST, FIRST + cycles + 2)
    assert found["vector.1"] == (FIRST + cycles, FIRST + 2 * cycles + 2)


def test_a_sync_takes_no_cycle_and_lets_go_at_the_retirement() -> None:
    ops = [multiply(vectors=5), Sync(unit=Queue.VECTOR, until=Queue.MATRIX, count=1), SUMS]
    chip = chip_of(topology())
    found = times(chip, *ops)
    assert found["vector.1"][0] == found["matrix.0"][1] == found["vector.0"][1]
    assert chip.issue_queues[Queue.VECTOR].unit.cycles["stall:raw"] == found["matrix.0"][1] - found["vector.0"][0]


def test_a_sync_retires_with_the_instruction_before_it() -> None:
    ops = [multiply(vectors=5), Sync(unit=Queue.MATRIX, until=Queue.DMA_IN, count=0), multiply()]
    found = times(chip_of(topology()), *ops)
    assert found["matrix.1"] == (7, found["matrix.0"][1])
    assert found["matrix.2"][0] == 7


def test_waits_for_an_input_have_their_own_name() -> None:
    ops = [
        ReadHostMemory(bytes=40),
        Sync(unit=Queue.MATRIX, until=Queue.DMA_IN, count=1),
        multiply(switch=True),
        ReadWeights(),
    ]
    chip = chip_of(topology(), [some((40,))])
    found = times(chip, *ops)
    assert chip.matrix.cycles["stall:input"] == found["dma_in.0"][1] - found["matrix.0"][0]
    assert "stall:raw" not in chip.matrix.cycles
