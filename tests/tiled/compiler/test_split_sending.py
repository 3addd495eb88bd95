"""Sets of parameters with several home tiles: exact, proven, in both models, and each transfer needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesim
from tests.tiled.mutate import without
from tests.tiled.test_many_tiles import check_bytes, check_cycles
from tests.tiled.test_streaming import streamed_bytes
from tilesim.machines.verify import differences, event_result
from tilesim.shipped import shipped
from tilesim.tiled.caching import Home
from tilesim.tiled.compiler.plan import plan_parameters
from tilesim.tiled.isa.model.fields import bits
from tilesim.tiled.isa.model.instructions import RingConsume, RingProduce
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.machine import Tiled

SPLIT = "home tiles"


def compiled(kib: int = 16, chip: str = "edge-2x4", **keys: Any) -> Program:
    """The digits on a chip none of whose tiles has room for the residual layer's set."""
    size = {"wide_memory.size_bytes": f"{kib} KiB", **keys}
    return tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology(chip, size))


def homes(program: Program) -> set[str]:
    return {layer.parameters for layer in program.layers}


def check_digits(program: Program) -> None:
    held_out = np.load(shipped("workloads") / "digits.npz")
    run = tilesim.simulate(program, held_out["in0"][:1])
    np.testing.assert_array_equal(run.outputs[0], held_out["out0"][:1])


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"ring.queue": "shared"},
        {"tile.strict_compare": "true"},
        {"ring.width_bytes": "16"},
        {"ring.hop_cycles": "3"},
    ],
)
@pytest.mark.parametrize(("kib", "chip"), [(20, "edge-2x2"), (16, "edge-2x4"), (14, "edge-4x4")])
def test_they_are_exact_and_proven_and_both_models_agree(kib: int, chip: str, keys: dict[str, str]) -> None:
    program = compiled(kib, chip, **keys)
    assert SPLIT in homes(program)
    assert tilesim.check(program).proven
    check_digits(program)
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    event = event_result(Tiled(), program, inputs)
    assert not [*differences(event, Tiled().step(program, inputs, trace=True))]


def test_nothing_comes_from_data_memory_any_more() -> None:
    program = compiled()
    assert streamed_bytes(program) == 0
    one = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-2x4"))
    zeros = [np.zeros(tensor.shape, tensor.dtype) for tensor in program.inputs]
    assert tilesim.simulate(program, zeros).cycles <= 1.2 * tilesim.simulate(one, zeros).cycles


def rows(op: RingConsume | RingProduce) -> int:
    return (op.write if isinstance(op, RingConsume) else op.read).nest.loops[0].bound


def test_each_run_crosses_the_ring_once_for_all_and_once_back() -> None:
    """The first home tile gets it from the tile with the shortest way to it, the others one from the other."""
    topology = tilesim.load_topology("edge-2x4", {"wide_memory.size_bytes": "16 KiB"})
    [(_, _, layout)] = plan_parameters([tilesim.load_network("digits")], topology, tilesim.CachePolicy())
    for key, kept in layout.runs.items():
        users = layout.sets.tiles(key)
        ops = [op for op in compiled().run if op.label.startswith(f"stream{key.layer}.{key.chunk}.")]
        sends = [op for op in ops if isinstance(op, RingProduce)]
        first, back = sends[: len(kept)], sends[len(kept) :]
        assert [(bits(op.tiles), op.to) for op in first] == [
            ([run.run.tile], users & ~(1 << run.run.tile)) for run in kept
        ]
        assert [op.to for op in back] == [1 << run.run.tile for run in kept if users >> run.run.tile & 1]
        masters, homes = (
            [bits(bitmap) for bitmap in bitmaps] for bitmaps in zip(*((op.tiles, op.to) for op in back), strict=True)
        )
        assert masters[1:] == homes[:-1]
        [[master], *_], [[home], *_] = masters, homes
        assert (home - master) % 11 == min((home - tile) % 11 for tile in bits(users) if tile != home)
        whole = layout.sets.rows_bytes(key) // 256
        for tile in bits(users):
            assert sum(rows(op) for op in ops if isinstance(op, RingConsume) and op.tiles >> tile & 1) == whole


def test_each_transfer_is_needed() -> None:
    program = compiled()
    held_out = np.load(shipped("workloads") / "digits.npz")
    inputs, expected = held_out["in0"][:1], held_out["out0"][:1]
    places = [k for k, op in enumerate(program.run) if op.label.startswith("stream4.") and isinstance(op, RingProduce)]
    assert places
    for place in places:
        try:
            outputs = tilesim.simulate(without(program, "run", place), inputs).outputs
        except tilesim.TilesimError:
            continue
        assert not np.array_equal(outputs[0], expected), program.run[place].label


def test_a_real_model_is_many_times_as_fast(models: Path) -> None:
    network = tilesim.load_network(models / "mlperf_resnet8" / "model.tflite")
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4", {"wide_memory.size_bytes": "48 KiB"}))
    assert SPLIT in homes(program)
    assert tilesim.check(program).proven
    assert streamed_bytes(program) == 0
    folder = models / "mlperf_resnet8"
    io, acts = np.load(folder / "io.npz"), np.load(folder / "acts_ref.npz")
    run = tilesim.simulate(program, [io["s0_in0"]], keep_tensors=True)
    np.testing.assert_array_equal(run.outputs[0], io["s0_out0_ref"])
    for key in acts.files:
        np.testing.assert_array_equal(run.tensors[int(key[1:])], acts[key])
    check_cycles(run, idle=0.2)  # turns on the ring take fences, which hold instructions
    check_bytes(program, run)
    assert run.cycles < 12_000  # 37,780 with what has no single home tile from data memory


def test_parts_that_their_tiles_have_no_room_for_come_from_others(models: Path) -> None:
    network = tilesim.load_network(models / "mlperf_ad_ae" / "model.tflite")
    topology = tilesim.load_topology("edge-4x4", {"wide_memory.size_bytes": "48 KiB"})
    [(_, _, layout)] = plan_parameters([network], topology, tilesim.CachePolicy())
    assert Home.HOME_TILES in {decision.home for decision in layout.decisions.values()}
    program = tilesim.compile(network, topology)
    assert tilesim.check(program).proven
    io = np.load(models / "mlperf_ad_ae" / "io.npz")
    np.testing.assert_array_equal(tilesim.simulate(program, [io["s0_in0"]]).outputs[0], io["s0_out0_ref"])
