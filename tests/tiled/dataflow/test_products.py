"""What the core makes of products is what the MAC array makes of them, group after group."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from tests.tiled.dataflow.agreement import COMPILED
from tests.tiled.dataflow.carried import by_core
from tests.tiled.units.bench import Bench, at, chip_of, nest
from tilesim.tiled.dataflow.products import Products
from tilesim.tiled.isa.model.fields import Alternate
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.units.tensor.decoder import Decoded

pytestmark = COMPILED
OUTPUT, PARAMETERS, SUMS, ROW = 0x8000, 0x40000, 0x60000, 256
LANES = 64
EXTREMES = np.array([-(1 << 31), -(1 << 30), -1, 0, 1, (1 << 30) - 1, 1 << 30, (1 << 31) - 1])
CONVOLUTION = TensorOp(
    tiles=1, operation=Operation.CONVOLUTION, nest=nest(zb=2, y=3, x=5, k=3, z=2, lane=12), reduce=("k", "z"),
    input=at(64, y=200, x=8, k=48, z=8), weights=at(0, zb=6 * ROW, k=2 * ROW, z=ROW),
    parameters=at(PARAMETERS, zb=3 * ROW), output=at(OUTPUT, y=120, zb=12, x=24), input_zero_point=-7,
    weight_zero_point=3, output_zero_point=5, clamp=(-120, 110), rule="double",
)  # fmt: skip
DEPTHWISE = TensorOp(
    tiles=1, operation=Operation.DEPTHWISE, nest=nest(y=3, x=4, cg=3, ky=3, kx=2, lane=4), reduce=("ky", "kx"),
    input=at(8, y=192, x=12, cg=4, ky=192, kx=12), weights=at(0, cg=4, ky=24, kx=12),
    parameters=at(PARAMETERS, cg=16), output=at(OUTPUT, y=48, x=12, cg=4), input_type=ElementType.U8,
    weight_type=ElementType.U8, input_zero_point=128, weight_zero_point=130, rule="single",
)  # fmt: skip
FINAL = TensorOp(
    tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=3, lane=LANES), reduce=(), input=at(0, x=4),
    weights=at(0), parameters=at(PARAMETERS), output=at(OUTPUT, x=LANES), rule="double",
)  # fmt: skip
"""Sums that are hardly more than a bias."""


def bench_of(samples: int = 1, shifts: int = -9) -> Bench:
    """Random memories, with parameters of which something is left."""
    bench = Bench(chip_of(narrow_memory={"size_bytes": 65536}), samples, 1)
    bench.randomise()
    registers = bench.wide()[:, PARAMETERS : PARAMETERS + 6 * ROW].view(np.int32).reshape(samples, 2, 3, ROW // 4)
    registers[:, :, 0] %= 3000
    registers[:, :, 1] |= 1 << 30
    registers[:, :, 1] &= (1 << 31) - 1
    registers[:, :, 2] = shifts
    return bench


def decoded_of(bench: Bench, op: TensorOp) -> Decoded:
    tile = bench.chip.tiles[0]
    return tile.tensor.decoder.tensorop(op, tile.memories)


def must_carry(bench: Bench, op: TensorOp, carries: bool = True, by: Products | None = None) -> None:
    """The core does so, or leaves it to others; and all bytes are those that come group after group."""
    decoded, results = decoded_of(bench, op), bench.chip.tiles[0].tensor.results
    before = bench.narrow().copy(), bench.wide().copy()
    results.compute(structs.replace(decoded, regular=None), 0, decoded.operands.count)
    expected = bench.narrow().copy(), bench.wide().copy()
    bench.narrow()[:], bench.wide()[:] = before
    at_once = by_core(bench, decoded, by)
    assert at_once is not None
    [(_, _, box)] = decoded.pieces(0, decoded.operands.count)
    assert box is not None
    assert at_once(box) == carries
    if not carries:
        results.compute(decoded, 0, decoded.operands.count)
    assert np.array_equal(bench.narrow(), expected[0])
    assert np.array_equal(bench.wide(), expected[1])


@pytest.mark.parametrize("op", [CONVOLUTION, DEPTHWISE])
@pytest.mark.parametrize("samples", [1, 3])
def test_each_sample_multiplies_its_own_weights(op: TensorOp, samples: int) -> None:
    bench = bench_of(samples)
    assert samples == 1 or (bench.wide()[0] != bench.wide()[1]).any()
    must_carry(bench, op)


def test_weights_serve_again_where_they_are_the_same() -> None:
    bench = bench_of(4)
    bench.wide()[1] = bench.wide()[0]
    bench.wide()[3] = bench.wide()[2]
    bench.wide()[3, PARAMETERS : PARAMETERS + 4] ^= 0x11  # but not the parameters
    must_carry(bench, CONVOLUTION)


@pytest.mark.parametrize("rule", ["double", "single"])
@pytest.mark.parametrize("shift", range(-31, 31))
def test_sums_are_scaled_as_the_rule_says(rule: str, shift: int) -> None:
    bench = bench_of(shifts=shift)
    registers = bench.wide()[0, PARAMETERS : PARAMETERS + 3 * ROW].view(np.int32).reshape(3, LANES)
    registers[0] = bench.random.integers(-(1 << 31), 1 << 31, LANES)
    registers[1] = bench.random.integers(-(1 << 31), 1 << 31, LANES)
    registers[0, :8] = EXTREMES
    registers[1, :8] = -(1 << 31)
    registers[0, 8:16] = -(1 << 31)
    registers[1, 8:16] = EXTREMES
    registers[1, 16:32] = 1 << 30
    registers[0, 16:40] = np.arange(-12, 12) * (1 << max(0, -shift - 2))  # ties, and what is beside them
    bench.narrow()[0, :8] = 0
    must_carry(bench, replace(FINAL, rule=rule))


@pytest.mark.parametrize("shift", [-32, 31, 1 << 30, -(1 << 31)])
def test_a_shift_that_no_compiler_writes_is_left_to_others(shift: int) -> None:
    bench = bench_of(2)
    bench.wide()[1, PARAMETERS + 5 * ROW + 11 * 4 :][:4].view(np.int32)[0] = shift
    must_carry(bench, CONVOLUTION, carries=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"rule": "float"},
        {"input_zero_point": 256},
        {"clamp": (-256, 100)},
        {"output_type": ElementType.I16},
        {"input_type": ElementType.I16, "widths": (16, 8), "rule": "long"},
        {"output": at(50, y=120, zb=12, x=24)},
        {"sums_in": at(SUMS, y=1000, zb=ROW, x=ROW), "sums_out": at(SUMS + 4, y=1000, zb=ROW, x=ROW)},
        {"sums_out": at(256, y=16 * ROW, zb=ROW, x=3 * ROW)},
    ],
)
def test_what_it_does_not_know_it_does_not_take(changes: dict[str, Any]) -> None:
    bench = bench_of()
    assert by_core(bench, decoded_of(bench, CONVOLUTION)) is not None
    assert by_core(bench, decoded_of(bench, replace(CONVOLUTION, **changes))) is None


def test_sums_may_grow_where_they_stand() -> None:
    sums = at(SUMS, y=15 * ROW, zb=ROW, x=3 * ROW)
    must_carry(bench_of(2), replace(CONVOLUTION, output=None, parameters=None, sums_in=sums, sums_out=sums))


def test_lanes_that_a_limit_leaves_out_write_zeros_if_a_word_has_them() -> None:
    limited = nest(Alternate("zb", 5), zb=2, y=3, x=5, k=3, z=2, lane=12)
    must_carry(bench_of(2), replace(CONVOLUTION, nest=limited))


def test_words_may_lie_apart_and_meet() -> None:
    op = replace(
        CONVOLUTION,
        nest=nest(y=3, x=5, k=3, z=2, lane=12),
        output=at(OUTPUT, y=400, x=32, lane=16),
    )
    must_carry(bench_of(2), op)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Products:
    """The same for machines without the vectors of this one."""
    from tilesim.tiled.core import build, timing  # which may not be there

    path: Path = tmp_path_factory.mktemp("plain") / "core.so"
    build.build(path, "-DPLAIN", *build.STRICT)
    return Products(timing.loaded(path))


@pytest.mark.parametrize("op", [CONVOLUTION, DEPTHWISE, replace(FINAL, rule="single")])
def test_vectors_change_nothing(plain: Products, op: TensorOp) -> None:
    must_carry(bench_of(3), op, by=plain)


def test_nothing_is_left_behind_from_one_instruction_to_the_next() -> None:
    bench = bench_of()
    carried = by_core(bench, decoded_of(bench, CONVOLUTION))
    assert carried is not None
    [(_, _, box)] = decoded_of(bench, CONVOLUTION).pieces(0, decoded_of(bench, CONVOLUTION).operands.count)
    assert box is not None
    assert carried(box)
    first = bench.narrow().copy()
    bench.wide()[0, :ROW] ^= 0x55
    assert carried(box)
    assert not np.array_equal(first, bench.narrow())
    bench.wide()[0, :ROW] ^= 0x55
    assert carried(box)
    assert np.array_equal(first, bench.narrow())
