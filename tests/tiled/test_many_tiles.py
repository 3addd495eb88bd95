"""Real models on many tiles: bit for bit, faster, and with every cycle and byte accounted for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tilesim.run import Run
from tilesim.shipped import shipped
from tilesim.tiled.isa.model.fields import bits
from tilesim.tiled.isa.model.instructions import WORD_BYTES, Classify, Infeed, MeshOut, RingProduce
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program

MODELS = ("mlperf_kws_dscnn", "mlperf_resnet8", "mlperf_vww_mnv1", "mlperf_ad_ae")
TOPOLOGIES = ("edge-1x2", "edge-2x2", "edge-2x4", "edge-4x4", "edge-8x8", "fig2-5x2")


def compiled(path: Path, topology: str, partition: str = "spatial") -> Program:
    return tilesim.compile(tilesim.load_network(path / "model.tflite"), tilesim.load_topology(topology), partition)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_exact_and_every_cycle_and_byte_of_it_accounted_for(models: Path, name: str, topology: str) -> None:
    program, io = compiled(models / name, topology), np.load(models / name / "io.npz")
    samples = range(len([key for key in io.files if key.endswith("_in0")]))
    inputs, outputs = (np.concatenate([io[f"s{k}_{end}"] for k in samples]) for end in ("in0", "out0_ref"))
    run = tilesim.simulate(program, [inputs], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], outputs)
    tensors = np.load(models / name / "acts_ref.npz")
    for key in tensors.files:
        np.testing.assert_array_equal(run.tensors[int(key[1:])][: len(tensors[key])], tensors[key])
    assert run.cycles >= run.statistics["macs"] / (program.topology.tiles * program.topology.macs_per_cycle)
    check_cycles(run)
    check_bytes(program, run)


@pytest.mark.parametrize("topology", ["edge-4x4", "fig2-5x2"])
@pytest.mark.parametrize("name", MODELS)
def test_so_is_one_that_is_mapped_by_estimate(models: Path, name: str, topology: str) -> None:
    """Where it takes fewer cycles, those before the first rows and behind the last are more of them."""
    program, io = compiled(models / name, topology, "mixed"), np.load(models / name / "io.npz")
    run = tilesim.simulate(program, [io["s0_in0"]], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], io["s0_out0_ref"])
    tensors = np.load(models / name / "acts_ref.npz")
    compared = [key for key in tensors.files if int(key[1:]) in run.tensors]
    assert len(compared) >= len(tensors.files) - 1, "an input whose zero point its reader moves is nowhere"
    for key in compared:
        np.testing.assert_array_equal(run.tensors[int(key[1:])], tensors[key][:1])
    check_cycles(run, idle=1)
    check_bytes(program, run)
    assert run.cycles <= 1.01 * tilesim.simulate(compiled(models / name, topology), [io["s0_in0"]]).cycles


def check_cycles(run: Run, idle: float = 0.1) -> None:
    """Every unit's cycles add up; a MAC array that is not busy has a reason, nearly always; a layer has a bound."""
    for unit in [*run.statistics["units"], *run.statistics["links"]]:
        assert unit["busy_cycles"] + sum(unit["stall_cycles"].values()) + unit["idle_cycles"] == run.cycles, unit
    for unit in run.statistics["units"]:
        if unit["track"].endswith("mac_array"):
            assert unit["idle_cycles"] <= idle * (run.cycles - unit["busy_cycles"]), unit
    arrays = run.statistics["chip"]["grid"]["rows"] * run.statistics["chip"]["grid"]["columns"]
    assert sum(run.statistics["breakdown"].values()) == arrays * run.cycles
    for layer in run.statistics["layers"]:
        assert sum(layer["breakdown"].values()) <= layer["tiles"] * run.cycles


def check_bytes(program: Program, run: Run) -> None:
    """What the links have carried is what had to move; every link has its line."""
    carried = {bus: moved["carried"] for bus, moved in run.statistics["bytes"].items()}
    assert carried == {bus: planned_bytes(program)[bus] for bus in carried}
    tracks, grid = [link["track"] for link in run.statistics["links"]], program.topology.grid
    neighbours = 2 * (grid.rows * (grid.columns - 1) + grid.columns * (grid.rows - 1))
    assert len([track for track in tracks if ".mesh." in track]) == neighbours
    assert len([track for track in tracks if ".ring." in track]) == program.topology.tiles + 3


def test_however_many_samples_travel_together_the_cycles_are_the_same(models: Path) -> None:
    program, x = compiled(models / "mlperf_kws_dscnn", "edge-2x2"), np.load(models / "mlperf_kws_dscnn" / "io.npz")
    one, two = x["s0_in0"], np.concatenate([x["s0_in0"], x["s1_in0"]])
    assert tilesim.simulate(program, [one]).cycles == tilesim.simulate(program, [two]).cycles


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_digits_equal_onnx_runtime_on_the_whole_held_out_set(topology: str) -> None:
    held_out = np.load(shipped("workloads") / "digits.npz")
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology(topology))
    for some in np.array_split(np.arange(len(held_out["in0"])), 2):
        run = tilesim.simulate(program, [held_out["in0"][some]])
        np.testing.assert_array_equal(run.outputs[0], held_out["out0"][some])


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_tensor_of_the_digits_is_that_of_the_golden_operators(topology: str) -> None:
    network = tilesim.load_network("digits")
    image = np.load(shipped("workloads") / "digits.npz")["in0"][:1]
    run = tilesim.simulate(tilesim.compile(network, tilesim.load_topology(topology)), [image], keep_tensors=True)
    golden = network.evaluate([network.tensors[network.inputs[0]].from_model(image)])
    expected = {index: network.tensors[index].to_model(array) for index, array in golden.items()}
    for node in network.nodes[1:]:  # the host quantises
        if node.kind == "reshape":  # the model flattens its own order of axes
            expected[node.output] = expected[node.inputs[0]].reshape(1, -1)
        np.testing.assert_array_equal(run.tensors[node.output], expected[node.output])


@pytest.mark.parametrize("name", [*MODELS, "digits"])
def test_what_does_not_fit_the_pocket_chip_is_refused_in_a_sentence(models: Path, name: str) -> None:
    network = tilesim.load_network("digits" if name == "digits" else models / name / "model.tflite")
    sentence = (
        r"must fit the ((narrow|wide) memory of pocket-2x1: .* are free|instruction memory of pocket-2x1: .*needed)"
    )
    with pytest.raises(tilesim.CapacityError, match=sentence):
        tilesim.compile(network, tilesim.load_topology("pocket-2x1"))


def test_what_fits_the_pocket_chip_uses_both_of_its_tiles() -> None:
    network, chip = tilesim.load_network("pocket"), tilesim.load_topology("pocket-2x1")
    x = np.random.default_rng(0).integers(-128, 128, (1, 4, 4, 4)).astype(np.int8)
    run = tilesim.simulate(tilesim.compile(network, chip), [x])
    alone = tilesim.simulate(tilesim.compile(network, tilesim.load_topology("edge-1x1")), [x])
    np.testing.assert_array_equal(run.outputs[0], alone.outputs[0])
    assert run.statistics["layers"][0]["tiles"] == 2


@pytest.mark.parametrize(
    ("name", "four", "sixteen"), [("mlperf_resnet8", 2.5, 6), ("mlperf_vww_mnv1", 2, 4), ("mlperf_kws_dscnn", 2, 4)]
)
def test_more_tiles_take_fewer_cycles(models: Path, name: str, four: float, sixteen: float) -> None:
    x = np.load(models / name / "io.npz")["s0_in0"]
    chips = ("edge-1x1", "edge-2x2", "edge-4x4")
    one, some, many = (tilesim.simulate(compiled(models / name, chip), [x]).cycles for chip in chips)
    assert one >= four * some
    assert one >= sixteen * many


def planned_bytes(program: Program) -> Counter[str]:
    """What the program's instructions have to move over each bus, every link counted."""
    chip, moved = program.topology, Counter[str]()
    nodes, row_bytes = chip.tiles + 3, chip.wide_memory.row_bytes

    def hops(master: int, to: int) -> int:
        return max((stop - master) % nodes for stop in bits(to))

    for op in program.run:
        if isinstance(op, MeshOut):
            moved["mesh"] += op.tiles.bit_count() * iterations(op.read.nest) * chip.narrow_memory.word_bytes
        elif isinstance(op, Infeed):
            moved["host"] += op.total_rows * row_bytes if op.source == "host" else 0
            moved["ring"] += sum(op.rows * row_bytes * hops(-1, op.to << k) for k in range(op.transfers))
        elif isinstance(op, RingProduce):
            moved["ring"] += sum(iterations(op.read.nest) * row_bytes * hops(tile, op.to) for tile in bits(op.tiles))
        elif isinstance(op, Classify):
            moved["ring"] += -(-op.elements // row_bytes) * row_bytes
        stops = 1 << chip.tiles if isinstance(op, Classify) else getattr(op, "tiles", 0)
        moved["instruction_bus"] += stops.bit_length() * op.words * WORD_BYTES
    moved["host"] += sum(output.rows for output in program.outputs) * row_bytes
    return moved
