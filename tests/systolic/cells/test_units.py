"""Programs on the fast model's units, then the same shifts and multiplies, from the same cycles on, on the cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.systolic.cells.run import Multiply, Shift, run
from tests.systolic.handmade import times, topology, vectors_at
from tilesim.sim.core.memory import Memory
from tilesim.sim.trace.recorder import Recorder
from tilesim.systolic.datapath.memories import Memories
from tilesim.systolic.isa.model.instructions import Instruction, MatrixMultiply, ReadWeights
from tilesim.systolic.topology import Topology
from tilesim.systolic.units.chip import Chip
from tilesim.systolic.units.data import Carried, HostMemory

Integers = NDArray[Any]


def chip_with(topology: Topology, activations: Integers, tiles: Integers) -> tuple[Chip, Memories]:
    """A chip that has all vectors (vectors, inputs) in its unified buffer, and all tiles in its weight memory."""
    memories = Memories(
        Memory("chip.unified_buffer", topology.unified_buffer.size_bytes),
        Memory("chip.weight_memory", tiles.nbytes),
        np.zeros((1, topology.accumulators.entries, topology.array.outputs), np.int32),
    )
    memories.buffer.bytes[0, : activations.nbytes] = activations.reshape(-1).view(np.uint8)
    memories.weights.bytes[0] = tiles.reshape(-1).view(np.uint8)
    return Chip(topology, Carried(topology, memories, HostMemory([], [], [1], 1)), Recorder()), memories


def shifts_of(chip: Chip, tiles: Integers) -> list[Shift]:
    """When the weight path began with each tile."""
    assert chip.recorder is not None
    trace = chip.recorder.trace()
    own = trace.track == trace.tracks.index("chip.weight_path")
    busy = np.flatnonzero(own & (trace.kind == trace.kinds.index("busy")))
    return [Shift(int(trace.start_cycle[span]), tile) for span, tile in zip(busy, tiles, strict=True)]


@st.composite
def programs(draw: Any) -> tuple[Topology, Integers, Integers, list[MatrixMultiply]]:
    """A small chip, its vectors and tiles, and multiplies, each of vectors and accumulators of its own."""
    size = st.integers(1, 4)
    rows, columns, along = draw(size), draw(size), draw(st.sampled_from(["columns", "rows"]))
    pace = draw(st.sampled_from([1, 8, 64]))
    chip = topology(rows, columns, array={"weights": along}, weight_memory={"channel_bytes": pace})
    inputs, outputs = chip.array.inputs, chip.array.outputs
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    kinds = st.sampled_from(["int8", "int16"])
    activations, weights = draw(kinds), draw(kinds)
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=7))
    switches = [True, *(draw(st.booleans()) for _ in lengths[1:])]
    vectors = _integers(rng, (sum(lengths), inputs), activations)
    tiles = _integers(rng, (sum(switches), inputs, outputs), weights)
    ops = [
        MatrixMultiply(
            window=vectors_at(first * inputs * vectors.itemsize, count, inputs, vectors.itemsize), vectors=count,
            rows=draw(st.integers(1, inputs)), columns=draw(st.integers(1, outputs)), switch=switch, accumulator=first,
            activations=activations, weights=weights,
        )
        for first, count, switch in zip(np.cumsum([0, *lengths]).tolist(), lengths, switches, strict=False)
    ]  # fmt: skip
    return chip, vectors, tiles, ops


def _integers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Integers:
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max + 1, shape).astype(kind)


@given(programs())
@settings(max_examples=60)
def test_units_and_cells_agree(program: tuple[Topology, Integers, Integers, list[MatrixMultiply]]) -> None:
    """Sums in the accumulators, the cycle of each that the formula says, and the cycle in which a multiply retires."""
    topology, vectors, tiles, ops = program
    chip, memories = chip_with(topology, vectors, tiles)
    listing: list[Instruction] = []
    for op in ops:
        address = sum(isinstance(each, ReadWeights) for each in listing) * tiles[0].nbytes
        listing += [ReadWeights(address=address, weight_bytes=tiles.itemsize)] * op.switch
        listing.append(op)
    found = times(chip, *listing)

    lines = [np.where(np.arange(vectors.shape[1]) < op.rows, vectors[_entries(op)], 0) for op in ops]
    begun = [found[f"matrix.{number}"][0] for number in range(len(ops))]
    multiplies = [Multiply(begin, x, op.switch) for begin, x, op in zip(begun, lines, ops, strict=True)]
    outputs = topology.array.outputs
    results = run((topology.array.inputs, outputs), shifts_of(chip, tiles), multiplies)
    for number, op in enumerate(ops):
        own = {key[1:]: result for key, result in results.items() if key[0] == number}
        assert found[f"matrix.{number}"][1] == max(result.cycle for result in own.values())
        for (vector, output), result in own.items():
            assert result.cycle == topology.array.result_cycle(begun[number], vector, output, op.passes)
            if output < op.columns:
                there = memories.accumulators[0, op.accumulator + vector, output]
                assert there == np.int64(result.sum).astype(np.int32)


def _entries(op: MatrixMultiply) -> slice:
    return slice(op.accumulator, op.accumulator + op.vectors)
