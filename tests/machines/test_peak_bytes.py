"""What a program needs of each memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.machines.program import covered_bytes
from tilesim.registry import machine_of
from tilesim.tiled.isa.model.program import Region
from tilesim.tiled.topology import Topology as Tiles

STRETCHES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda pair: (pair[0], sum(pair))))


@given(STRETCHES)
def test_bytes_of_stretches_count_once(stretches: list[tuple[int, int]]) -> None:
    assert covered_bytes(stretches) == len({byte for first, end in stretches for byte in range(first, end)})


def needed(workload: str, chip: str, cache: bool = True) -> Mapping[str, int]:
    topology = tilesim.load_topology(chip)
    network = tilesim.load_network(workload)
    [program] = tilesim.compile_networks([network], topology, tilesim.CachePolicy(cache))
    return machine_of(topology).peak_bytes(program)


@pytest.mark.parametrize(
    ("workload", "chip"), [("pocket", "pocket-2x1"), ("digits", "edge-2x2"), ("digits", "edge-1x1")]
)
def test_tiles_need_no_more_than_they_have_and_what_is_set_aside_covers_what_is_reached(
    workload: str, chip: str
) -> None:
    topology = tilesim.load_topology(chip)
    assert isinstance(topology, Tiles)
    program = tilesim.compile(tilesim.load_network(workload), topology)
    machine = machine_of(topology)
    found, reached = machine.peak_bytes(program), machine.peak_bytes(replace(program, regions=()))
    for memory, most in found.items():
        assert 0 < reached[memory] <= most <= getattr(topology, memory).size_bytes


def test_the_tile_that_needs_most_counts() -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1"))
    regions = (
        Region("a", "narrow", 0b01, 0, 100),
        Region("b", "narrow", 0b11, 50, 100),
        Region("c", "narrow", 0b10, 300, 10),
        Region("d", "wide", 0b10, 64, 32),
    )
    found = machine_of(program.topology).peak_bytes(replace(program, regions=regions))
    assert (found["narrow_memory"], found["wide_memory"]) == (150, 32)


def test_instructions_and_parameters_are_those_of_the_program() -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x2"))
    found = machine_of(program.topology).peak_bytes(program)
    assert found["data_memory"] == sum(part.data.nbytes for part in program.data)
    assert found["instruction_memory"] % 16 == 0
    assert found["instruction_memory"] >= 16 * (len(program.load) + len(program.run))


def test_what_fits_exactly_is_enough_and_less_is_not() -> None:
    """A chip whose instruction memory is as large as is needed runs the program, a smaller one does not."""
    needs = needed("pocket", "pocket-2x1")["instruction_memory"]
    network = tilesim.load_network("pocket")
    tilesim.compile(network, tilesim.load_topology("pocket-2x1", {"instruction_memory.size_bytes": needs}))
    with pytest.raises(tilesim.CapacityError, match="instruction memory"):
        tilesim.compile(network, tilesim.load_topology("pocket-2x1", {"instruction_memory.size_bytes": needs - 1}))


@pytest.mark.parametrize("chip", ["systolic-32", "tpu-v1"])
def test_a_systolic_machine_needs_no_more_than_it_has(chip: str) -> None:
    topology = tilesim.load_topology(chip)
    network = tilesim.load_network("digits")
    plan = tilesim.plan_batches(network, topology, 4, "demand")
    machine = machine_of(topology)
    one, four = (machine.peak_bytes(tilesim.compile(network, topology, batches=plan)) for plan in (None, plan))
    sizes = {
        "unified_buffer": topology.unified_buffer.size_bytes,
        "weight_memory": topology.weight_memory.size_bytes,
        "accumulators": topology.accumulators.entries * topology.array.outputs * 4,
    }
    for memory, size in sizes.items():
        assert 0 < one[memory] <= four[memory] <= size
    run = tilesim.simulate_requests([tilesim.compile(network, topology, batches=plan)], order=[0] * 4)
    batching = run.statistics["batching"]
    assert batching is not None
    assert batching["peak_buffer_bytes"] <= four["unified_buffer"]
    assert one["weight_memory"] >= network.parameter_bytes // 2
