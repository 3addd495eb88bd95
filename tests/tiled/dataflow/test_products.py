"""What the core makes of products is what the MAC array makes of them, group after group."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tilesim
from tests.tiled.dataflow.agreement import COMPILED, inputs_for
from tests.tiled.dataflow.carried import (
    CONVOLUTION,
    FINAL,
    LANES,
    OPS,
    PARAMETERS,
    ROW,
    SUMS,
    bench_of,
    by_core,
    carries,
    decoded_of,
)
from tests.tiled.units.bench import at
from tilesim.machines.options import RunOptions
from tilesim.tiled.dataflow.products import Products
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.run.simulate import simulate
from tilesim.tiled.units.tensor.strided_product import StridedProduct
from tilesim.tiled.units.tensor.windows import Box

pytestmark = COMPILED
EXTREMES = np.array([-(1 << 31), -(1 << 30), -1, 0, 1, (1 << 30) - 1, 1 << 30, (1 << 31) - 1])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Products:
    """The same for machines without the vectors of this one."""
    from tilesim.tiled.core import build, timing  # which may not be there

    path: Path = tmp_path_factory.mktemp("plain") / "core.so"
    build.build(path, "-DPLAIN", *build.STRICT)
    return Products(timing.loaded(path))


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
@pytest.mark.parametrize("samples", [1, 3])
def test_each_sample_multiplies_its_own_weights(op: TensorOp, samples: int) -> None:
    bench = bench_of(samples)
    assert samples == 1 or (bench.wide()[0] != bench.wide()[1]).any()
    assert carries(bench, op)


def test_weights_serve_again_where_they_are_the_same() -> None:
    bench = bench_of(4)
    bench.wide()[1] = bench.wide()[0]
    bench.wide()[3] = bench.wide()[2]
    bench.wide()[3, PARAMETERS : PARAMETERS + 4] ^= 0x11  # but not the parameters
    assert carries(bench, CONVOLUTION)


@pytest.mark.parametrize("rule", ["double", "single"])
@pytest.mark.parametrize("shift", range(-31, 31))
def test_sums_are_scaled_as_the_rule_says(plain: Products, rule: str, shift: int) -> None:
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
    op = replace(FINAL, rule=rule)
    assert carries(bench, op)
    assert carries(bench, op, by=plain)


@pytest.mark.parametrize("shift", [-32, 31, 1 << 30, -(1 << 31)])
def test_a_shift_that_no_compiler_writes_is_left_to_others(shift: int) -> None:
    bench = bench_of(2)
    bench.wide()[1, PARAMETERS + 5 * ROW + 11 * 4 :][:4].view(np.int32)[0] = shift
    assert not carries(bench, CONVOLUTION)


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


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_vectors_change_nothing(plain: Products, op: TensorOp) -> None:
    assert carries(bench_of(3), op, by=plain)


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


def test_the_compiled_engine_has_the_core_carry_products_out(monkeypatch: pytest.MonkeyPatch) -> None:
    program = tilesim.compile(tilesim.load_network("pocket"), tilesim.load_topology("edge-2x2"))
    assert isinstance(program, Program)
    carried: list[TensorOp] = []
    move = Products.move

    def seen(self: Products, product: StridedProduct, box: Box, memories: NDArray[np.uintp]) -> bool:
        carried.append(product.op)
        return move(self, product, box, memories)

    monkeypatch.setattr(Products, "move", seen)
    simulate(program, inputs_for(program), RunOptions(engine="compiled"))
    wanted = [op for op in program.run if isinstance(op, TensorOp) and op.operation is Operation.CONVOLUTION]
    assert {op.label for op in carried} == {op.label for op in wanted}
