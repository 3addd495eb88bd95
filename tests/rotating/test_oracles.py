"""Programs of which every number was worked out elsewhere, on all models: issue clocks, cycles, stalls and words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.rotating.convolutions import (
    Frame,
    convolution,
    direct,
    input_rows,
    out_plain,
    output_words,
    w_of,
    weight_rows,
    x_of,
)
from tests.rotating.models import Model, on_all_models, rows_after
from tests.rotating.programs import PROLOGUE, Bare, chip, halved
from tilesim.errors import AccessError
from tilesim.rotating import stepped
from tilesim.rotating.isa.model.instructions import Alu, End, Instruction, Loop, Mask, Out, Place, Rows, Step
from tilesim.rotating.topology import Topology

NUMBERS = json.loads((Path(__file__).parent / "oracles.json").read_text(encoding="utf-8"))

ROW = [0, 1, 2, 3, 4, 5, 6, 7]
SAME = (1, 1, 1, 1)


@on_all_models
@pytest.mark.parametrize(
    ("keys", "distance", "repeat", "words"),
    [
        ({}, 1, 1, [7, 0, 1, 2, 3, 4, 5, 6]),
        ({"rotation": {"distances": "1 3"}}, 3, 1, [5, 6, 7, 0, 1, 2, 3, 4]),
        ({}, 1, 8, ROW),
        ({"rotation": {"direction": "down"}}, 1, 1, [1, 2, 3, 4, 5, 6, 7, 0]),
        ({"units": {"segments": 2}}, 1, 1, [3, 0, 1, 2, 7, 4, 5, 6]),
        ({"units": {"segments": 2, "segment_shift": "quarter"}}, 1, 1, [7, 0, 5, 2, 3, 4, 1, 6]),
    ],
)
def test_words_rotate(model: Model, keys: dict[str, Any], distance: int, repeat: int, words: list[int]) -> None:
    ops = [Step(data=Rows(0)), Step(rotate=distance, repeat=repeat), Step(alu=Alu.COPY), Out(row=Rows(1))]
    assert rows_after(model, Bare(chip(8, **keys), ops, {0: ROW}, {}), [1]) == [words]


def readable(topology: Topology, order: str = "claimed") -> Bare:
    """The program to read: 3 x 3 x 2, two filters of 2 x 2."""
    frame = Frame(topology, 4, [[0, 1]], [[0, 1]], 2, order=order, outside=15)
    w = w_of(2, 2, 2, 2)
    ops = convolution(frame, w, 3, 2, out_plain(3, 2))
    return Bare(topology, ops, input_rows(frame, x_of(3, 3, 2)), weight_rows(frame, w, 2))


def in_loops() -> list[Instruction]:
    """The same program, as the skeleton has it."""
    multiply = Alu.MULTIPLY_ADD
    return [
        Loop(count=2),
        Loop(count=2),
        Step(data=Rows(0, (1, 1)), weights=Rows(0, (0, 4)), alu=multiply),
        Step(rotate=1, weights=Rows(1, (0, 4)), alu=multiply),
        Step(rotate=1, repeat=2),
        Loop(count=1),
        Step(rotate=1, weights=Rows(2, (0, 4, 2), 1), alu=multiply, repeat=2),
        Step(rotate=1, repeat=2),
        End(),
        End(),
        Out(row=Rows(3, (1,)), clear="zero"),
        End(),
    ]


Y = [[0, 42, -11, 0, 0, -43, 36, 0], [0, -34, -22, 0, 0, 33, -31, 0]]


def test_the_program_to_read_has_the_rows_of_the_book() -> None:
    bare = readable(chip(8))
    assert [bare.data[k].tolist() for k in range(3)] == NUMBERS["data_rows"]
    assert [bare.weights[k].tolist() for k in range(8)] == NUMBERS["weight_rows"]


@on_all_models
@pytest.mark.parametrize("loops", [False, True])
def test_the_program_to_read(model: Model, loops: bool) -> None:
    bare = readable(chip(8))
    bare = replace(bare, array=in_loops()) if loops else bare
    result = model(bare.program())
    assert (result.clocks, result.stalls) == ((34, 37), {})
    assert rows_after(model, bare, [3, 4]) == Y


@on_all_models
def test_the_program_to_read_trimmed(model: Model) -> None:
    bare = readable(chip(8), "trimmed")
    assert model(bare.program()).clocks == (26, 29)
    assert rows_after(model, bare, [3, 4]) == Y


@on_all_models
def test_the_program_to_read_downwards(model: Model) -> None:
    bare = readable(chip(8, rotation={"direction": "down"}))
    assert bare.weights[0].tolist() == [-3, -3, 0, 0, -2, -2, 0, 0]
    assert model(bare.program()).clocks == (34, 37)
    assert rows_after(model, bare, [3, 4]) == [[42, -11, 0, 0, -43, 36, 0, 0], [-34, -22, 0, 0, 33, -31, 0, 0]]


def test_what_stands_in_the_registers_of_the_program_to_read() -> None:
    outcome = stepped.simulate(readable(chip(8)).program(), (), observes=True)
    registers = outcome.registers[PROLOGUE : PROLOGUE + 34]
    assert [mux.tolist() for mux, _ in registers] == [[word % 256 for word in row] for row in NUMBERS["mux"]]
    assert [sums.tolist() for _, sums in registers] == NUMBERS["acc"]


def test_how_often_the_program_to_read_does_what() -> None:
    outcome = stepped.simulate(readable(chip(8)).program(), ())
    counts = {name: outcome.counts[name] for name in ("data_reads", "weight_reads", "rotations", "macs", "out")}
    assert counts == {"data_reads": 4, "weight_reads": 16, "rotations": 28, "macs": 16, "out": 2}
    assert outcome.writes == [(PROLOGUE + 19, 3), (PROLOGUE + 36, 4)]


def edged(block: int = 8, width: int = 7, **fields: Any) -> tuple[Frame, Bare]:
    """4 x 7 x 2, two filters of 3 x 3, as large as before."""
    units = 2 * block
    frame = Frame(chip(units), block, [[0, 1]], [[0, 1]], 2, padding=SAME, **fields)
    w = w_of(2, 3, 3, 2)
    ops = convolution(frame, w, 4, 4, out_plain(4, 4))
    return frame, Bare(frame.topology, ops, input_rows(frame, x_of(4, width, 2)), weight_rows(frame, w, width))


def wrong_columns(model: Model, frame: Frame, bare: Bare, width: int, lines: range = range(4)) -> set[int]:
    """Columns in which the ``lines`` of the output are not the convolution's."""
    y = direct(x_of(4, width, 2), w_of(2, 3, 3, 2), padding=frame.padding)
    rows = rows_after(model, bare, [4 + q for q in lines])
    return {
        column
        for q, row in zip(lines, rows, strict=True)
        for f, words in output_words(frame, row, y.shape[1], 3).items()
        for column, word in enumerate(words)
        if word != y[q, column, f]
    }


@on_all_models
@pytest.mark.parametrize(("skips", "clocks"), [(False, 196), (True, 164)])
def test_edges(model: Model, skips: bool, clocks: int) -> None:
    frame, bare = edged(skips=skips)
    assert frame.out_offset(3) == 1
    assert model(bare.program()).clocks == (clocks, clocks + 3)
    words = output_words(frame, rows_after(model, bare, [4])[0], 7, 3)
    assert words == {0: [-43, 48, 4, -40, -32, 28, -33], 1: [81, -5, -54, -25, 56, 46, -15]}
    assert wrong_columns(model, frame, bare, 7) == set()


@on_all_models
def test_a_block_that_is_only_as_wide_as_a_line_is_wrong_at_its_edges(model: Model) -> None:
    frame, bare = edged(width=8)
    assert wrong_columns(model, frame, bare, 8) == {0, 7}


def valid(width: int, fill: int = 0) -> tuple[Frame, Bare]:
    frame = Frame(chip(16), 8, [[0, 1]], [[0, 1]], 2)
    w = w_of(2, 3, 3, 2)
    ops = convolution(frame, w, 4, 2, out_plain(4, 2))
    return frame, Bare(
        frame.topology, ops, input_rows(frame, x_of(4, width, 2), fill), weight_rows(frame, w, width - 2)
    )


@on_all_models
@pytest.mark.parametrize(("width", "fill"), [(8, 0), (7, 99)])
def test_without_padding_neither_full_blocks_nor_what_is_in_pad_words_matters(
    model: Model, width: int, fill: int
) -> None:
    frame, bare = valid(width, fill)
    assert wrong_columns(model, frame, bare, width, range(2)) == set()


@on_all_models
def test_what_is_in_pad_words_matters_at_the_edges(model: Model) -> None:
    frame, bare = edged()
    data = input_rows(frame, x_of(4, 7, 2), fill=99)
    poisoned = replace(bare, data={**data, frame.outside: [0] * 16})
    assert wrong_columns(model, frame, poisoned, 7, range(1, 3)) == {0, 6}


@on_all_models
def test_a_chain_of_layers_moves_nothing(model: Model) -> None:
    topology, w = chip(16), w_of(2, 3, 3, 2)
    first = Frame(topology, 8, [[0, 1]], [[0, 1]], 2, padding=SAME)
    second = replace(first, offset=first.out_offset(3), first_row=4, weight_row=36)
    assert (second.offset, second.out_offset(3)) == (1, 2)
    ops = convolution(first, w, 4, 4, out_plain(4, 4)) + convolution(second, w - 1, 4, 4, out_plain(8, 4))
    weights = weight_rows(first, w, 7) | weight_rows(second, w - 1, 7)
    bare = Bare(topology, ops, input_rows(first, x_of(4, 7, 2)), weights, scaling=halved(3))
    result = model(bare.program())
    assert (result.clocks, result.stalls) == ((392, 395), {})
    assert rows_after(model, bare, [4, 8]) == [
        [0, -6, 6, 0, -5, -4, 3, -5, 0, 10, -1, -7, -4, 7, 5, -2],
        [4, 0, 2, 2, -8, 4, 3, -9, -4, 0, 10, -19, -6, 12, 7, 2],
    ]


def vectors(inputs: int, outputs: int, units: int, block: int = 1, order: str = "trimmed") -> Bare:
    """A fully connected layer."""
    topology = chip(units, weight_ram={"rows": 2048})
    blocks = units // block
    channels = [b % inputs for b in range(blocks)] if block == 1 else [*range(inputs), *[-1] * (blocks - inputs)]
    filters = [*range(outputs), *[-1] * (blocks - outputs)]
    frame = Frame(topology, block, [channels], [filters], inputs, order=order)
    w = w_of(outputs, 1, 1, inputs)
    ops = convolution(frame, w, 1, 1, out_plain(1, 1))
    return Bare(topology, ops, input_rows(frame, x_of(1, 1, inputs)), weight_rows(frame, w, 1))


@on_all_models
def test_a_fully_connected_layer(model: Model) -> None:
    bare = vectors(4, 8, 8)
    assert bare.data[0].tolist() == [-5, 0, 5, -3, -5, 0, 5, -3]
    assert bare.weights[0].tolist() == [-3, -2, -1, 0, -5, -4, -3, -2]
    assert model(bare.program()).clocks == (5, 8)
    assert rows_after(model, bare, [1]) == [[27, 12, 30, 15, 0, 18, -52, 21]]


@on_all_models
@pytest.mark.parametrize(
    ("inputs", "outputs", "units", "block", "clocks"),
    [(8, 8, 8, 1, 9), (1024, 1024, 1024, 1, 1025), (64, 12, 1024, 1, 65), (64, 12, 1024, 2, 128)],
)
def test_clocks_of_fully_connected_layers(
    model: Model, inputs: int, outputs: int, units: int, block: int, clocks: int
) -> None:
    assert model(vectors(inputs, outputs, units, block).program()).clocks == (clocks, clocks + 3)


def sums(topology: Topology, products: int) -> Bare:
    """x = 10, -10 times 9 9, 9 9, -9 1, up to so many of them."""
    weights = {0: [9, 9], 1: [9, 9], 2: [-9, 1]}
    ops: list[Instruction] = [Step(data=Rows(0))]
    ops += [Step(weights=Rows(k), alu=Alu.MULTIPLY_ADD) for k in range(products)]
    return Bare(topology, [*ops, Out(row=Rows(1))], {0: [10, -10]}, weights)


@on_all_models
@pytest.mark.parametrize(
    ("bits", "overflow", "rows"),
    [
        (32, "saturate", [[90, -90], [180, -180], [90, -190]]),
        (8, "saturate", [[90, -90], [127, -128], [37, -128]]),
        (8, "wrap", [[90, -90], [-76, 76], [90, 66]]),
    ],
)
def test_accumulators(model: Model, bits: int, overflow: str, rows: list[list[int]]) -> None:
    topology = chip(2, units={"word_bits": 16, "accumulator_bits": bits, "overflow": overflow})
    assert [rows_after(model, sums(topology, k + 1), [1])[0] for k in range(3)] == rows


@on_all_models
def test_a_sum_that_is_refused(model: Model) -> None:
    topology = chip(2, units={"word_bits": 16, "accumulator_bits": 8, "overflow": "refuse"})
    assert rows_after(model, sums(topology, 1), [1]) == [[90, -90]]
    with pytest.raises(AccessError, match="180"):
        model(sums(topology, 2).program())


@on_all_models
def test_a_stride_is_compressed_as_it_is_written(model: Model) -> None:
    topology = chip(64)
    first = Frame(
        topology, 16, [[0, 1, 2, 3]], [[0, 2, 4, 6], [1, 3, 5, 7]], 4, stride=2, padding=SAME, order="trimmed"
    )
    w1, w2 = w_of(8, 3, 3, 4), w_of(8, 1, 1, 8)
    second = Frame(topology, 8, [[*range(8)]], [[*range(8)]], 8, offset=1, order="trimmed", first_row=8, weight_row=72)

    def placed(j: int, q: int) -> Out:
        return Out(row=Rows(8 + q), place=Place(2, j), outside="keep" if j else "fill", clear="zero")

    ops = [
        *convolution(first, w1, 8, 4, placed),
        Mask(),
        *convolution(second, w2, 4, 4, out_plain(12, 4)),
    ]
    weights = weight_rows(first, w1, 4) | weight_rows(second, w2, 4)
    mask = Mask(offset=first.out_offset(3), block=16, stride=2, count=4, blocks=4)
    bare = Bare(topology, ops, input_rows(first, x_of(8, 8, 4)), weights, mask, halved(2))
    assert (first.out_offset(3), len(weights)) == (1, 80)
    result = model(bare.program())
    assert (result.clocks, result.stalls) == ((1464 + 1, 1467 + 1), {})
    assert rows_after(model, bare, [8]) == [NUMBERS["strided_row8"]]
    y1 = direct(x_of(8, 8, 4), w1, 2, SAME) >> 2
    y2 = (direct(y1, w2) >> 2).clip(-128, 127)
    for q, row in enumerate(rows_after(model, bare, [12, 13, 14, 15])):
        assert output_words(second, row, 4, 1) == {f: y2[q, :, f].tolist() for f in range(8)}


@on_all_models
def test_two_images_in_two_rings_share_half_rows(model: Model) -> None:
    one = readable(chip(8))
    topology = chip(16, units={"segments": 2}, weight_ram={"rows": 16, "shape": "half_rows"})
    x = x_of(3, 3, 2)
    frame = Frame(one.topology, 4, [[0, 1]], [[0, 1]], 2)
    two = input_rows(frame, x - 1)
    data = {k: [*row, *two.get(k, row)] for k, row in one.data.items()}
    weights = {k: [*one.weights[2 * k], *one.weights[2 * k + 1]] for k in range(4)}
    bare = Bare(topology, one.array, data, weights)
    result = model(bare.program())
    assert (result.clocks, result.stalls) == ((34, 37), {})
    y = direct(x - 1, w_of(2, 2, 2, 2))
    for q, row in enumerate(rows_after(model, bare, [3, 4])):
        assert row[:8] == Y[q]
        assert output_words(frame, row[8:], 2, 2) == {f: y[q, :, f].tolist() for f in range(2)}
