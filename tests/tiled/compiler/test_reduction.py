"""Means over whole maps by sums of their parts: every tensor is the golden one, on both models, whatever the chip."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilesim
from tests.soak import counts
from tests.tiled.test_nothing_is_faked import Subject
from tests.tiled.test_random_networks import CHANNELS, chips, exact, loaded
from tilesim.arithmetic.requantise import float_bits, requantise
from tilesim.machines.verify import differences, event_result
from tilesim.network.graph import Network, Operator
from tilesim.network.operators import AveragePool, Mean
from tilesim.network.operators.windows import Padding
from tilesim.tiled.compiler import reduction
from tilesim.tiled.compiler.feature_map import MapShape
from tilesim.tiled.compiler.lower.totals import requantisation
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.instructions import RingProduce, ScalarFence, TensorOp
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.machine import Tiled
from tilesim.tiled.rules.proof import proof_of

EXAMPLES = counts(8, 200)


@st.composite
def heads(draw: Any) -> dict[str, Any]:
    """A map that a convolution or nothing makes, the mean of it, and perhaps vectors made of that."""
    height, width, channels = draw(st.integers(1, 14)), draw(st.integers(1, 14)), draw(CHANNELS)
    layers: list[dict[str, Any]] = []
    if draw(st.booleans()):
        channels = draw(CHANNELS)
        layers.append({"name": "conv", "kind": "convolution", "kernel": [1, 1], "filters": channels, "padding": "same"})
    layers.append({"name": "mean", "kind": "average_pool", "window": [height, width], "padding": "valid"})
    for number in range(draw(st.integers(0, 2))):
        units = draw(st.sampled_from([1, 10, 64, 100, 300, 1001]))
        layers.append({"name": f"fc{number}", "kind": "fully_connected", "units": units})
    given_shape = [1, height, width, draw(CHANNELS) if len(layers) > 1 else channels]
    return {"seed": draw(st.integers(0, 9)), "input": {"shape": given_shape, "zero_point": 3}, "layers": layers}


def factor(draw: Any, count: int) -> tuple[str, int, int]:
    rule = draw(st.sampled_from(["double", "single", "float"]))
    if rule == "float":
        return rule, int(float_bits(draw(st.floats(0.5, 2)) / count)[0]), 0
    return rule, draw(st.integers(1 << 30, (1 << 31) - 1)), draw(st.integers(-1, 1)) - count.bit_length()


def with_other_rule(draw: Any, network: Network) -> Network:
    """The pool over the whole map as what other readers make of one."""
    nodes = []
    for node in network.nodes:
        operator: Operator = node.operator
        if isinstance(operator, AveragePool):
            choice = draw(st.sampled_from(["divide", "float", "real", "mean", "mean"]))
            output = network.tensors[node.output]
            if choice == "mean":
                count = operator.window[0] * operator.window[1]
                points = draw(st.integers(-128, 127)), draw(st.integers(-20, 20))
                operator = Mean(output.shape, *points, *factor(draw, count), operator.clamp)
            elif choice != "divide":
                operator = replace(operator, rule=choice, scales=(0.05, 0.04), input_zero_point=7, output_zero_point=-9)
        nodes.append(replace(node, operator=operator))
    return replace(network, nodes=tuple(nodes))


def compiled(network: Network, chip: dict[str, Any]) -> Program | None:
    try:
        return tilesim.compile(network, tilesim.load_topology("edge-4x4", chip), partition="mixed")
    except tilesim.CapacityError:
        return None


def random_inputs(network: Network) -> list[np.ndarray[Any, Any]]:
    shape = network.tensors[network.inputs[0]].shape
    return [np.random.default_rng(0).integers(-128, 128, shape, np.int8)]


def sums_sent(program: Program) -> list[RingProduce]:
    return [op for op in program.run if isinstance(op, RingProduce) and op.label.startswith("sums")]


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("halves", [False, True])
def test_means_of_maps_in_several_tiles_are_exact(
    halves: bool, examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them at once, or wherever there are two tiles the halves first."""
    monkeypatch.setattr(reduction, "halves_pay", lambda parts, _: halves and parts > 1)
    added = 0

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(heads(), chips(), st.data())
    def check(workload: dict[str, Any], chip: dict[str, Any], data: Any) -> None:
        nonlocal added
        network = with_other_rule(data.draw, loaded(workload, tmp_path))
        if program := compiled(network, chip):
            exact(network, program)
            assert proof_of(program).proven
            inputs = random_inputs(network)
            assert not differences(event_result(Tiled(), program, inputs), Tiled().step(program, inputs, trace=False))
            added += bool(sums_sent(program))

    check()
    assert added >= examples // 4


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 1 << 16), st.integers(-(1 << 31), (1 << 31) - 1))
def test_a_product_divides(count: int, total: int) -> None:
    """As parameter rows have it: the rule ``divide`` takes a half away from zero, and so does the product."""
    pool = AveragePool((count, 1), (1, 1), Padding(), False, 0, 0, "divide", (1.0, 1.0), (-128, 127))
    rule, *factors = requantisation(pool, MapShape(count, 1, 4))
    near = range(total // count * count - 1, total // count * count + 2)
    halves = (total // count * count + count // 2 + k for k in (-1, 0, 1))
    sums = np.array([total, *near, *halves], np.int64).clip(-(1 << 31), (1 << 31) - 1).astype(np.int32)
    found = requantise(rule, sums, *(np.array([factor], np.int32) for factor in factors))
    expected = requantise("divide", sums, np.array([count], np.int32), np.array([0], np.int32))
    assert np.array_equal(found, expected)


def head(folder: Path, height: int, channels: int, units: int = 10) -> Network:
    layers = [
        {"name": "mean", "kind": "average_pool", "window": [height, height], "padding": "valid"},
        {"name": "fc", "kind": "fully_connected", "units": units},
    ]
    shape = [1, height, height, channels]
    return loaded({"seed": 1, "input": {"shape": shape, "zero_point": 3}, "layers": layers}, folder)


def test_float_sums_and_what_one_tile_has_stay_as_they_were(tmp_path: Path) -> None:
    network = head(tmp_path, 8, 64)
    pool, *rest = network.nodes
    assert isinstance(pool.operator, AveragePool)
    real = replace(pool, operator=replace(pool.operator, rule="real"))
    for other, chip in ((replace(network, nodes=(real, *rest)), "edge-4x4"), (network, "edge-1x1")):
        program = tilesim.compile(other, tilesim.load_topology(chip), partition="mixed")
        assert not [op.label for op in program.run if ".sums" in op.label]
        assert not [op for op in program.run if isinstance(op, TensorOp) and op.sums_in is not None]


@pytest.mark.parametrize(("height", "channels", "units"), [(8, 64, 10), (7, 96, 300), (4, 132, 10)])
@pytest.mark.parametrize("chip", ["edge-1x2", "edge-2x2", "edge-4x4", "fig2-5x2"])
def test_sums_are_faster(height: int, channels: int, units: int, chip: str, tmp_path: Path) -> None:
    network, topology = head(tmp_path, height, channels, units), tilesim.load_topology(chip)
    mixed, spatial = (exact(network, tilesim.compile(network, topology, partition=how)) for how in ("mixed", "spatial"))
    assert mixed.cycles < spatial.cycles


@pytest.mark.parametrize("row_bytes", [256, 512, 2048])
@pytest.mark.parametrize("halves", [False, True])
def test_sums_of_several_blocks_share_a_row(
    halves: bool, row_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five blocks of 64 channels have five registers of 256 bytes: in as many rows as those fill."""
    monkeypatch.setattr(reduction, "halves_pay", lambda *_: halves)
    network = head(tmp_path, 8, 320)
    chip = tilesim.load_topology("edge-4x4", {"wide_memory.row_bytes": row_bytes})
    program = tilesim.compile(network, chip, partition="mixed")
    assert {iterations(op.read.nest) for op in sums_sent(program)} == {-(-5 * 256 // row_bytes)}
    assert proof_of(program).proven
    exact(network, program)
    inputs = random_inputs(network)
    assert not differences(event_result(Tiled(), program, inputs), Tiled().step(program, inputs, trace=False))


@pytest.mark.parametrize("name", ["mlperf_resnet8", "coral_tf2_mnv2_ptq"])
def test_larger_rows_cost_what_they_move(models: Path, name: str) -> None:
    """Parts of the input are padded to whole rows, of which the host's link carries 8 bytes a cycle."""
    network = tilesim.load_network(models / name / "model.tflite")
    whole = {row_bytes: cycles_with(network, {"wide_memory.row_bytes": row_bytes}) for row_bytes in (256, 2048)}
    moved = {row_bytes: rows * row_bytes // 8 for row_bytes, (_, rows) in whole.items()}
    (narrow, _), (wide, _) = whole.values()
    assert wide - narrow <= 1.5 * (moved[2048] - moved[256])


def cycles_with(network: Network, keys: dict[str, Any]) -> tuple[int, int]:
    """How long an inference takes, and how many rows the host sends and gets."""
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4", keys))
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    rows = sum(tensor.rows for tensor in (*program.inputs, *program.outputs))
    return tilesim.simulate(program, inputs).cycles, rows


@pytest.fixture(scope="module")
def two_masters(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Sums of 256 channels in 16 tiles, a half of which adds up its own while the other one does."""
    network = head(tmp_path_factory.mktemp("two"), 8, 256)
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4"), partition="mixed")
    return Subject(replace(program, tensors=(), pieces=()), random_inputs(network)[0])


def across(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of tiles in either half."""
    tiles = [{int(name.split()[1]) // 8 for name in each["masters"] if name != "source"} for each in findings]
    return [each for each, halves in zip(findings, tiles, strict=True) if halves == {0, 1}]


def test_two_masters_are_on_the_ring_at_once_and_never_meet(two_masters: Subject) -> None:
    """Under way at once are transfers of both halves, whose groups have no node in common: they are only forbidden
    where one producer is allowed at a time.
    """
    program, inputs = two_masters.program, [two_masters.inputs]
    assert proof_of(program).proven
    assert not differences(event_result(Tiled(), program, inputs), Tiled().step(program, inputs, trace=False))
    found = {
        reading: tilesim.simulate(program, inputs, rules="observe", masters=reading).statistics["findings"]
        for reading in ("meet", "disjoint", "single")
    }
    assert found["meet"] == []
    assert across(found["disjoint"]) == []
    together = across(found["single"])
    assert len(together) > 7
    for each in together:
        ours, theirs = (set(nodes) for nodes in each["nodes"])
        assert each["kind"] == "under way at once"
        assert ours.isdisjoint(theirs)


def without_turn(program: Program, label: str) -> Program:
    """A program in which a master does not wait for its turn."""
    run = tuple(
        replace(op, wait=tuple(watcher for watcher in op.wait if watcher.flag is not Flag.RING_PRODUCER_A))
        if isinstance(op, RingProduce) and op.label == label
        else op
        for op in program.run
    )
    return replace(program, run=run)


def test_every_turn_of_the_halves_is_needed(two_masters: Subject) -> None:
    program = two_masters.program
    labels = [op.label for op in sums_sent(program)]
    assert len(labels) == 7 + 7 + 2
    spare = [label for label in labels if proof_of(without_turn(program, label)).proven]
    assert spare == ["sums1.send7"], "that one has the rows of its half only when these have all come"


def test_what_both_halves_send_waits_for_the_fence(two_masters: Subject) -> None:
    program = two_masters.program
    rest = tuple(op for op in program.run if not (isinstance(op, ScalarFence) and op.count == 1))
    assert len(rest) == len(program.run) - 1
    refutations = proof_of(replace(program, run=rest)).refutations
    assert any("can meet at" in each.sentence for each in refutations)


def test_without_an_instruction_the_answer_changes_or_the_run_ends(two_masters: Subject) -> None:
    """But for what keeps the halves apart from what comes next: of that ``check`` tells."""
    program, outcomes = two_masters.program, two_masters.without()
    benign = {label for label, outcome in outcomes.items() if outcome == "benign"}
    assert {label for label in benign if not label.startswith(("turn", "start"))} == set()
    assert len(outcomes) == len(program.load) + len(program.run)
