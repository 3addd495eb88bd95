"""Products of the array against the golden operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.systolic.datapath.material import SIZE, Case, as_bytes, cases, integers, memories
from tilesim.errors import AccessError
from tilesim.network.operators.windows import pad, windows
from tilesim.systolic.datapath.matrix import accumulate, multiply, prepare_multiply
from tilesim.systolic.datapath.memories import read_tile
from tilesim.systolic.datapath.windows import boxes
from tilesim.systolic.isa.model.instructions import MatrixMultiply, Window
from tilesim.systolic.topology import Array, Topology


def sums(case: Case, weights: Any, zero_point: int) -> Any:
    """Sums of a convolution in exact integers: (samples, positions, filters)."""
    w, centred = case.window, case.seen.astype(np.int64) - case.zero_point
    view = windows(pad(centred, case.padding, 0), w.kernel, w.strides, w.dilations)
    exact = np.einsum("nyxklc,oklc->nyxo", view, weights.astype(np.int64) - zero_point)
    return case.by_position(exact.astype(np.int32))


@given(cases(), st.sampled_from(["int8", "uint8", "int16"]), st.data())
@settings(max_examples=120, deadline=None)
def test_windows_times_weights_are_a_convolution(case: Case, weights: Any, data: st.DataObject) -> None:
    """In portions of positions, of rows and of outputs, each of any size."""
    w, filters = case.window, data.draw(st.integers(1, 6))
    limits = np.iinfo(weights)
    zero_point = data.draw(st.sampled_from([0, int(limits.min), int(limits.max)]))
    kernel = integers(case.rng, (filters, *w.kernel, w.channels), weights)
    matrix = kernel.reshape(filters, -1).T
    array = data.draw(st.integers(1, w.elements)), data.draw(st.integers(1, filters)), data.draw(st.integers(1, 9))
    found = np.empty((len(case.x), w.positions, filters), np.int32)
    for output in range(0, filters, array[1]):
        for first in range(0, w.positions, array[2]):
            for first_row in range(0, w.elements, array[0]):
                tile = np.zeros(array[:2], weights)
                part = matrix[first_row : first_row + array[0], output : output + array[1]]
                tile[: part.shape[0], : part.shape[1]] = part
                op = MatrixMultiply(
                    window=w, first=first, vectors=min(array[2], w.positions - first), first_row=first_row,
                    rows=part.shape[0], columns=part.shape[1], accumulate=first_row > 0, accumulator=7,
                    activations=case.element, weights=weights, activation_zero_point=case.zero_point,
                    weight_zero_point=zero_point,
                )  # fmt: skip
                prepare_multiply(op, case.memories, tile.view(f"int{8 * tile.itemsize}"))()
            there = case.memories.accumulators[:, 7 : 7 + op.vectors, : op.columns]
            found[:, first : first + op.vectors, output : output + op.columns] = there
    np.testing.assert_array_equal(found, sums(case, kernel, zero_point))


def test_vectors_in_a_row_are_a_fully_connected_layer() -> None:
    """300 inputs on 256 rows are portions of 256 and 44, whose sums add up to those of all (oracle 30)."""
    rng, there = np.random.default_rng(0), memories(samples=2)
    x, weights = integers(rng, (2, 5, 300), "int8"), integers(rng, (20, 300), "int8")
    there.buffer.bytes[:, 50:1550] = as_bytes(x)
    window = Window(50, 5, 300, 1, 1, 300, 300, 300, 1, 1)
    for first_row, rows in ((0, 256), (256, 44)):
        op = MatrixMultiply(
            window=window, vectors=5, first_row=first_row, rows=rows, columns=20, accumulate=first_row > 0,
            activation_zero_point=-9,
        )  # fmt: skip
        accumulate(op, there, multiply(op, there, weights.T[first_row : first_row + rows]))
    expected = (x.astype(int) + 9) @ weights.T.astype(int)
    np.testing.assert_array_equal(there.accumulators[:, :5, :20], expected)
    assert (there.accumulators[:, 5:] == 12345).all()
    assert (there.accumulators[:, :, 20:] == 12345).all()


def test_channels_of_a_group() -> None:
    """Depthwise channels side by side: a block of the diagonal for each."""
    rng, there = np.random.default_rng(0), memories()
    x, weights = integers(rng, (1, 6, 5, 8), "int8"), integers(rng, (3, 3, 4), "int8")
    there.buffer.bytes[:, :240] = as_bytes(x)
    tile = np.zeros((3, 3, 4, 4), np.int8)
    tile[..., range(4), range(4)] = weights
    window = Window(2, 1, 240, 6, 5, 40, 8, 4, 4, 3, (3, 3))
    op = MatrixMultiply(window=window, vectors=12, rows=36, columns=4)
    prepare_multiply(op, there, tile.reshape(36, 4))()
    expected = [
        (x[0, y : y + 3, z : z + 3, 2:6].astype(int) * weights).sum(axis=(0, 1)) for y in range(4) for z in range(3)
    ]
    np.testing.assert_array_equal(there.accumulators[0, :12, :4], expected)


def test_sums_wrap_around() -> None:
    there = memories()
    there.buffer.bytes[:, :2] = 1, 0
    there.accumulators[0, 0, 0] = (1 << 31) - 1
    window = Window(0, 1, 2, 1, 1, 2, 2, 1, 1, 1)
    op = MatrixMultiply(window=window, accumulate=True, activations="int16")
    prepare_multiply(op, there, np.array([[3]], np.int8))()
    assert there.accumulators[0, 0, 0] == -(1 << 31) + 2


def test_what_is_read_at_the_beginning_is_written_at_the_end() -> None:
    there = memories()
    window = Window(0, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    there.buffer.bytes[0, 0] = 5
    retire = prepare_multiply(MatrixMultiply(window=window), there, np.array([[-3]], np.int8))
    there.buffer.bytes[0, 0] = 6
    assert there.accumulators[0, 0, 0] == 12345
    retire()
    assert there.accumulators[0, 0, 0] == -15


@pytest.mark.parametrize(("rows", "columns", "weights"), [(4, 2, "columns"), (2, 4, "rows")])
@pytest.mark.parametrize("size", [1, 2])
def test_a_tile_has_the_weights_of_an_input_side_by_side(rows: int, columns: int, weights: Any, size: int) -> None:
    there = memories()
    data = np.arange(-4, 4).astype(f"int{8 * size}")
    there.weights.bytes[0, 16 : 16 + 8 * size] = data.view(np.uint8)
    chip = Topology(machine="systolic", name="small", array=Array(rows=rows, columns=columns, weights=weights))
    np.testing.assert_array_equal(read_tile(there, 16, size, chip), data.reshape(4, 2))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"window": Window(SIZE - 3, 1, 4, 2, 2, 2, 1, 1, 2, 2)}, "the unified buffer has bytes 0 to 65535, not"),
        ({"window": Window(-1, 1, 4, 2, 2, 2, 1, 1, 2, 2)}, "not -1 to 2"),
        ({"accumulator": 511}, "the accumulators have entries 0 to 511, not 511 to 512"),
        ({"columns": 33}, "the accumulators have 32 sums an entry, not 33"),
    ],
)
def test_what_is_not_there(changes: dict[str, Any], sentence: str) -> None:
    op = MatrixMultiply(window=Window(0, 1, 4, 2, 2, 2, 1, 1, 2, 2), vectors=2)
    with pytest.raises(AccessError, match=sentence):
        prepare_multiply(replace(op, **changes), memories(), np.ones((1, 33), np.int8))()


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.data())
@settings(max_examples=50, deadline=None)
def test_boxes_hold_no_more_than_whole_rows(images: int, height: int, width: int, data: st.DataObject) -> None:
    window = Window(0, images, 0, 1, 1, 0, 0, 1, height, width)
    first = data.draw(st.integers(0, window.positions - 1))
    vectors = data.draw(st.integers(1, window.positions - first))
    rows = [
        image * height + y
        for box in boxes(window, first, vectors)
        for image in range(box.image, box.image + box.images)
        for y in range(box.row, box.row + box.rows)
    ]
    assert rows == list(range(first // width, (first + vectors - 1) // width + 1))
