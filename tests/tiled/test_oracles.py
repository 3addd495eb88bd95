"""Worked examples with known results, on one tile.

Others stand beside the unit that they are about: 1 to 4 in ``units/test_ttu``, 5 and 28 in ``units/test_mac_array``,
9 and 10 in ``units/test_ring``, 15 in ``test_two_counters`` and ``sim/test_fifo``, 16 (also in
``units/test_strict_compare``) and the data widths of 36 in ``units/test_tensor_control``,
17 and 18 in ``units/test_instruction_bus``, 19 and 26 in ``units/test_mesh``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tests.tiled.programs import program
from tests.tiled.units.bench import Bench, at, chip_of, nest
from tilesim.machines.policies import CachePolicy
from tilesim.tiled.isa.checks.program import faults
from tilesim.tiled.isa.model.fields import Alternate, Loop
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.units.tensor.operands import Operands

pytestmark = pytest.mark.usefixtures("on_simpy")

KERNEL, SIDE, INPUTS, OUTPUTS = 3, 4, 8, 16
ROW, PIXEL, LINE = 64, INPUTS, (SIDE + KERNEL - 1) * INPUTS
CONVOLUTION = TensorOp(
    tiles=1,
    operation=Operation.CONVOLUTION,
    nest=nest(y=SIDE, x=SIDE, zi=INPUTS, ky=KERNEL, kx=KERNEL, zo=OUTPUTS),
    reduce=("zi", "ky", "kx"),
    input=at(0, y=LINE, x=PIXEL, zi=1, ky=LINE, kx=PIXEL),
    weights=at(0, zi=9 * OUTPUTS, ky=3 * OUTPUTS, kx=OUTPUTS),
    sums_in=at(0x1000, y=SIDE * ROW, x=ROW),
    output=at(0x400, y=SIDE * OUTPUTS, x=OUTPUTS),
    label="convolution",
)


@pytest.mark.parametrize(("ports", "cycles"), [(1, 1168), (2, 1152)])
def test_oracle_6_a_convolution_with_partial_sums_on_16_macs(ports: int, cycles: int) -> None:
    """1152 issue cycles and 16 reads of sums: 1168 on a single wide port; then the 4 words of the last 16 outputs."""
    bench = Bench(
        chip_of(
            tile={"lanes": OUTPUTS, "inputs_per_cycle": 1},
            wide_memory={"row_bytes": ROW, "ports": ports},
        )
    )
    operands = Operands(CONVOLUTION)
    assert iterations(CONVOLUTION.nest) == 1152 * OUTPUTS
    assert operands.input.at(0, operands.count).size == 1152
    assert operands.sums_in is not None
    assert np.unique(operands.sums_in.at(0, operands.count)).size == 16
    assert operands.steps == 72
    assert bench.cycles(CONVOLUTION) == cycles + 4
    assert bench.unit("tile0.mac_array")["busy"] == 1152


def test_oracle_7_a_nest_of_nine_loops_is_refused_and_one_of_eight_is_not() -> None:
    def found(depth: int) -> list[str]:
        loops = [*(Loop(f"l{k}", 1) for k in range(depth - 6)), *CONVOLUTION.nest.loops]
        sums_out = at(0x2000, y=SIDE * ROW, x=ROW)
        op = replace(CONVOLUTION, nest=CONVOLUTION.nest._replace(loops=tuple(loops)), output=None, sums_out=sums_out)
        chip = chip_of(tile={"lanes": OUTPUTS, "inputs_per_cycle": 1}, wide_memory={"row_bytes": ROW})
        return faults(replace(program(""), topology=chip, run=(op,)))

    assert found(8) == []
    assert found(9) == ["convolution tensorop: nest must have at most 8 loops, not 9"]


@pytest.mark.parametrize("traversal", ["adder", "multiplier"])
def test_oracle_4_two_hundred_outputs_on_64_lanes(traversal: str) -> None:
    """Four rounds of 64, 64, 64 and 8 lanes: 16, 16, 16 and 2 words, and nothing behind the last of them."""
    weights, steps, output = 0x0, 20, 0x400
    op = TensorOp(
        tiles=1,
        operation=Operation.CONVOLUTION,
        nest=nest(Alternate("zb", 8), zb=4, k=steps, lane=64),
        reduce=("k",),
        input=at(0, k=4),
        weights=at(weights, zb=steps * 256, k=256),
        parameters=at(0x40000, zb=3 * 256),
        output=at(output, zb=64),
        rule="double",
        clamp=(5, 9),
    )
    bench = Bench(chip_of(tile={"traversal": traversal, "multiplier_cycles": 0}))
    assert Operands(op).lanes.tolist() == [64, 64, 64, 8]
    assert bench.cycles(op) == 4 * (steps + 3) + 2
    assert bench.unit("tile0.mac_array")["busy"] == 4 * steps
    found = bench.narrow()[0, output:]
    assert (found[:200] == 5).all()
    assert not found[200:].any()


@pytest.mark.parametrize(("words", "accepted"), [(12, True), (13, False)])
def test_oracle_8_a_transfer_must_be_whole_rows(words: int, accepted: bool) -> None:
    """Rows of 32 bytes, words of 8: 96 bytes are three rows, 104 are not; 100 are not even words."""
    chip = {"wide_memory__row_bytes": 32, "narrow_memory__word_bytes": 8, "tile__lanes": 8}
    text = f"wide_to_narrow tiles=1 read=[r:3 @0x0+r*32] write=[w:{words} @0x0+w*8]"
    found = faults(program(text, "edge-1x1", **chip))
    sentence = (
        "run[0] wide_to_narrow: read and write must move the same whole rows of 32 bytes, "
        "not 104 bytes of narrow words and 96 bytes of wide rows"
    )
    assert found == ([] if accepted else [sentence])


def test_oracle_8_an_address_between_words_is_refused() -> None:
    chip = {"wide_memory__row_bytes": 32, "narrow_memory__word_bytes": 8, "tile__lanes": 8}
    text = "narrow_to_wide tiles=1 read=[w:12 @0x4+w*8] write=[r:3 @0x0+r*32]"
    [sentence] = faults(program(text, "edge-1x1", **chip))
    assert sentence == "run[0] narrow_to_wide: read must begin at a multiple of 8 bytes (one word), not at 0x4"


@pytest.mark.parametrize(
    ("outputs", "inputs", "blocks", "last", "steps"),
    [(100, 256, 2, 36, 64), (1100, 512, 18, 12, 128), (1024, 1024, 16, 64, 256), (64, 4, 1, 64, 1)],
)
def test_oracle_24_blocks_and_steps_of_a_fully_connected_layer(
    tmp_path: Path, outputs: int, inputs: int, blocks: int, last: int, steps: int
) -> None:
    """N outputs are ceil(N / 64) blocks, the last one short; K inputs are ceil(K / 4) steps of each."""
    workload = tmp_path / "fc.yaml"
    workload.write_text(
        f"input: {{shape: [1, {inputs}], scale: 0.1, zero_point: 0}}\n"
        f"layers:\n  - {{name: fc, kind: fully_connected, units: {outputs}}}\n"
    )
    chip = tilesim.load_topology("edge-1x1", {"wide_memory.size_bytes": "2 MiB"})
    compiled = tilesim.compile(tilesim.load_network(workload), chip)
    [op] = [each for each in compiled.run if isinstance(each, TensorOp)]
    operands = Operands(op)
    assert (operands.count, operands.steps) == (blocks, steps)
    assert operands.lanes.tolist() == [64] * (blocks - 1) + [last]
    assert op.nest.alternate == (Alternate("zb", last) if last < 64 else None)
    run = tilesim.simulate(compiled, [np.zeros((1, inputs), np.int8)])
    assert run.statistics["macs"] == outputs * inputs
    assert run.statistics["layers"][0]["mac_busy_cycles"] == blocks * steps


@pytest.mark.parametrize(
    ("cached", "track", "read", "pj"),
    [(True, "chip.tile0.tensor", "wide_read", 1.31e6), (False, "chip.infeed", "data_memory_read", 167.8e6)],
)
def test_oracle_45_energy_of_a_fully_connected_layer(
    tmp_path: Path, cached: bool, track: str, read: str, pj: float
) -> None:
    """1024 x 1024: MACs 0.24 to 0.31 uJ; weights 1.31 uJ from SRAM, or 167.8 uJ if they come from DRAM. What is read
    beside them are three rows for each of 16 blocks.
    """
    workload = tmp_path / "fc.yaml"
    workload.write_text(
        "input: {shape: [1, 1024], scale: 0.1, zero_point: 0}\n"
        "layers:\n  - {name: fc, kind: fully_connected, units: 1024}\n"
    )
    chip = tilesim.load_topology("edge-1x1", {"wide_memory.size_bytes": "4 MiB"})
    [compiled] = tilesim.compile_networks([tilesim.load_network(workload)], chip, CachePolicy(cache=cached))
    energy = tilesim.simulate(compiled, [np.zeros((1, 1024), np.int8)]).statistics["energy"]
    macs = energy["layers"][0]["actions"]["mac_8x8"]
    assert macs["count"] == 1024 * 1024
    assert 0.24e6 < macs["pj"] < 0.315e6
    [reads] = [unit["actions"][read] for unit in energy["units"] if unit["track"] == track]
    weights = 1024 * 1024 // 256
    assert reads["count"] == weights + 16 * 3
    assert reads["pj"] * weights / reads["count"] == pytest.approx(pj, rel=1e-3)
