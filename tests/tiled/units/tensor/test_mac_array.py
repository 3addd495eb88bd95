"""Each operation's data, through memories and instruction, against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.tiled.units.bench import Bench, at, chip_of, nest
from tilesim.arithmetic.add import add, add_scaling_fixed, add_scaling_float
from tilesim.arithmetic.requantise import float_bits, quantise_multiplier, requantise
from tilesim.tiled.isa.model.fields import Alternate
from tilesim.tiled.isa.model.instructions import ElementType, Operation, TensorOp

OUTPUT, PARAMETERS, SUMS, ROW = 0x8000, 0x40000, 0x60000, 256
DTYPES = {ElementType.I8: np.dtype(np.int8), ElementType.U8: np.dtype(np.uint8), ElementType.I16: np.dtype("<i2")}
LIMITS = {ElementType.I8: (-128, 127), ElementType.U8: (0, 255), ElementType.I16: (-32768, 32767)}
Array = NDArray[Any]

TYPES = st.sampled_from(list(ElementType))
ZERO_POINTS = st.sampled_from([0, 3, 100])
SIZES = st.integers(1, 5)


def bench_of(seed: int, samples: int) -> Bench:
    bench = Bench(chip_of(narrow_memory={"size_bytes": 65536}), samples, seed)
    bench.randomise()
    return bench


def windows(bench: Bench, pixels: int, steps: int, width: int, kind: ElementType) -> NDArray[np.int64]:
    """What ``input=at(0, x=4 * steps, k=4)`` reads, times the bytes of an element: (samples, pixels, steps, width)."""
    words = bench.narrow()[:, : pixels * steps * 4 * kind.bytes].view(DTYPES[kind]).reshape(-1, pixels, steps, 4)
    return words[..., :width].astype(np.int64)


def weights_of(bench: Bench, steps: int, size: int, kind: ElementType) -> NDArray[np.int64]:
    """A row a step, or two, shared by all samples."""
    bench.wide()[:] = bench.wide()[:1]
    rows = bench.wide()[0, : steps * ROW * kind.bytes].view(DTYPES[kind]).reshape(steps, ROW)[:, :size]
    return rows.astype(np.int64)


def write_parameters(bench: Bench, lanes: int, wide: bool = False) -> tuple[Array, Array, Array]:
    """Bias, of 64 bits if ``wide``, multiplier and shift of each lane."""
    bias = bench.random.integers(-5000, 5000, lanes) << (24 if wide else 0)
    multiplier = bench.random.integers(1 << 30, (1 << 31) - 1, lanes).astype(np.int32)
    shift = bench.random.integers(-12, -6, lanes).astype(np.int32)
    words = [bias, bias >> 32] if wide else [bias]
    values = np.stack([*(word.astype(np.int32) for word in words), multiplier, shift])
    rows = bench.wide()[:, PARAMETERS : PARAMETERS + len(values) * ROW].view(np.int32)
    rows.reshape(-1, len(values), ROW // 4)[:, :, :lanes] = values
    return bias, multiplier, shift


def outputs(bench: Bench, pixels: int, pitch: int, lanes: int, kind: ElementType) -> Array:
    """A pixel is at ``pitch`` elements from the one before."""
    data = bench.narrow()[:, OUTPUT : OUTPUT + pixels * pitch * kind.bytes].view(DTYPES[kind])
    return data.reshape(-1, pixels, pitch)[..., :lanes]


def finished(
    sums: Array, parameters: tuple[Array, Array, Array], zero_point: int, low: int, high: int, rule: str = "double"
) -> Array:
    bias, multiplier, shift = parameters
    biased = sums + bias
    scaled = requantise(rule, biased if rule == "long" else biased.astype(np.int32), multiplier, shift)
    return np.clip(scaled.astype(np.int64) + zero_point, low, high)


@settings(max_examples=60, deadline=None)
@given(
    operation=st.sampled_from([Operation.CONVOLUTION, Operation.DEPTHWISE]),
    pixels=SIZES, steps=SIZES, lanes=st.integers(1, 64), samples=st.integers(1, 3), seed=st.integers(0, 999),
    input_type=TYPES, weight_type=TYPES, output_type=TYPES, input_zero=ZERO_POINTS, weight_zero=ZERO_POINTS,
)  # fmt: skip
def test_products(
    operation: Operation, pixels: int, steps: int, lanes: int, samples: int, seed: int,
    input_type: ElementType, weight_type: ElementType, output_type: ElementType, input_zero: int, weight_zero: int,
) -> None:  # fmt: skip
    """Convolution sends 4 inputs to all lanes, depthwise one to each of up to 4, of 8 or of 16 bits: then sums have 64,
    all of which count by the rule ``long``.
    """
    broadcast, wide = operation is Operation.CONVOLUTION, ElementType.I16 in (input_type, weight_type)
    lanes, rule = lanes if broadcast else 1 + lanes % 4, "long" if wide and seed % 2 else "double"
    bench = bench_of(seed, samples)
    x = windows(bench, pixels, steps, 4 if broadcast else lanes, input_type) - input_zero
    w = weights_of(bench, steps, lanes * 4 if broadcast else lanes, weight_type) - weight_zero
    parameters = write_parameters(bench, lanes, wide)
    low, high = (5, 240) if output_type is ElementType.U8 else (-100, 90)
    pitch = -(-lanes // 4) * 4
    bench.cycles(
        TensorOp(
            tiles=1, operation=operation, nest=nest(x=pixels, k=steps, lane=lanes), reduce=("k",),
            input=at(0, x=4 * steps * input_type.bytes, k=4 * input_type.bytes),
            weights=at(0, k=ROW * weight_type.bytes), parameters=at(PARAMETERS),
            output=at(OUTPUT, x=pitch * output_type.bytes), input_type=input_type, weight_type=weight_type,
            output_type=output_type, input_zero_point=input_zero, weight_zero_point=weight_zero, output_zero_point=7,
            rule=rule, clamp=(low, high), widths=(input_type.bits, weight_type.bits),
        )
    )  # fmt: skip
    subscripts = "spki,kli->spl" if broadcast else "spkl,kl->spl"
    sums = np.einsum(subscripts, x, w.reshape(steps, lanes, 4) if broadcast else w)
    expected = finished(sums, parameters, 7, low, high, rule)
    assert np.array_equal(outputs(bench, pixels, pitch, lanes, output_type), expected)


@settings(max_examples=40, deadline=None)
@given(SIZES, st.integers(1, 12), st.integers(1, 4), st.integers(1, 3), st.integers(0, 999), TYPES, ZERO_POINTS)
def test_sum_and_maximum(
    pixels: int, steps: int, lanes: int, samples: int, seed: int, kind: ElementType, zero_point: int
) -> None:
    bench = bench_of(seed, samples)
    x = windows(bench, pixels, steps, lanes, kind)
    low, high = LIMITS[kind]
    multiplier, shift = quantise_multiplier(1 / steps)
    for operation, scaling in ((Operation.SUM, (multiplier, shift)), (Operation.MAXIMUM, ())):
        bench.cycles(
            TensorOp(
                tiles=1, operation=operation, nest=nest(x=pixels, k=steps, lane=lanes), reduce=("k",),
                input=at(0, x=4 * steps * kind.bytes, k=4 * kind.bytes), output=at(OUTPUT, x=4 * kind.bytes),
                input_type=kind, output_type=kind, widths=(kind.bits, 8),
                input_zero_point=zero_point if operation is Operation.SUM else 0, output_zero_point=0,
                rule="double", scaling=scaling, clamp=(low, high),
            )
        )  # fmt: skip
        if operation is Operation.SUM:
            sums = (x - zero_point).sum(axis=2).astype(np.int32)
            expected = requantise("double", sums, np.array([multiplier], np.int32), np.array([shift], np.int32))
        else:
            expected = x.max(axis=2).astype(np.int32)
        assert np.array_equal(outputs(bench, pixels, 4, lanes, kind), np.clip(expected, low, high))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 3), st.integers(0, 999), TYPES, st.booleans())
def test_two_operands_are_rescaled_and_added(
    pixels: int, lanes: int, samples: int, seed: int, kind: ElementType, fixed: bool
) -> None:
    bench = bench_of(seed, samples)
    a = windows(bench, 2 * pixels, 1, lanes, kind)[:, :, 0]
    word, scales, zero_points = 4 * kind.bytes, (0.1, 0.07, 0.12), (3, 5, 1)
    rule = ("double16" if kind is ElementType.I16 else "double") if fixed else "float"
    scaling = add_scaling_fixed(scales, zero_points, rule) if fixed else add_scaling_float(scales, zero_points)
    low, high = LIMITS[kind]
    bench.cycles(
        TensorOp(
            tiles=1, operation=Operation.ADD, nest=nest(x=pixels, lane=lanes), input=at(0, x=word),
            input_b=at(word * pixels, x=word), output=at(OUTPUT, x=word), input_type=kind, output_type=kind,
            widths=(kind.bits, 8), output_zero_point=1, rule=rule, scaling=scaling, clamp=(low, high),
        )
    )  # fmt: skip
    total = add(rule, a[:, :pixels], a[:, pixels:], scaling)
    assert np.array_equal(outputs(bench, pixels, 4, lanes, kind), np.clip(total, low, high))
    real = 0.1 * (a[:, :pixels] - 3.0) + 0.07 * (a[:, pixels:] - 5.0)
    assert np.abs(np.clip(real / 0.12 + 1, low, high) - np.clip(total, low, high)).max() <= 1


@settings(max_examples=40, deadline=None)
@given(
    SIZES, SIZES, st.integers(1, 64), st.integers(1, 3), st.integers(0, 999),
    st.sampled_from([ElementType.I8, ElementType.I16]),
)  # fmt: skip
def test_partial_sums_leave_and_come_back(
    pixels: int, steps: int, lanes: int, samples: int, seed: int, kind: ElementType
) -> None:
    """Two halves of a reduction in two instructions are the whole of it. Sums of 64 bits take two rows."""
    bench, wide, word = bench_of(seed, samples), kind is ElementType.I16, 4 * kind.bytes
    x = windows(bench, pixels, 2 * steps, 4, kind)
    w = weights_of(bench, 2 * steps, lanes * 4, ElementType.I8).reshape(2 * steps, lanes, 4)
    parameters = write_parameters(bench, lanes, wide)
    pitch, group = -(-lanes // 4) * 4, ROW * kind.bytes
    common: dict[str, Any] = {
        "tiles": 1, "operation": Operation.CONVOLUTION, "nest": nest(x=pixels, k=steps, lane=lanes), "reduce": ("k",),
        "input_type": kind, "widths": (kind.bits, 8),
    }  # fmt: skip
    first = TensorOp(
        **common, input=at(0, x=2 * word * steps, k=word), weights=at(0, k=ROW), sums_out=at(SUMS, x=group),
        label="first",
    )  # fmt: skip
    second = TensorOp(
        **common, input=at(word * steps, x=2 * word * steps, k=word), weights=at(steps * ROW, k=ROW),
        sums_in=at(SUMS, x=group), parameters=at(PARAMETERS), output=at(OUTPUT, x=pitch), label="second",
        rule="long" if wide else "double",
    )  # fmt: skip
    bench.cycles(first, second)
    half = np.einsum("spki,kli->spl", x[:, :, :steps], w[:steps])
    rows = bench.wide()[:, SUMS : SUMS + pixels * group].view(np.int32).reshape(samples, pixels, -1, ROW // 4)
    for number in range(kind.bytes):
        assert np.array_equal(rows[:, :, number, :lanes], (half >> 32 * number).astype(np.int32))
    sums = np.einsum("spki,kli->spl", x, w)
    expected = finished(sums, parameters, 0, -128, 127, "long" if wide else "double")
    assert np.array_equal(outputs(bench, pixels, pitch, lanes, ElementType.I8), expected)


def test_sums_of_16_bits_by_16_are_exact_beyond_32_bits_and_up_to_what_float64_holds() -> None:
    """1,000 steps of 4 extreme products each: -32768 * -32768 * 4000 is 2**42 and less than 2**53."""
    bench = bench_of(1, 1)
    bench.narrow()[0, :8000].view("<i2")[:] = -32768
    bench.wide()[0, :32].view("<i2")[:] = -32768
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=1, k=1000, lane=4), reduce=("k",), input=at(0, k=8),
        weights=at(0), sums_out=at(SUMS), input_type=ElementType.I16, weight_type=ElementType.I16, widths=(16, 16),
    )  # fmt: skip
    assert bench.cycles(op) == 4 * 1000 + 2
    low, high = (bench.wide()[0, SUMS + k * ROW :][:16].view(np.uint32).astype(np.int64) for k in (0, 1))
    assert (low + (high << 32)).tolist() == [4000 << 30] * 4


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 3), st.integers(0, 999), TYPES, st.floats(-0.9, 0.9))
def test_leaky_relu_scales_by_one_factor_from_the_zero_point_on_and_by_another_below(
    pixels: int, lanes: int, samples: int, seed: int, kind: ElementType, slope: float
) -> None:
    bench, word = bench_of(seed, samples), 4 * kind.bytes
    x = windows(bench, pixels, 1, lanes, kind)[:, :, 0]
    mantissa, shift = quantise_multiplier(abs(slope) / 2)
    op = TensorOp(
        tiles=1, operation=Operation.LEAKY_RELU, nest=nest(x=pixels, lane=lanes), input=at(0, x=word),
        output=at(OUTPUT, x=word), input_type=kind, output_type=kind, widths=(kind.bits, 8), input_zero_point=3,
        output_zero_point=1, rule="double", clamp=LIMITS[kind],
        scaling=(*quantise_multiplier(0.5), mantissa if slope >= 0 else -mantissa, shift),
    )  # fmt: skip
    assert bench.cycles(op) == pixels * kind.bytes + -(-lanes * kind.bytes // 4)
    real = np.clip(np.where(x >= 3, 0.5, 0.5 * slope) * (x - 3) + 1, *LIMITS[kind])
    assert np.abs(real - outputs(bench, pixels, 4, lanes, kind)).max() <= 1


def test_samples_with_weights_of_their_own() -> None:
    """What travels with the samples may stand in wide memory as well."""
    bench = bench_of(5, 3)
    x = windows(bench, 2, 3, 4, ElementType.I8)
    rows = bench.wide()[:, : 3 * ROW].reshape(3, 3, ROW).view(np.int8).astype(np.int64).reshape(3, 3, 64, 4)
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=2, k=3, lane=64), reduce=("k",),
        input=at(0, x=12, k=4), weights=at(0, k=ROW), sums_out=at(SUMS, x=ROW),
    )  # fmt: skip
    bench.cycles(op)
    found = bench.wide()[:, SUMS : SUMS + 2 * ROW].view(np.int32).reshape(3, 2, 64)
    assert np.array_equal(found, np.einsum("spki,skli->spl", x, rows))


def test_blocks_of_lanes_have_parameters_and_weights_of_their_own() -> None:
    """Blocks innermost, so that the parameters change with every group; the last block is short."""
    bench = bench_of(6, 2)
    x = windows(bench, 3, 2, 4, ElementType.I8)
    w = weights_of(bench, 4, 32, ElementType.I8).reshape(2, 2, 8, 4)
    values = np.zeros((2, 3, ROW // 4), np.int32)
    values[:, 0, :8], values[:, 1, :8] = bench.random.integers(-999, 999, (2, 8)), 1 << 30
    values[:, 2, :8] = [[-6], [-8]]
    bench.wide()[:, PARAMETERS : PARAMETERS + 6 * ROW] = values.reshape(-1).view(np.uint8)
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(Alternate("zb", 4), x=3, zb=2, k=2, lane=8), reduce=("k",),
        input=at(0, x=8, k=4), weights=at(0, zb=2 * ROW, k=ROW), parameters=at(PARAMETERS, zb=3 * ROW),
        output=at(OUTPUT, x=12, zb=8), rule="double",
    )  # fmt: skip
    bench.cycles(op)
    for block, lanes in ((0, 8), (1, 4)):
        sums = np.einsum("spki,kli->spl", x, w[block])
        expected = finished(sums, values[block, :, :8], 0, -128, 127)[..., :lanes]
        assert np.array_equal(outputs(bench, 3, 12, 12, ElementType.I8)[..., 8 * block : 8 * block + lanes], expected)


def test_rows_of_sums_that_the_reduction_moves_are_all_added() -> None:
    """One for each iteration of the loops that move them, whatever the other loops of the reduction do."""
    bench = bench_of(9, 3)
    rows = bench.random.integers(-(1 << 31), 1 << 31, (3, 2, 5, 64), np.int64).astype(np.int32)
    bench.wide()[:, SUMS : SUMS + 10 * ROW] = np.ascontiguousarray(rows).view(np.uint8).reshape(3, -1)
    bench.wide()[:, :ROW] = 1
    x = bench.narrow()[:, :8].view(np.int8).astype(np.int64).reshape(3, 2, 4)
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=2, k=5, zi=2, lane=64), reduce=("k", "zi"),
        input=at(0, zi=4), weights=at(0), sums_in=at(SUMS, x=5 * ROW, k=ROW), sums_out=at(OUTPUT, x=ROW),
    )  # fmt: skip
    assert bench.cycles(op) == 2 * (10 + 5) + 1 + 1  # the first group's row is written while the second one reads
    found = bench.wide()[:, OUTPUT : OUTPUT + 2 * ROW].view(np.int32).reshape(3, 2, 64)
    assert np.array_equal(found, (rows.sum(2) + 5 * x.sum((1, 2))[:, None, None]).astype(np.int32))


def test_oracle_28_half_to_even_then_zero_point_then_clamp() -> None:
    """64.5 becomes 64 and 63.5 becomes 64 by the float rule; 127 and more are clamped after the zero point."""
    bench = Bench()
    bench.narrow()[0, :4] = [1, 1, 0, 0]
    sums = np.array([129, 127, 3, 1000], np.int32)  # times a half
    bench.wide()[0, SUMS : SUMS + 16].view(np.int32)[:] = sums
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=1, lane=4), input=at(8), weights=at(0),
        parameters=at(PARAMETERS), sums_in=at(SUMS), output=at(OUTPUT), rule="float", output_zero_point=2,
    )  # fmt: skip
    bench.wide()[0, PARAMETERS + ROW : PARAMETERS + ROW + 16].view(np.int32)[:] = float_bits(0.5)
    bench.cycles(op)
    assert bench.narrow()[0, OUTPUT : OUTPUT + 4].view(np.int8).tolist() == [66, 66, 4, 127]


def test_oracle_5_four_lanes_add_four_pairs_in_one_result_group() -> None:
    """[1, 2, 3, 4] + [5, 6, 7, 8] on 4 lanes is one group (two reads); on one lane, four groups."""
    for lanes, groups in ((4, 1), (1, 4)):
        bench = Bench()
        bench.narrow()[0, :32:4] = 0
        values = np.array([1, 2, 3, 4, 5, 6, 7, 8], np.uint8)
        places = np.arange(8) if lanes == 4 else 4 * np.arange(8)
        bench.narrow()[0, places] = values
        op = TensorOp(
            tiles=1, operation=Operation.ADD, nest=nest(x=groups, lane=lanes), input=at(0, x=4),
            input_b=at(4 * groups, x=4), output=at(OUTPUT, x=4), rule="float",
            scaling=add_scaling_float((1.0, 1.0, 1.0), (0, 0, 0)),
        )  # fmt: skip
        assert bench.cycles(op) == 2 * groups + 1
        out = bench.narrow()[0, OUTPUT : OUTPUT + 4 * groups]
        assert (out if lanes == 4 else out[::4]).tolist() == [6, 8, 10, 12]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 3), st.integers(0, 999), TYPES, st.booleans())
def test_two_operands_are_multiplied(
    pixels: int, lanes: int, samples: int, seed: int, kind: ElementType, fixed: bool
) -> None:
    bench = bench_of(seed, samples)
    a = windows(bench, 2 * pixels, 1, lanes, kind)[:, :, 0]
    word, factor = 4 * kind.bytes, quantise_multiplier(0.01) if fixed else (int(float_bits(0.01)[0]), 0)
    scaling = (3, 5, 1, *factor)
    low, high = LIMITS[kind]
    op = TensorOp(
        tiles=1, operation=Operation.MULTIPLY, nest=nest(x=pixels, lane=lanes), input=at(0, x=word),
        input_b=at(word * pixels, x=word), output=at(OUTPUT, x=word), input_type=kind, output_type=kind,
        widths=(kind.bits, kind.bits),
        rule="double" if fixed else "float", scaling=scaling, clamp=(low, high),
    )  # fmt: skip
    assert bench.cycles(op) == 2 * pixels * kind.bytes**2 + -(-lanes * kind.bytes // 4)
    real = 0.01 * (a[:, :pixels] - 3.0) * (a[:, pixels:] - 5.0) + 1
    assert np.abs(np.clip(real, low, high) - outputs(bench, pixels, 4, lanes, kind)).max() <= 1.01


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 3), st.integers(0, 999), st.sampled_from([128, 256, 512]))
def test_bytes_are_looked_up_in_a_table_of_each_sample(
    pixels: int, lanes: int, samples: int, seed: int, row_bytes: int
) -> None:
    """A word a cycle, and before that a wide read for each row that the table's 256 bytes take."""
    bench = Bench(chip_of(wide_memory={"row_bytes": row_bytes}, tile={"lanes": 16}), samples, seed)
    bench.randomise()
    tables = bench.wide()[:, PARAMETERS : PARAMETERS + 256].copy()
    x = bench.narrow()[:, : 4 * pixels].reshape(samples, pixels, 4)[..., :lanes].copy()
    op = TensorOp(
        tiles=1, operation=Operation.TABLE, nest=nest(x=pixels, lane=lanes), input=at(0, x=4),
        parameters=at(PARAMETERS), output=at(OUTPUT, x=4),
    )  # fmt: skip
    assert bench.cycles(op) == max(1, 256 // row_bytes) + pixels + 1
    found = bench.narrow()[:, OUTPUT : OUTPUT + 4 * pixels].reshape(samples, pixels, 4)[..., :lanes]
    expected = np.take_along_axis(tables, x.reshape(samples, -1).astype(np.int64), axis=1)
    assert np.array_equal(found.reshape(samples, -1), expected)
