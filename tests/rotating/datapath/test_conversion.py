"""From captured sums to words of a row: what they become, and which of the row's words these are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rotating.programs import chip, parameter_words
from tests.rotating.test_oracles_time import PLANES, SUMS
from tilesim.arithmetic.add import add, add_scaling_fixed
from tilesim.arithmetic.multiply import multiply
from tilesim.arithmetic.requantise import requantise
from tilesim.rotating.datapath.accumulators import Accumulators, Operands
from tilesim.rotating.datapath.conversion import Captured, Scales, converted, scales_of, table_of, targets, written
from tilesim.rotating.datapath.words import bytes_of, words_of
from tilesim.rotating.isa.model.instructions import Alu, Function, Mask, Out, Place, Rows, Set
from tilesim.rotating.layout import words_in_rows
from tilesim.rotating.topology import Topology

CHIP, WIDE = chip(8), chip(8, units={"word_bits": 16})
LEAST, MOST = -(1 << 31), (1 << 31) - 1


def captured(sums: Any, function: Function, control: Set | None = None, **fields: Any) -> Captured:
    """An out of ``sums`` (samples, units), to row 5."""
    out = {key: fields.pop(key) for key in ("place", "outside", "fill") if key in fields}
    held = np.atleast_2d(np.asarray(sums, np.int64))
    mux = np.atleast_2d(np.asarray(fields.pop("mux", [0] * 8), np.int32))
    op, mask = Out(row=Rows(5), function=function, **out), fields.pop("mask", Mask())
    return Captured(op, 5, held, mux, control or Set(), mask, **fields)


def scales(bias: Any, multiplier: Any, shift: Any) -> Scales:
    return Scales(*(np.broadcast_to(np.asarray(value, np.int32), 8) for value in (bias, multiplier, shift)))


@pytest.mark.parametrize("topology", [CHIP, WIDE])
@given(data=st.data())
def test_parameters_are_read_as_they_are_laid_out(topology: Topology, data: st.DataObject) -> None:
    numbers = st.lists(st.integers(LEAST, MOST), min_size=8, max_size=8)
    bias, multiplier = data.draw(numbers), data.draw(numbers)
    shift = data.draw(st.lists(st.integers(-128, 127), min_size=8, max_size=8))
    rows = words_in_rows(parameter_words(topology, bias, multiplier, shift), topology)
    found = scales_of(rows.reshape(-1, topology.row_bytes), topology)
    assert [found.bias.tolist(), found.multiplier.tolist(), found.shift.tolist()] == [bias, multiplier, shift]


@pytest.mark.parametrize("units", [8, 24, 256, 300])
@pytest.mark.parametrize("word_bits", [8, 16])
def test_a_table_is_read_word_by_word_and_what_is_behind_it_is_not(units: int, word_bits: int) -> None:
    topology = chip(units, units={"word_bits": word_bits})
    entries = (np.arange(topology.table_rows * units) * 3 - 128).astype(f"int{word_bits}")
    rows = words_in_rows(entries.reshape(-1, units), topology).reshape(-1, topology.row_bytes)
    assert table_of(rows, topology).tolist() == entries[:256].tolist()


@given(
    st.lists(st.integers(LEAST, MOST), min_size=16, max_size=16),
    st.lists(st.integers(LEAST, MOST), min_size=8, max_size=8),
    st.sampled_from(["single", "double"]),
    st.integers(-128, 127),
)
def test_requantising_is_that_of_the_arithmetic_with_a_bias_that_saturates(
    sums: list[int], bias: list[int], rule: str, zero_point: int
) -> None:
    control = Set(rule=rule, zero_point=zero_point, clamp=(-100, 90))
    by_unit = scales(bias, [(1 << 30) + k for k in range(8)], [-k for k in range(8)])
    [found] = converted(captured(np.reshape(sums, (2, 8)), Function.REQUANTISE, control, scales=by_unit), CHIP)
    for index in np.ndindex(2, 8):
        unit = index[1]
        one = slice(unit, unit + 1)
        biased = np.array([min(MOST, max(LEAST, sums[index[0] * 8 + unit] + bias[unit]))], np.int32)
        [scaled] = requantise(rule, biased, by_unit.multiplier[one], by_unit.shift[one]).tolist()
        assert found[index] == min(90, max(-100, scaled + zero_point))


def test_planes_are_the_bytes_of_the_oracle() -> None:
    """O-R23."""
    rows = converted(captured(SUMS, Function.RAW), CHIP)
    assert [words_of(bytes_of(row[0], CHIP), CHIP).tolist() for row in rows] == PLANES


def test_planes_of_a_short_sum_have_its_sign() -> None:
    rows = converted(captured([-1, 5, -2048, 2047, 0, 1, 2, 3], Function.RAW), chip(8, units={"accumulator_bits": 12}))
    assert [(row[0, :4] & 255).tolist() for row in rows] == [
        [255, 5, 0, 255],
        [255, 0, 248, 7],
        *[[255, 0, 255, 0]] * 2,
    ]


@pytest.mark.parametrize("topology", [CHIP, WIDE])
@given(sums=st.lists(st.integers(LEAST, MOST), min_size=16, max_size=16))
def test_planes_round_trip_through_rows(topology: Topology, sums: list[int]) -> None:
    """Of several samples at once; a wide word holds the byte, the last with its sign."""
    back, given_sums = Accumulators(topology, 2), np.reshape(sums, (2, 8))
    for plane, row in enumerate(converted(captured(given_sums, Function.RAW), topology)):
        words = words_of(bytes_of(row, topology), topology)
        if topology is WIDE:
            assert words.min() >= (0 if plane < 3 else -128)
        back.work(Alu.PLANE, plane, words, words, Operands.of(Set(), topology), "plane")
    assert back.sums.tolist() == given_sums.tolist()


def test_an_entry_is_looked_up_by_the_lowest_byte() -> None:
    table = np.arange(256, dtype=np.int32) * 7 % 256 - 128
    sums = [[0, 1, 255, 256, -1, -256, 1 << 20, -129]]
    [found] = converted(captured(sums, Function.LOOKUP, table=table), CHIP)
    assert found.tolist() == [[int(table[s % 256]) for s in sums[0]]]


@pytest.mark.parametrize("topology", [CHIP, WIDE])
@pytest.mark.parametrize("sign", ["signed", "unsigned"])
@pytest.mark.parametrize(
    ("combine", "scaling"),
    [("add", add_scaling_fixed((0.5, 0.25, 0.75), (1, 2, 3))), ("multiply", (1, 1, 2, 1 << 30, -1))],
)
def test_sums_and_mux_registers_are_combined_as_words(
    topology: Topology, sign: Any, combine: Any, scaling: tuple[int, ...]
) -> None:
    a, b = [[1, 2, 3, 100, 120, 0, 7, 9]], [[5, 4, 3, 90, -1, 0, -7, 8]]
    control = Set(rule="double", data=sign, combine=combine, scaling=scaling, clamp=(-50, 200))
    [found] = converted(captured(a, Function.COMBINE, control, mux=b), topology)
    dtype = f"{'' if sign == 'signed' else 'u'}int{topology.units.word_bits}"
    of = {"add": add, "multiply": multiply}[combine]
    wanted = of("double", np.array(a).astype(dtype), np.array(b).astype(dtype), scaling)
    assert found.tolist() == np.clip(np.asarray(wanted, np.int64), -50, 200).tolist()


def test_without_a_mask_all_words_are_written_where_they_are() -> None:
    for mask in (Mask(), Mask(offset=3, block=4, stride=2)):
        taken, places = targets(mask, None, 8)
        assert taken.tolist() == places.tolist() == [*range(8)]


@pytest.mark.parametrize(
    ("mask", "place", "taken", "places"),
    [
        (Mask(offset=1, block=4, count=2, blocks=2), None, [1, 2, 5, 6], [1, 2, 5, 6]),
        (Mask(offset=6, block=4, stride=2, count=2, blocks=2), None, [6, 0, 2, 4], [6, 0, 2, 4]),
        (Mask(offset=1, block=4, stride=2, count=2, blocks=2), Place(2, 0), [1, 3, 5, 7], [1, 2, 5, 6]),
        (Mask(offset=1, block=4, stride=2, count=2, blocks=2), Place(2, 1), [1, 3, 5, 7], [3, 4, 7, 0]),
        (Mask(offset=0, block=8, stride=3, count=2), Place(4, 3), [0, 3], [6, 7]),
    ],
)
def test_which_words_are_named_and_where_they_go(
    mask: Mask, place: Place | None, taken: list[int], places: list[int]
) -> None:
    assert [words.tolist() for words in targets(mask, place, 8)] == [taken, places]


@st.composite
def masks(draw: Any) -> tuple[Mask, Place | None]:
    """Any that names no word twice, of a row of 24."""
    block = draw(st.sampled_from([2, 3, 4, 6, 8, 12, 24]))
    slots = draw(st.sampled_from([slots for slots in range(1, block + 1) if block % slots == 0]))
    count = draw(st.integers(1, block // slots))
    stride = draw(st.integers(1, max(1, (block - 1) // (count - 1)))) if count > 1 else 1
    mask = Mask(
        offset=draw(st.integers(0, 23)),
        block=block,
        stride=stride,
        count=count,
        blocks=draw(st.integers(1, 24 // block)),
    )
    return mask, draw(st.sampled_from([None, Place(slots, draw(st.integers(0, slots - 1)))]))


@given(masks(), st.sampled_from(["keep", "fill"]), st.integers(-128, 127), st.booleans())
def test_words_that_nobody_names_keep_or_are_filled(
    named: tuple[Mask, Place | None], outside: Any, fill: int, wide: bool
) -> None:
    """Word by word, for two samples of which each has its own."""
    mask, place = named
    topology = chip(24, units={"word_bits": 16 if wide else 8})
    words = np.arange(48, dtype=np.int32).reshape(2, 24) + 50
    before = np.random.default_rng(fill + 128).integers(0, 256, (2, topology.row_bytes)).astype(np.uint8)
    out = captured(words, Function.RAW, mask=mask, place=place, outside=outside, fill=fill)
    expected = words_of(before, topology).tolist() if outside == "keep" else [[fill] * 24 for _ in range(2)]
    for sample in range(2):
        for block in range(mask.blocks):
            first = mask.offset + block * mask.block
            for k in range(mask.count):
                to = first + k * mask.stride if place is None else first + place.slot * (mask.block // place.slots) + k
                expected[sample][to % 24] = int(words[sample, (first + k * mask.stride) % 24])
    after = written(out, words, before, topology)
    assert words_of(after, topology).tolist() == expected


def test_an_out_writes_a_row_and_a_raw_one_four() -> None:
    rows: list[Sequence[int]] = [captured([0] * 8, function).rows for function in Function]
    assert rows == [range(5, 9 if function is Function.RAW else 6) for function in Function]
