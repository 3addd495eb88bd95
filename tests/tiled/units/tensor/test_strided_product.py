"""Whole operands at once give what one address after the other gives, for nests of all kinds and any part of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.tiled.dataflow.carried import by_core
from tests.tiled.units.bench import Bench, at, chip_of, nest
from tilesim.arithmetic.add import add_scaling_fixed
from tilesim.arithmetic.average import average_scaling
from tilesim.arithmetic.requantise import float_bits, quantise_multiplier
from tilesim.tiled.isa.model.fields import Alternate
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp
from tilesim.tiled.units.tensor.decoder import Decoded

OUTPUT, PARAMETERS, SUMS, ROW = 0x8000, 0x40000, 0x60000, 256
SMALL = st.integers(1, 3)
RULES = ("double", "single", "float", "divide")


def bench_of(seed: int, samples: int = 1, alike: bool = True) -> Bench:
    """Random memories, the wide ones of all samples alike or not, with parameters in reasonable ranges."""
    bench = Bench(chip_of(narrow_memory={"size_bytes": 65536}), samples, seed)
    bench.randomise()
    words = bench.wide()[:, PARAMETERS : PARAMETERS + 32 * ROW].view(np.int32).reshape(samples, 32, ROW // 4)
    words[:] = bench.random.integers(-3000, 3000, words.shape)
    if alike:
        bench.wide()[:] = bench.wide()[:1]
    return bench


def write_scales(bench: Bench, rule: str, shift: int, rows: int, count: int = 3) -> None:
    """Multiplier and shift, the last ones of ``rows`` times ``count`` rows."""
    blocks = bench.wide()[:, PARAMETERS : PARAMETERS + count * rows * ROW].view(np.int32)
    blocks = blocks.reshape(-1, rows, count, ROW // 4)
    values = bench.random.integers(1 << 30, (1 << 31) - 1, blocks[:1, :, -2].shape)
    blocks[:, :, -2] = {"float": float_bits(values / 2.0**38).view(np.int32), "divide": 77}.get(rule, values)
    blocks[:, :, -1] = bench.random.integers(shift - 2, shift + 1, values.shape)


def decoded_of(bench: Bench, op: TensorOp) -> Decoded:
    tile = bench.chip.tiles[0]
    return tile.tensor.decoder.tensorop(op, tile.memories)


def same_either_way(bench: Bench, op: TensorOp, cuts: list[float]) -> None:
    """Group after group, and at once in pieces that end at ``cuts`` (shares of all groups), also by the core: all bytes
    are the same.
    """
    decoded, control = decoded_of(bench, op), bench.chip.tiles[0].tensor
    assert decoded.regular is not None
    count = decoded.operands.count
    before = bench.narrow().copy(), bench.wide().copy()
    control.results.compute(structs.replace(decoded, regular=None), 0, count)
    expected = bench.narrow().copy(), bench.wide().copy()
    ends = sorted({*(int(cut * count) for cut in cuts), count} - {0})
    for at_once in (None, by_core(bench, decoded)):
        bench.narrow()[:], bench.wide()[:] = before
        for first, end in zip([0, *ends], ends, strict=False):
            for low, high, box in decoded.pieces(first, end):
                if box is None or not (at_once and at_once(box)):
                    control.results.compute(decoded, low, high)
        assert np.array_equal(bench.narrow(), expected[0])
        assert np.array_equal(bench.wide(), expected[1])


CUTS = st.lists(st.floats(0, 1), max_size=3)
SAMPLES = st.sampled_from([(1, True), (2, True), (2, False)])
I8, U8, I16 = ElementType.I8, ElementType.U8, ElementType.I16
WIDE = st.sampled_from([(I16, I8), (I16, U8), (I8, I16), (U8, I16), (I16, I16)])


@settings(max_examples=150, deadline=None)
@given(
    SMALL, st.integers(1, 4), SMALL, st.integers(1, 5), st.sampled_from([4, 8, 10, 64]), st.booleans(),
    st.sampled_from(RULES), st.sampled_from([-7, -11, 0]), st.sampled_from([-128, 0, 5]), st.sampled_from([0, 3]),
    st.sampled_from(["", "in", "out", "both"]), st.booleans(), SAMPLES, CUTS, st.integers(0, 999),
)  # fmt: skip
def test_convolution(
    y: int, x: int, blocks: int, steps: int, lanes: int, short: bool, rule: str, shift: int, zero_point: int,
    weight_zero: int, sums: str, upwards: bool, samples: tuple[int, bool], cuts: list[float], seed: int,
) -> None:  # fmt: skip
    """Rows and blocks of lanes inside one another, the last block short or not, rows in either direction."""
    if lanes == 10:
        blocks = 1
    bench = bench_of(seed, *samples)
    write_scales(bench, rule, shift, blocks)
    pitch = -(-blocks * lanes // 4) * 4
    strides = {"y": -x * pitch if upwards else x * pitch, "zb": lanes, "x": pitch}
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION,
        nest=nest(Alternate("zb", max(1, lanes // 2)) if short and not sums else None, y=y, zb=blocks, x=x, k=2,
                  z=steps, lane=lanes),
        reduce=("k", "z"), input=at(64, y=100, x=4, k=48, z=8), weights=at(0, zb=steps * 2 * ROW, k=steps * ROW, z=ROW),
        parameters=at(PARAMETERS, zb=3 * ROW), output=at(OUTPUT, **strides) if sums in ("", "in") else None,
        sums_in=at(SUMS, y=x * 3 * ROW, zb=ROW, x=3 * ROW) if sums in ("in", "both") else None,
        sums_out=at(SUMS, y=x * 3 * ROW, zb=ROW, x=3 * ROW) if sums in ("out", "both") else None,
        input_zero_point=zero_point, weight_zero_point=weight_zero, output_zero_point=zero_point, rule=rule,
    )  # fmt: skip
    same_either_way(bench, op, cuts)


@settings(max_examples=150, deadline=None)
@given(
    SMALL, SMALL, SMALL, SMALL, st.integers(1, 3), st.sampled_from([4, 12, 16]), st.integers(1, 5),
    st.sampled_from(RULES), st.sampled_from([0, 5]), st.booleans(), st.booleans(), SAMPLES, CUTS, st.integers(0, 999),
)  # fmt: skip
def test_convolution_of_blocks(
    y: int, x: int, blocks: int, inner: int, steps: int, lanes: int, step_words: int, rule: str, zero_point: int,
    words_apart: bool, upwards: bool, samples: tuple[int, bool], cuts: list[float], seed: int,
) -> None:  # fmt: skip
    """Each block of lanes has an input of its own. The words of a group lie side by side, or apart: then a group may
    begin within what the one before wrote, and have the last word.
    """
    bench = bench_of(seed, *samples)
    write_scales(bench, rule, -9, 1)
    channels, count = blocks * inner, lanes // 4
    if words_apart:
        columns, by_x, row = {"cb": 4 * inner, "cg": 4, "lane": 4 * channels}, step_words, count + (x - 1) * step_words
    else:
        columns, by_x, row = {"cb": lanes * inner, "cg": lanes}, count, count * x
    output = {**columns, "x": 4 * channels * by_x, "y": 4 * channels * (-row if upwards else row)}
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(cb=blocks, cg=inner, y=y, x=x, k=2, z=steps, lane=lanes),
        reduce=("k", "z"), input=at(64, cb=48, cg=4, y=100, x=8, k=64, z=16),
        weights=at(0, cb=inner * steps * 2 * ROW, cg=steps * 2 * ROW, k=steps * ROW, z=ROW),
        parameters=at(PARAMETERS), output=at(OUTPUT, **output), input_zero_point=zero_point,
        output_zero_point=zero_point, rule=rule,
    )  # fmt: skip
    same_either_way(bench, op, cuts)


@settings(max_examples=120, deadline=None)
@given(
    SMALL, st.integers(1, 4), SMALL, st.integers(1, 3), st.sampled_from([4, 8, 10, 64]), st.booleans(),
    st.sampled_from(["long", "double", "wide"]), st.sampled_from([0, 5]), st.sampled_from([0, 3]),
    st.sampled_from(["", "in", "out", "both"]), WIDE, st.sampled_from([I8, I16]), SAMPLES, CUTS, st.integers(0, 999),
)  # fmt: skip
def test_convolution_of_16_bits(
    y: int, x: int, blocks: int, steps: int, lanes: int, short: bool, rule: str, zero_point: int, weight_zero: int,
    sums: str, types: tuple[ElementType, ElementType], made: ElementType, samples: tuple[int, bool], cuts: list[float],
    seed: int,
) -> None:  # fmt: skip
    """The same with two rows of weights a step, of sums a group, of biases a block, and two bytes an element."""
    if lanes == 10:
        blocks = 1
    bench = bench_of(seed, *samples)
    write_scales(bench, rule, -14, blocks, 4)
    pitch, row = -(-blocks * lanes * made.bytes // 4) * 4, 2 * ROW
    alternate = Alternate("zb", max(1, lanes // 2)) if short and not sums else None
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(alternate, y=y, zb=blocks, x=x, k=2, z=steps, lane=lanes),
        reduce=("k", "z"), input=at(64, y=200, x=8, k=96, z=8), weights=at(0, zb=steps * 2 * row, k=steps * row, z=row),
        parameters=at(PARAMETERS, zb=4 * ROW),
        output=at(OUTPUT, y=x * pitch, zb=lanes * made.bytes, x=pitch) if sums in ("", "in") else None,
        sums_in=at(SUMS, y=x * 3 * row, zb=row, x=3 * row) if sums in ("in", "both") else None,
        sums_out=at(SUMS, y=x * 3 * row, zb=row, x=3 * row) if sums in ("out", "both") else None,
        input_zero_point=zero_point, weight_zero_point=weight_zero, output_zero_point=zero_point, rule=rule,
        input_type=types[0], weight_type=types[1], output_type=made, widths=(types[0].bits, types[1].bits),
    )  # fmt: skip
    same_either_way(bench, op, cuts)


@settings(max_examples=80, deadline=None)
@given(
    SMALL, st.integers(1, 6), SMALL, SMALL, st.integers(1, 2), st.sampled_from(["double", "long"]), WIDE,
    st.sampled_from([I8, I16]), SAMPLES, CUTS, st.integers(0, 999),
)  # fmt: skip
def test_depthwise_of_16_bits(
    y: int, x: int, blocks: int, words: int, stride: int, rule: str, types: tuple[ElementType, ElementType],
    made: ElementType, samples: tuple[int, bool], cuts: list[float], seed: int,
) -> None:  # fmt: skip
    bench = bench_of(seed, *samples)
    write_scales(bench, rule, -10, blocks, 4)
    (given, weights), pixel, makes = types, 4 * words * blocks * types[0].bytes, 4 * words * blocks * made.bytes
    word, heavy, row = 4 * given.bytes, 4 * weights.bytes, 16 * pixel
    op = TensorOp(
        tiles=1, operation=Operation.DEPTHWISE, nest=nest(y=y, cb=blocks, x=x, cg=words, ky=3, kx=2, lane=4),
        reduce=("ky", "kx"), input=at(8, y=row, cb=word * words, x=stride * pixel, cg=word, ky=row, kx=pixel),
        weights=at(0, cb=6 * heavy * words, cg=heavy, ky=2 * heavy * words, kx=heavy * words),
        parameters=at(PARAMETERS, cb=4 * ROW, cg=16),
        output=at(OUTPUT, y=x * makes, cb=4 * words * made.bytes, x=makes, cg=4 * made.bytes), input_type=given,
        weight_type=weights, output_type=made, widths=(given.bits, weights.bits), input_zero_point=2,
        weight_zero_point=3, output_zero_point=1, rule=rule,
    )  # fmt: skip
    same_either_way(bench, op, cuts)


@settings(max_examples=120, deadline=None)
@given(
    SMALL, st.integers(1, 6), SMALL, SMALL, st.integers(1, 2), st.sampled_from(["double", "float"]),
    st.sampled_from([-128, 0, 5]), st.sampled_from([0, 3]), SAMPLES, CUTS, st.integers(0, 999),
)  # fmt: skip
def test_depthwise(
    y: int, x: int, blocks: int, words: int, stride: int, rule: str, zero_point: int, weight_zero: int,
    samples: tuple[int, bool], cuts: list[float], seed: int,
) -> None:  # fmt: skip
    """Windows of 3 by 2 pixels, side by side or apart, over channels in blocks of words."""
    bench = bench_of(seed, *samples)
    write_scales(bench, rule, -6, blocks)
    pixel, row = 4 * words * blocks, 4 * words * blocks * 16
    op = TensorOp(
        tiles=1, operation=Operation.DEPTHWISE, nest=nest(y=y, cb=blocks, x=x, cg=words, ky=3, kx=2, lane=4),
        reduce=("ky", "kx"), input=at(8, y=row, cb=4 * words, x=stride * pixel, cg=4, ky=row, kx=pixel),
        weights=at(0, cb=24 * words, cg=4, ky=8 * words, kx=4 * words), parameters=at(PARAMETERS, cb=3 * ROW, cg=16),
        output=at(OUTPUT, y=x * pixel, cb=4 * words, x=pixel, cg=4), input_type=ElementType.U8,
        output_type=ElementType.I8, input_zero_point=zero_point + 128, weight_zero_point=weight_zero,
        output_zero_point=zero_point, rule=rule,
    )  # fmt: skip
    same_either_way(bench, op, cuts)


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from([op for op in Operation if op not in (Operation.CONVOLUTION, Operation.DEPTHWISE)]), SMALL,
    st.integers(1, 5), st.integers(1, 4), st.booleans(), st.sampled_from(["double", "divide"]), st.integers(1, 2), CUTS,
    st.integers(0, 999), st.sampled_from([(I8, I8), (I8, I16), (I16, I8), (I16, I16)]),
)  # fmt: skip
def test_element_by_element(
    operation: Operation, y: int, x: int, lanes: int, columns_first: bool, rule: str, samples: int, cuts: list[float],
    seed: int, types: tuple[ElementType, ElementType],
) -> None:  # fmt: skip
    given, made = (I8, I8) if operation is Operation.TABLE else types
    bench = bench_of(seed, samples, alike=False)
    reduces = operation in (Operation.SUM, Operation.MAXIMUM, Operation.AVERAGE)
    two = operation in (Operation.ADD, Operation.MULTIPLY)
    scaling: dict[Operation, tuple[int, ...]] = {
        Operation.SUM: quantise_multiplier(1 / 6) if rule == "double" else (6, 0),
        Operation.AVERAGE: average_scaling((0.1, 0.2), (3, 4), 6),
        Operation.ADD: add_scaling_fixed((0.1, 0.07, 0.12), (3, 5, 1)),
        Operation.MULTIPLY: (3, 5, 1, *quantise_multiplier(0.01)),
        Operation.LEAKY_RELU: (*quantise_multiplier(0.7), *quantise_multiplier(0.1)),
    }
    output: dict[str, Any] = {"y": 8, "x": 32} if columns_first else {"y": 64, "x": 8}
    op = TensorOp(
        tiles=1, operation=operation, nest=nest(y=y, x=x, **({"ky": 3, "kx": 2} if reduces else {}), lane=lanes),
        reduce=("ky", "kx") if reduces else (), input=at(0, y=200, x=8, ky=100, kx=4), output=at(OUTPUT, **output),
        input_type=given, output_type=made,
        input_b=at(0x1000, y=20, x=4) if two else None, input_zero_point=3 if operation is Operation.SUM else 0,
        parameters=at(PARAMETERS) if operation is Operation.TABLE else None,
        rule=rule if operation is Operation.SUM else "double",
        scaling=scaling.get(operation, ()), clamp=(-100, 90),
    )  # fmt: skip
    same_either_way(bench, op, cuts)


@pytest.mark.parametrize(
    "changes",
    [
        {"input": at(0, x=4, zb=4, k=4), "nest": nest(Alternate("zb", 4), x=3, zb=2, k=2, lane=8)},  # blocks' inputs
        {"output": at(OUTPUT, x=4, zb=32, lane=8)},  # words apart: pixels over one another
        {"output": at(OUTPUT, x=32, zb=8, lane=8)},  # words apart: blocks over one another
        {"output": at(OUTPUT + 64, x=64, zb=4, lane=-8)},  # words backwards
        {"output": at(OUTPUT, x=4, zb=8)},  # pixels over one another
        {"output": at(65530, x=16, zb=8)},  # outside the memory
        {"nest": nest(Alternate("x", 4), x=3, zb=2, k=2, lane=8)},  # fewer lanes for a pixel
    ],
)
def test_what_is_not_regular_goes_address_by_address(changes: dict[str, Any]) -> None:
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=3, zb=2, k=2, lane=8), reduce=("k",),
        input=at(0, x=8, k=4), weights=at(0, zb=2 * ROW, k=ROW), parameters=at(PARAMETERS, zb=3 * ROW),
        output=at(OUTPUT, x=16, zb=8), rule="double",
    )  # fmt: skip
    bench = bench_of(0)
    assert decoded_of(bench, op).regular is not None
    assert decoded_of(bench, replace(op, **changes)).regular is None


def test_long_sums_are_added_up_in_parts_that_float32_holds() -> None:
    """3,000 products of extremes exceed 2**24 by far."""
    bench = bench_of(1)
    bench.narrow()[0, :3000] = 128
    bench.wide()[0, : 750 * 32] = 128
    bench.wide()[0, 5 : 750 * 32 : 11] = 127
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=2, k=750, lane=8), reduce=("k",), input=at(0, x=4, k=4),
        weights=at(0, k=32), sums_out=at(SUMS, x=ROW),
    )  # fmt: skip
    same_either_way(bench, op, [])
    assert bench.wide()[0, SUMS : SUMS + 4].view(np.int32)[0] > 1 << 25


def test_sums_that_int32_does_not_hold_wrap_around() -> None:
    """140,000 products of extremes: more than 2**31, which floats hold."""
    bench = bench_of(1)
    bench.narrow()[0, :2800] = 128
    bench.wide()[0, : 700 * 32] = 128
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=2, j=50, k=700, lane=8), reduce=("j", "k"),
        input=at(0, x=0, k=4), weights=at(0, k=32), sums_out=at(SUMS, x=ROW),
    )  # fmt: skip
    same_either_way(bench, op, [])
    assert bench.wide()[0, SUMS : SUMS + 4].view(np.int32)[0] == 140_000 * 128**2 - (1 << 32)


def test_what_serves_again_does_not_change_with_the_memory_that_it_was_made_of() -> None:
    bench = bench_of(7)
    write_scales(bench, "double", -9, 1)
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(y=2, x=2, zi=2, lane=64), reduce=("zi",),
        input=at(0, y=64, x=8, zi=4), weights=at(0x1000, zi=ROW), parameters=at(PARAMETERS),
        output=at(OUTPUT, y=128, x=64), rule="double", clamp=(-128, 127),
    )  # fmt: skip
    decoded = decoded_of(bench, op)
    bench.chip.tiles[0].tensor.results.compute(decoded, 0, decoded.operands.count)
    columns = decoded.regular.entry.weights  # type: ignore[union-attr]
    kept = [columns.weights.copy(), columns.correction.copy(), columns.parameters.copy()]
    bench.wide()[:] ^= 0xFF
    for now, then in zip((columns.weights, columns.correction, columns.parameters), kept, strict=True):
        assert np.array_equal(now, then)
