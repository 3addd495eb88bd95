"""What is worked out once: equal work is shared, columns follow the bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tiled.units.bench import Bench, at, chip_of, nest
from tilesim.tiled.isa.model.fields import Flag, Watcher
from tilesim.tiled.isa.model.instructions import Operation, TensorOp
from tilesim.tiled.units.tensor import decoder as decoder_module

ROW, SUMS = 256, 0x8000


def sums(**changes: object) -> TensorOp:
    op = TensorOp(
        tiles=1, operation=Operation.CONVOLUTION, nest=nest(x=8, k=2, lane=64), reduce=("k",), input=at(0, x=8, k=4),
        weights=at(0, k=ROW), sums_out=at(SUMS, x=ROW), label="op",
    )  # fmt: skip
    return replace(op, **changes)  # type: ignore[arg-type]


def test_instructions_that_do_the_same_work_are_decoded_once() -> None:
    tile = Bench().chip.tiles[0]
    decoder, op = tile.tensor.decoder, sums()
    decoded = decoder.tensorop(op, tile.memories)
    assert decoder.tensorop(op, tile.memories) is decoded
    same = replace(op, tiles=2, label="other", wait=(Watcher(Flag.AVDATA, 1),), layer=7)
    assert decoder.tensorop(same, tile.memories) is decoded
    assert decoder.tensorop(replace(op, sums_out=at(SUMS)), tile.memories) is not decoded


def test_all_tiles_share_what_is_decoded() -> None:
    chip = Bench(chip_of(columns=2)).chip
    op = sums()
    a, b = (tile.tensor.decoder.tensorop(op, tile.memories) for tile in chip.tiles)
    assert a is b


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_module, "INSTRUCTIONS", 3)
    tile = Bench().chip.tiles[0]
    decoder = tile.tensor.decoder
    for base in range(10):
        op = sums(input=at(4 * base, x=8))
        assert decoder.tensorop(op, tile.memories).op.input.base == 4 * base
        assert len(decoder._by_op) <= 3


def test_new_weights_at_the_same_place_make_new_results() -> None:
    bench = Bench(seed=3)
    bench.randomise()
    x = bench.narrow()[0, :64].view(np.int8).astype(np.int64).reshape(8, 2, 4)
    for _ in range(3):
        bench.cycles(sums())
        w = bench.wide()[0, : 2 * ROW].view(np.int8).astype(np.int64).reshape(2, 64, 4)
        found = bench.wide()[0, SUMS : SUMS + 8 * ROW].view(np.int32).reshape(8, 64)
        assert np.array_equal(found, np.einsum("xki,kli->xl", x, w))
        bench.wide()[0, 100:108] += 1


def test_new_weights_in_the_last_row_of_an_odd_number_of_rows_make_new_results() -> None:
    """Half of what is compared at once lies behind the memory's end."""
    last = 1024
    chip = chip_of(tile={"lanes": 1, "vector_bytes": 1}, wide_memory={"row_bytes": 4, "size_bytes": last + 4})
    bench = Bench(chip)
    bench.narrow()[0, :4] = 1
    for weight in range(1, 4):
        bench.wide()[0, last:] = weight
        bench.cycles(sums(nest=nest(k=1, lane=1), input=at(0), weights=at(last), sums_out=at(0)))
        assert bench.wide()[0, :4].view(np.int32) == 4 * weight


def test_what_does_not_depend_on_where_operands_begin_is_worked_out_once() -> None:
    tile = Bench().chip.tiles[0]
    one, other = (
        tile.tensor.decoder.tensorop(sums(input=at(base, x=8, k=4), weights=at(rows * ROW, k=ROW)), tile.memories)
        for base, rows in ((0, 0), (64, 4))
    )
    assert one.effort is other.effort
    assert one.regular is not other.regular
    assert one.regular.form is other.regular.form  # type: ignore[union-attr]


def test_parameters_that_cross_a_row_elsewhere_take_another_effort() -> None:
    """Three registers of a quarter of a row each, in one row or in two."""
    tile = Bench(chip_of(tile={"lanes": 16, "vector_bytes": 4})).chip.tiles[0]
    op = sums(nest=nest(x=8, k=2, lane=16), sums_out=None, output=at(0x1000, x=16), rule="double")
    registers = tile.memories.register_bytes
    efforts = [
        tile.tensor.decoder.tensorop(replace(op, parameters=at(SUMS + k * registers)), tile.memories).effort
        for k in range(tile.memories.row_bytes // registers)
    ]
    for k, effort in enumerate(efforts):
        rows = -(-(k + 3) * registers // tile.memories.row_bytes)
        assert effort.costs.extras[0] == rows


def test_a_product_whose_operands_end_behind_their_memory_goes_address_by_address() -> None:
    tile = Bench().chip.tiles[0]
    size = tile.memories.narrow.size_bytes
    inside, outside = (
        tile.tensor.decoder.tensorop(sums(input=at(size - left, x=8, k=4)), tile.memories) for left in (64, 56)
    )
    assert inside.regular is not None
    assert outside.regular is None
