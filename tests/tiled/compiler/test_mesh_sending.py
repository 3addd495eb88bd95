"""Sets of parameters that go from neighbour to neighbour: the tree, its timing, and whole networks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tests.tiled.units.bench import Bench, chip_of
from tilesim.errors import CapacityError
from tilesim.machines.policies import CachePolicy
from tilesim.machines.verify import differences, event_result
from tilesim.tiled.caching import Decision, Home, ParameterSet
from tilesim.tiled.compiler.mesh_sending import MeshSending, hops_to
from tilesim.tiled.compiler.parameter_ways import mesh_cycles
from tilesim.tiled.compiler.parameters import ParameterSets, SetKey
from tilesim.tiled.compiler.program_builder import ProgramBuilder
from tilesim.tiled.compiler.wide_layout import WideLayout
from tilesim.tiled.isa.model.fields import bits, neighbour
from tilesim.tiled.isa.model.instructions import MeshIn, MeshOut, RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.machine import Tiled
from tilesim.tiled.topology import Grid, Topology

ROW, KEY = 256, SetKey(0, 0, "set")


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_each_tile_is_reached_once_by_as_few_hops_as_can_be(rows: int, columns: int, data: st.DataObject) -> None:
    grid, count = Grid(rows=rows, columns=columns), rows * columns
    home, tiles = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, (1 << count) - 1))
    hops = hops_to(grid, home, tiles)
    reached = {home: 0}
    for hop in hops:
        assert neighbour(grid, hop.tile, hop.side) == hop.to
        assert hop.depth == reached[hop.tile] + 1 == sum(map(distance, divmod(home, columns), divmod(hop.to, columns)))
        assert hop.to not in reached
        reached[hop.to] = hop.depth
    leaves = {hop.to for hop in hops} - {hop.tile for hop in hops}
    assert leaves <= set(bits(tiles)) <= set(reached) | {home}


def distance(a: int, b: int) -> int:
    return abs(a - b)


def sending(topology: Topology, rows: int, home: int) -> tuple[ProgramBuilder, WideLayout, list[Any]]:
    """A set of rows, kept from 0x1000 on by one tile, that goes to 0x8000 in all others: what is written."""
    sets = ParameterSets(ROW)
    everywhere = (1 << topology.tiles) - 1
    sets.keep(KEY, everywhere, "all", lambda: np.zeros(rows * ROW, np.uint8), ROW)
    wanted = ParameterSet(0, 0, 0, "set", rows * ROW, per_tile=False, tiles=everywhere)
    decisions = {KEY: Decision(wanted, Home.HOME_TILE, home)}
    layout = WideLayout(topology, sets, decisions, {}, {KEY: 0x1000}, {}, range(0x8000, 0x10000), {})
    builder = ProgramBuilder(topology, None, None, None)  # type: ignore[arg-type]
    return builder, layout, [builder, layout, KEY, 0x8000, [()] * topology.tiles, "set"]


class Heard:
    """What is remembered of a set."""

    def __init__(self) -> None:
        self.arrived: dict[Any, Any] = {}
        self.passed_on: dict[Any, Any] = {}


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize(("grid", "home"), [((1, 2), 0), ((1, 4), 0), ((1, 4), 1), ((2, 2), 3), ((3, 3), 4)])
@pytest.mark.parametrize("mesh", [{}, {"hop_cycles": 3, "credits": 9}, {"width_bytes": 2}])
def test_a_row_goes_on_once_it_has_come(grid: tuple[int, int], home: int, rows: int, mesh: dict[str, int]) -> None:
    """The estimate's formula, and a cycle each for the flag that lets a row go on and for the end."""
    topology = chip_of(*grid, mesh={"destination": "wide", **mesh})
    builder, layout, arguments = sending(topology, rows, home)
    heard = Heard()
    MeshSending(*arguments).write(heard)
    bench = Bench(topology)
    bench.wide(home)[:] = np.random.default_rng(1).integers(0, 256, bench.wide(home).shape, np.uint8)
    for op in builder.rest:
        assert isinstance(op, MeshIn | MeshOut)
        for tile in bits(op.tiles):
            bench.deliver(op, tile)
    bench.clock.run()
    depth = max(hop.depth for hop in hops_to(topology.grid, home, layout.sets.tiles(KEY)))
    estimate = mesh_cycles(layout.decisions[KEY], topology)
    assert estimate <= max(bench.retired.values()) <= estimate + 2 * depth + rows
    sent = bench.wide(home)[:, 0x1000 : 0x1000 + rows * ROW]
    for tile in range(topology.tiles):
        if tile != home:
            assert np.array_equal(bench.wide(tile)[:, 0x8000 : 0x8000 + rows * ROW], sent)
    relays = {hop.tile for hop in hops_to(topology.grid, home, layout.sets.tiles(KEY))} - {home}
    assert set(heard.passed_on.get(KEY, {})) == relays
    assert {tile for _, tile in heard.arrived} == set(range(topology.tiles)) - {home}


def compiled(name: str, chip: str, kib: int, over: str, **keys: str) -> Program:
    size = {"wide_memory.size_bytes": f"{kib} KiB", "mesh.destination": "wide", **keys}
    network, topology = tilesim.load_network(name), tilesim.load_topology(chip, size)
    [program] = tilesim.compile_networks([network], topology, CachePolicy(parameters_over=over))
    return program


def random_inputs(program: Program) -> list[Any]:
    random = np.random.default_rng(5)
    return [random.integers(-128, 128, tensor.shape).astype(tensor.dtype) for tensor in program.inputs]


@pytest.mark.parametrize("keys", [{}, {"ring.queue": "shared"}, {"tile.strict_compare": "true"}])
@pytest.mark.parametrize(
    ("name", "chip", "kib"),
    [("digits", "edge-1x2", 20), ("digits", "edge-2x2", 16), ("example-residual", "edge-2x2", 18)],
)
def test_networks_are_exact_and_proven_and_both_models_agree(
    name: str, chip: str, kib: int, keys: dict[str, str]
) -> None:
    program = compiled(name, chip, kib, "mesh", **keys)
    hops = [op for op in program.run if isinstance(op, MeshOut) and op.label.startswith("stream")]
    assert hops
    assert {layer.parameters for layer in program.layers} & {"home tile", "home tile and streamed"}
    assert tilesim.check(program).proven
    network, inputs = tilesim.load_network(name), random_inputs(program)
    golden = network.evaluate([network.tensors[network.inputs[0]].from_model(inputs[0])])[network.outputs[0]]
    [output] = tilesim.simulate(program, inputs).outputs
    np.testing.assert_array_equal(output, network.tensors[network.outputs[0]].to_model(golden))
    event = event_result(Tiled(), program, inputs)
    assert not [*differences(event, Tiled().step(program, inputs, trace=True))]


def test_a_narrow_ring_leaves_some_to_the_mesh_and_a_wide_one_none() -> None:
    cycles = {}
    for over in ("auto", "ring"):
        program = compiled("digits", "edge-2x2", 16, over, **{"ring.width_bytes": "2"})
        labels = {op.label for op in program.run if isinstance(op, MeshOut) and op.label.startswith("stream")}
        assert bool(labels) == (over == "auto")
        cycles[over] = tilesim.simulate(program, random_inputs(program)).cycles
    assert cycles["auto"] < cycles["ring"]
    assert compiled("digits", "edge-2x2", 16, "auto").run == compiled("digits", "edge-2x2", 16, "ring").run


def test_over_the_ring_all_do() -> None:
    program = compiled("digits", "edge-2x2", 16, "ring")
    streams = [op for op in program.run if op.label.startswith("stream")]
    assert any(isinstance(op, RingProduce) for op in streams)
    assert not any(isinstance(op, MeshIn | MeshOut) for op in streams)


def test_a_mesh_between_narrow_memories_carries_no_parameters() -> None:
    sentence = "edge-1x2: mesh.destination must be wide for parameters over the mesh, not narrow"
    network, chip = tilesim.load_network("digits"), tilesim.load_topology("edge-1x2")
    with pytest.raises(CapacityError, match=f"^{re.escape(sentence)}$"):
        tilesim.compile_networks([network], chip, CachePolicy(parameters_over="mesh"))


def test_another_way_there_is_not() -> None:
    network, chip = tilesim.load_network("digits"), tilesim.load_topology("edge-1x2")
    with pytest.raises(tilesim.InputError, match="parameters_over: must be auto, ring or mesh, not 'air'"):
        tilesim.compile_networks([network], chip, CachePolicy(parameters_over="air"))
