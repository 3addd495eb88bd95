"""Networks whose maps exceed narrow memory: the layers are fused band by band, and every tensor is still exact."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import tilesim
from tests.networks import Weave
from tests.soak import counts
from tests.tiled.corpus.holds import random_holds
from tests.tiled.dataflow.agreement import COMPILED, must_agree
from tests.tiled.test_nothing_is_faked import Subject
from tilesim.network.graph import Network
from tilesim.network.operators import MaxPool, Pad, Padding
from tilesim.sim.trace.trace import Trace
from tilesim.tiled.compiler.partition import partition_network
from tilesim.tiled.compiler.placement import in_calls, in_steps
from tilesim.tiled.compiler.tile_plan import plan_operators
from tilesim.tiled.isa.model.instructions import MeshIn
from tilesim.tiled.isa.model.program import Program

EXAMPLES = counts(5, 60)
"""Those that fit in bands, of about three times as many."""
KERNELS = ((1, 1), (3, 3), (5, 2), (7, 1))


@st.composite
def chains(draw: Any) -> dict[str, Any]:
    """Blocks that make many channels of a few, and a few again."""
    height, width, channels = draw(st.integers(4, 24)), draw(st.integers(1, 14)), draw(st.integers(1, 9))
    layers: list[dict[str, Any]] = []
    for block in range(draw(st.integers(1, 3))):
        before = layers[-1]["name"] if layers else "input"
        layers.append(_convolution(draw, f"wide{block}", draw(st.integers(12, 40))))
        middle = draw(st.sampled_from(["none", "depthwise_convolution", "max_pool", "average_pool"]))
        if middle != "none":
            window = "kernel" if middle == "depthwise_convolution" else "window"
            layer = {"name": f"{middle}{block}", "kind": middle, window: [3, 3], "padding": "same"}
            layers.append({**layer, "strides": [draw(st.sampled_from([1, 1, 2])) for _ in range(2)]})
        layers.append(_convolution(draw, f"narrow{block}", channels))
        if block and all(layer.get("strides", [1, 1]) == [1, 1] for layer in layers[-3:]) and draw(st.booleans()):
            layers.append({"name": f"add{block}", "kind": "add", "other": before})
    given = {"shape": [1, height, width, channels], "zero_point": draw(st.sampled_from([-128, 0, 5]))}
    return {"seed": draw(st.integers(0, 9)), "input": given, "layers": layers}


def _convolution(draw: Any, name: str, filters: int) -> dict[str, Any]:
    kernel = list(draw(st.sampled_from(KERNELS)))
    return {"name": name, "kind": "convolution", "kernel": kernel, "filters": filters, "padding": "same"}


def network(workload: dict[str, Any], tmp_path: Path) -> Network:
    path = tmp_path / "net.yaml"
    path.write_text(yaml.safe_dump(workload))
    return tilesim.load_network(path)


def peak_bytes(network: Network, topology: tilesim.Topology) -> int:
    """The bytes of a tile's narrow memory that whole maps take in the step with most of them."""
    whole = partition_network(plan_operators(network, 4), topology)
    lives = in_steps(whole, whole.maps, in_calls(whole)).values()
    return max(
        sum(life.size for life in lives if life.first <= step <= life.last) for step in range(len(network.nodes) + 2)
    )


def banded(program: Program) -> set[str]:
    """The instructions without their bands' numbers."""
    return {op.label.partition(".band")[0] for op in program.run if ".band" in op.label}


@pytest.mark.parametrize("examples", EXAMPLES)
def test_random_networks_in_too_little_memory_are_exact(examples: int, tmp_path: Path) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(chains(), st.sampled_from([(1, 1), (1, 2), (2, 2), (3, 2)]), st.sampled_from([4, 6, 8, 9]))
    def check(workload: dict[str, Any], grid: tuple[int, int], tenths: int) -> None:
        net = network(workload, tmp_path)
        chip: dict[str, Any] = {"grid.rows": grid[0], "grid.columns": grid[1]}
        peak = peak_bytes(net, tilesim.load_topology("edge-4x4", chip))
        chip["narrow_memory.size_bytes"] = max(256, peak * tenths // 10 // 4 * 4)
        x = np.random.default_rng(0).integers(-128, 128, tuple(workload["input"]["shape"])).astype(np.int8)
        try:
            program = tilesim.compile(net, tilesim.load_topology("edge-4x4", chip))
        except tilesim.CapacityError:
            reject()
        if not banded(program):
            reject()
        run = tilesim.simulate(program, [x], keep_tensors=True)
        golden = net.evaluate([x])
        for index, tensor in run.tensors.items():
            np.testing.assert_array_equal(tensor, golden[index])

    check()


def test_parameters_that_each_band_finds_at_home_are_sent_to_nobody(tmp_path: Path) -> None:
    """Each tile makes a band of the last layer, and both bands have the same parameters, some of which one keeps."""
    deep = {"name": "deep", "kind": "depthwise_convolution", "kernel": [3, 3], "strides": [2, 2], "padding": "valid"}
    wide = {"name": "wide", "kind": "convolution", "kernel": [2, 3], "filters": 200, "strides": [2, 2]}
    net = network({"seed": 1, "input": {"shape": [1, 11, 8, 17]}, "layers": [deep, wide]}, tmp_path)
    sizes = {"narrow_memory.size_bytes": 1024, "wide_memory.size_bytes": 32768}
    program = tilesim.compile(net, tilesim.load_topology("edge-4x4", {"grid.rows": 2, "grid.columns": 1, **sizes}))
    assert program.layers[-1].bands == 2
    assert any(region.name == "stream" for region in program.regions)
    x = np.random.default_rng(0).integers(-128, 128, (1, 11, 8, 17)).astype(np.int8)
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], net.evaluate([x])[net.outputs[0]])


def test_the_only_tile_that_makes_a_band_keeps_no_run_of_the_parameters(tmp_path: Path) -> None:
    """The bands have the same parameters, which several tiles keep; other bands are made in two tiles."""
    tall = {"name": "tall", "kind": "convolution", "kernel": [5, 5], "filters": 31, "strides": [2, 1]}
    flat = {"name": "flat", "kind": "add", "input": "input", "other": "input"}
    many = {"name": "many", "kind": "fully_connected", "input": "tall", "units": 1001}
    one = {"name": "one", "kind": "fully_connected", "input": "flat", "units": 1}
    net = network({"seed": 0, "input": {"shape": [1, 6, 17, 64]}, "layers": [tall, flat, many, one]}, tmp_path)
    sizes = {"narrow_memory.size_bytes": 8704, "wide_memory.size_bytes": 32768}
    program = tilesim.compile(net, tilesim.load_topology("edge-4x4", {"grid.rows": 6, "grid.columns": 1, **sizes}))
    assert program.layers[0].bands > 1
    assert program.layers[0].parameters == "streamed and home tiles"
    x = np.random.default_rng(0).integers(-128, 128, (1, 6, 17, 64)).astype(np.int8)
    for computed, index in zip(tilesim.simulate(program, [x]).outputs, net.outputs, strict=True):
        np.testing.assert_array_equal(computed, net.evaluate([x])[index])


BLOCKS = {
    "seed": 3,
    "input": {"shape": [1, 16, 8, 4], "zero_point": 5},
    "layers": [
        {"name": "wide", "kind": "convolution", "kernel": [3, 3], "filters": 24},
        {"name": "deep", "kind": "depthwise_convolution", "kernel": [3, 3], "strides": [2, 1]},
        {"name": "few", "kind": "convolution", "kernel": [1, 1], "filters": 4},
        {"name": "wide2", "kind": "convolution", "kernel": [1, 1], "filters": 24},
        {"name": "deep2", "kind": "depthwise_convolution", "kernel": [3, 3]},
        {"name": "few2", "kind": "convolution", "kernel": [1, 1], "filters": 4},
        {"name": "sum", "kind": "add", "other": "few"},
    ],
}
SMALL = {(1, 1): 3300, (2, 2): 1500}
"""Bytes of narrow memory in which the blocks fit only in bands, the first of them with its input."""


def blocks(grid: tuple[int, int], tmp_path: Path, **changes: Any) -> Program:
    chip = {"grid.rows": grid[0], "grid.columns": grid[1], "narrow_memory.size_bytes": SMALL[grid], **changes}
    return tilesim.compile(network(BLOCKS, tmp_path), tilesim.load_topology("edge-4x4", chip))


def image() -> np.ndarray:
    return np.random.default_rng(1).integers(-128, 128, (1, 16, 8, 4)).astype(np.int8)


@COMPILED
@pytest.mark.parametrize("rate", [0, 300_000_000])
@pytest.mark.parametrize("grid", SMALL)
def test_both_engines_say_the_same_of_bands(grid: tuple[int, int], rate: int, tmp_path: Path) -> None:
    program = blocks(grid, tmp_path, **{"host.step_bytes_per_second": rate})
    must_agree(program, [image()])
    must_agree(program, [image()], random_holds(program, rate))


@pytest.mark.parametrize("grid", SMALL)
def test_the_host_sends_an_input_band_by_band_with_the_rows_between_again(
    grid: tuple[int, int], tmp_path: Path
) -> None:
    program = blocks(grid, tmp_path)
    [tensor] = program.inputs
    rows = [range(block.origin[0], block.origin[0] + block.extent[0]) for block in tensor.blocks]
    assert len(rows) > program.topology.tiles
    assert {row for each in rows for row in each} == set(range(16))
    mine = rows[:: program.topology.tiles]
    assert all(after.start < before.stop for before, after in pairwise(mine))


@pytest.mark.parametrize("grid", SMALL)
def test_no_instruction_of_a_band_can_be_left_out(grid: tuple[int, int], tmp_path: Path) -> None:
    program = blocks(grid, tmp_path)
    subject = Subject(replace(program, tensors=(), pieces=()), image())
    assert {"input0", "convolution0", "tensor0"} <= banded(program)
    found = subject.without(slice(1, None, 3))
    assert set(found.values()) <= {"exit 2", "exit 3", "changed"}


@pytest.mark.parametrize("grid", SMALL)
def test_all_cycles_of_the_bands_of_a_layer_are_its_own(grid: tuple[int, int], tmp_path: Path) -> None:
    run = tilesim.simulate(blocks(grid, tmp_path), [image()])
    layers, tiles = run.statistics["layers"], grid[0] * grid[1]
    assert sum(run.statistics["breakdown"].values()) == tiles * run.cycles
    assert sum(layer["mac_busy_cycles"] for layer in layers) == run.statistics["breakdown"]["macs"]
    whole = tilesim.simulate(blocks(grid, tmp_path, **{"narrow_memory.size_bytes": 196608}), [image()])
    again = [
        layer["mac_busy_cycles"] - each["mac_busy_cycles"]
        for layer, each in zip(layers, whole.statistics["layers"], strict=True)
    ]
    assert again[0] > 0, "rows between two bands are made twice"
    assert again[-1] == 0, "what leaves a group is made once"
    np.testing.assert_array_equal(run.outputs[0], whole.outputs[0])


def test_bands_overlap_with_what_the_host_sends(tmp_path: Path) -> None:
    """The rows of the next band come while the layers behind the first are at work."""
    program = blocks((1, 1), tmp_path)
    trace = tilesim.simulate(program, [image()], trace=True).trace
    assert trace is not None
    coming, deep = (_busy(trace, what) for what in ("input0.band1", "depthwiseconvolution1.band0"))
    assert coming.start < deep.start


def _busy(trace: Trace, what: str) -> range:
    """From the first cycle of an instruction's work to the last."""
    mine = (trace.what == trace.whats.index(what)) & (trace.kind == trace.kinds.index("busy"))
    return range(trace.start_cycle[mine].min(), (trace.start_cycle + trace.cycles)[mine].max())


def test_no_band_is_nothing_but_border() -> None:
    """The first rows of the wider map need no row of the one before: a band of them would have nothing to read."""
    weave = Weave()
    x = weave.convolution(weave.input(6, 11, 3), 12, kernel=1)
    wide = weave.add(Pad((0, 3, 1, 0), (0, 1, 3, 0), weave.zero_point(x)), x, zero_point=weave.zero_point(x))
    network = weave.network(weave.add(MaxPool((2, 2), (1, 1), Padding(), (-128, 127)), wide, zero_point=0))
    image, banded = np.random.default_rng(0).integers(-128, 128, (1, 6, 11, 3)).astype(np.int8), 0
    for size_bytes in range(1024, 4096, 128):
        chip = tilesim.load_topology("edge-1x2", {"narrow_memory.size_bytes": size_bytes})
        try:
            program = tilesim.compile(network, chip)
        except tilesim.CapacityError:
            continue
        banded += any(".band" in op.label for op in program.run)
        np.testing.assert_array_equal(
            tilesim.simulate(program, [image]).outputs[0], network.evaluate([image])[network.outputs[0]]
        )
    assert banded > 0


def test_a_tile_that_has_nothing_to_read_in_a_band_is_awaited_all_the_same(tmp_path: Path) -> None:
    """One layer uses the last column of tiles, another the first rows: what is put in between is read by neither."""
    path = tmp_path / "net.yaml"
    path.write_text(
        "seed: 1\ninput: {shape: [1, 13, 14, 31]}\nlayers:\n"
        " - {name: a, kind: convolution, filters: 16, kernel: [2, 3], strides: [3, 1], padding: valid}\n"
        " - {name: b, kind: convolution, input: input, filters: 3, kernel: [3, 3], strides: [1, 3]}\n"
        " - {name: c, kind: convolution, input: a, filters: 8, kernel: [7, 1], strides: [1, 3]}\n"
    )
    network = tilesim.load_network(path)
    chip = tilesim.load_topology("edge-4x4", {"grid": "3x4", "narrow_memory.size_bytes": 2560})
    program, x = tilesim.compile(network, chip), np.random.default_rng(0).integers(-128, 128, (1, 13, 14, 31))
    run, golden = tilesim.simulate(program, [x.astype(np.int8)]), network.evaluate([x.astype(np.int8)])
    assert any(op.label == "tensor0.band1.reuse" for op in program.run)
    for index, output in zip(network.outputs, run.outputs, strict=True):
        np.testing.assert_array_equal(output, golden[index])


COLUMNS_LEFT_OUT = {
    "seed": 0,
    "input": {"shape": [1, 5, 10, 64], "zero_point": -128},
    "layers": [
        {"name": "l0", "kind": "max_pool", "window": [1, 1], "strides": [1, 1]},
        {"name": "l1", "kind": "convolution", "input": "input", "filters": 1, "kernel": [3, 3], "strides": [1, 2]},
        {"name": "l2", "kind": "max_pool", "input": "l0", "window": [1, 1], "strides": [1, 1]},
        {"name": "l3", "kind": "max_pool", "input": "l1", "window": [5, 5], "strides": [1, 1]},
    ],
}
ROWS_LEFT_OUT = {
    "seed": 0,
    "input": {"shape": [1, 14, 3, 48], "zero_point": 5},
    "layers": [
        {"name": "l0", "kind": "convolution", "filters": 37, "kernel": [1, 1]},
        {"name": "l1", "kind": "depthwise_convolution", "input": "input", "kernel": [5, 5], "strides": [2, 1]},
        {"name": "l2", "kind": "add", "input": "l0", "other": "l0"},
    ],
}


@pytest.mark.parametrize(
    ("workload", "grid", "size_bytes", "band", "tiles"),
    [(COLUMNS_LEFT_OUT, "1x4", 4096, 0, 0b0111), (ROWS_LEFT_OUT, "3x3", 2832, 1, 0b000_111_111)],
)
def test_a_band_has_a_border_only_where_a_layer_reads_it(
    workload: dict[str, Any], grid: str, size_bytes: int, band: int, tiles: int, tmp_path: Path
) -> None:
    """Of two layers that read the input one makes nothing on some tiles: nobody there waits for the other's border."""
    net = network(workload, tmp_path)
    chip = tilesim.load_topology("edge-4x4", {"grid": grid, "narrow_memory.size_bytes": size_bytes})
    program = tilesim.compile(net, chip, "spatial")
    fills = [op for op in program.run if isinstance(op, MeshIn) and op.label.startswith(f"tensor0.band{band}.")]
    assert reduce(or_, (op.tiles for op in fills)) == tiles
    x = np.random.default_rng(0).integers(-128, 128, tuple(workload["input"]["shape"])).astype(np.int8)
    golden = net.evaluate([x])
    for index, output in zip(net.outputs, tilesim.simulate(program, [x]).outputs, strict=True):
        np.testing.assert_array_equal(output, golden[index])
