"""Convolutions of many sizes, on all models: sums are the convolution's, clocks those of the closed forms."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rotating.convolutions import (
    Frame,
    convolution,
    depthwise,
    depthwise_rows,
    direct,
    input_rows,
    out_plain,
    output_words,
    w_of,
    weight_rows,
    x_of,
)
from tests.rotating.models import Model, on_all_models, rows_after
from tests.rotating.programs import Bare, chip
from tilesim.rotating import stepped

SAME = (1, 1, 1, 1)


def bare_of(
    frame: Frame, x: np.ndarray[Any, Any], w: np.ndarray[Any, Any], first: int
) -> tuple[Bare, np.ndarray[Any, Any]]:
    """A convolution whose output rows stand from ``first`` on, pass by pass, and what it comes to."""
    y = direct(x, w, frame.stride, frame.padding, frame.dilation)
    ops = convolution(frame, w, len(x), len(y), out_plain(first, len(y)))
    return Bare(frame.topology, ops, input_rows(frame, x), weight_rows(frame, w, y.shape[1])), y


def must_be(model: Model, frame: Frame, bare: Bare, y: np.ndarray[Any, Any], first: int, columns: int) -> None:
    """Every output stands where it should."""
    rows = rows_after(model, bare, range(first, first + len(frame.filters) * len(y)))
    for j in range(len(frame.filters)):
        for q in range(len(y)):
            for f, words in output_words(frame, rows[j * len(y) + q], y.shape[1], columns, j).items():
                assert words == y[q, :, f].tolist()


def large(order: str, distances: str) -> tuple[Frame, Bare, np.ndarray[Any, Any]]:
    topology = chip(1024, units={"word_bits": 16}, rotation={"distances": distances})
    frame = Frame(topology, 16, [[b % 16 for b in range(64)]], [[*range(50), *[-1] * 14]], 16, order=order)
    return frame, *bare_of(frame, x_of(12, 12, 16), w_of(50, 5, 5, 16), 12)


@on_all_models
def test_the_large_one(model: Model) -> None:
    frame, bare, y = large("claimed", "1")
    assert (y[0, 0, 0], y[7, 7, 49], y.sum()) == (-85, 45, 113)
    assert hashlib.sha256(y.astype("<i4").tobytes()).hexdigest()[:16] == "2a0dbe50dac07576"
    result = model(bare.program())
    assert (result.clocks, result.stalls, len(bare.weights)) == ((10248, 10251), {}, 400)
    must_be(model, frame, bare, y, 12, 5)


@on_all_models
@pytest.mark.parametrize(
    ("distances", "order", "clocks"),
    [
        ("1", "trimmed", 9808),
        ("1 4", "claimed", 4488),
        ("1 8", "trimmed", 5608),
        ("1 4 8", "claimed", 3848),
        ("1 4 8", "trimmed", 3808),
        ("1-64", "claimed", 3208),
    ],
)
def test_longer_rotations(model: Model, distances: str, order: str, clocks: int) -> None:
    _, bare, _ = large(order, distances)
    assert model(bare.program()).clocks == (clocks, clocks + 3)


def test_what_the_large_one_does_how_often() -> None:
    counts = stepped.simulate(large("claimed", "1")[1].program(), ()).counts
    names = ("data_reads", "weight_reads", "rotations", "macs", "out")
    assert [counts[name] for name in names] == [40, 3200, 10200, 3200, 8]


@on_all_models
@pytest.mark.parametrize(("skips", "clocks"), [(False, 50), (True, 44)])
def test_depthwise(model: Model, skips: bool, clocks: int) -> None:
    frame = Frame(chip(16), 4, [[*range(4)]], [[*range(4)]], 1, padding=SAME, skips=skips)
    x, w = x_of(5, 3, 4), w_of(4, 3, 3, 1)[..., 0]
    y = direct(x, np.einsum("crs,cd->crsd", w, np.eye(4, dtype=int)), padding=SAME)
    ops = depthwise(frame, (3, 3), 5, 5, out_plain(5, 5))
    bare = Bare(frame.topology, ops, input_rows(frame, x), depthwise_rows(frame, w, 3))
    assert (model(bare.program()).clocks, len(bare.weights)) == ((clocks, clocks + 3), 9)
    must_be(model, frame, bare, y, 5, 3)


@on_all_models
def test_groups_of_channels_and_passes(model: Model) -> None:
    topology = chip(32, units={"word_bits": 16})
    channels, filters = [[0, 1, 2, 3], [4, 5, 6, -1]], [[0, 1, 2, 3], [4, 5, 6, 7], [8, -1, -1, -1]]
    frame = Frame(topology, 8, channels, filters, 4, padding=SAME)
    bare, y = bare_of(frame, x_of(4, 7, 7), w_of(9, 3, 3, 7), 8)
    assert (model(bare.program()).clocks, len(bare.weights)) == ((2316, 2319), 216)
    assert stepped.simulate(bare.program(), ()).counts["data_reads"] == 72
    must_be(model, frame, bare, y, 8, 3)


@on_all_models
@pytest.mark.parametrize(("order", "clocks"), [("claimed", (98, 50)), ("trimmed", (20, 20))])
def test_stripes(model: Model, order: str, clocks: tuple[int, int]) -> None:
    x, w = x_of(4, 20, 1), w_of(1, 3, 3, 1)
    left = Frame(chip(16), 16, [[0]], [[0]], 1, order=order)
    right = replace(left, block=8, channels=[[0, -1]], filters=[[0, -1]])
    parts = [bare_of(frame, part, w, 4) for frame, part in ((left, x[:, :15]), (right, x[:, 13:]))]
    assert tuple(model(bare.program()).issue_clocks for bare, _ in parts) == clocks
    for frame, (bare, y) in zip((left, right), parts, strict=True):
        must_be(model, frame, bare, y, 4, 3)
    assert (np.concatenate([y for _, y in parts], axis=1) == direct(x, w)).all()


@on_all_models
@pytest.mark.parametrize(
    ("channels", "filters", "held", "steps", "clocks"),
    [
        (20, 50, [b % 20 for b in range(64)], 24, 15368),  # goes on behind the last channel
        (20, 45, [j % 20 for j in range(45)] + [j % 20 for j in range(-19, 0)], 20, 12808),  # a chain
        (20, 50, [b % 32 if b % 32 < 20 else -1 for b in range(64)], 32, 20488),  # padded to the next divisor
        pytest.param(
            20, 50, [b if b < 20 else -1 for b in range(64)], 64, 40968, marks=pytest.mark.soak
        ),  # full circle
        pytest.param(24, 50, [b % 24 for b in range(64)], 40, 25608, marks=pytest.mark.soak),
        (12, 64, [b % 12 for b in range(64)], 16, 10248),
    ],
)
def test_steps_from_block_to_block(
    model: Model, channels: int, filters: int, held: list[int], steps: int, clocks: int
) -> None:
    """O-R5."""
    topology = chip(1024, units={"word_bits": 16}, weight_ram={"rows": 2048})
    frame = Frame(topology, 16, [held], [[*range(filters), *[-1] * (64 - filters)]], steps)
    bare, y = bare_of(frame, x_of(12, 12, channels), w_of(filters, 5, 5, channels), 12)
    assert (model(bare.program()).clocks, len(bare.weights)) == ((clocks, clocks + 3), 25 * steps)
    must_be(model, frame, bare, y, 12, 5)


@on_all_models
def test_a_smaller_chip(model: Model) -> None:
    """O-R5, on 512 units."""
    frame = Frame(chip(512, units={"word_bits": 16}), 8, [[b % 4 for b in range(64)]], [[*range(8), *[-1] * 56]], 4)
    bare, y = bare_of(frame, x_of(6, 6, 4), w_of(8, 3, 3, 4), 6)
    assert (model(bare.program()).clocks, len(bare.weights)) == ((388, 391), 36)
    must_be(model, frame, bare, y, 6, 3)


@st.composite
def frames(draw: st.DrawFn) -> tuple[Frame, int, int, tuple[int, int]]:
    """A convolution, with the lines, columns, and window of its input."""
    block, blocks = draw(st.sampled_from([(4, 2), (4, 4), (8, 2), (8, 3), (6, 4)]))
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    dilation, stride = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    reach = [(n - 1) * dilation for n in (rows, columns)]
    sides = [draw(st.integers(0, min(2, reach[k % 2]))) for k in range(4)]
    widest = min(block - 1, block - max(sides[1], sides[3]))
    width = draw(st.integers(1, widest))
    height = draw(st.integers(1, 5))
    if width + sides[1] + sides[3] <= reach[1] or height + sides[0] + sides[2] <= reach[0]:
        sides, width, height = [0] * 4, widest, 5
        dilation, columns, rows = 1, min(columns, widest), min(rows, 5)
    channels, filters = draw(st.integers(1, 2 * blocks)), draw(st.integers(1, 2 * blocks))
    padding = (sides[0], sides[1], sides[2], sides[3])
    keys: dict[str, Any] = {
        "units": {"word_bits": 16},
        "weight_ram": {"rows": 1024},
        "rotation": {
            "direction": draw(st.sampled_from(["up", "down"])),
            "distances": draw(st.sampled_from(["1", "1 3", "1 2 4", "1-5"])),
        },
    }
    frame = Frame(
        chip(block * blocks, **keys),
        block,
        _in_groups(channels, blocks),
        _in_groups(filters, blocks),
        blocks,
        stride,
        padding,
        dilation,
        draw(st.integers(0, block * blocks - 1)),
        draw(st.sampled_from(["claimed", "trimmed"])),
        draw(st.booleans()),
    )
    return frame, height, width, (rows, columns)


def _in_groups(count: int, size: int) -> list[list[int]]:
    padded = [*range(count), *[-1] * (-count % size)]
    return [padded[k : k + size] for k in range(0, len(padded), size)]


def closed_form(frame: Frame, height: int, lines: int, window: tuple[int, int]) -> int:
    """Issue clocks, as the book has them."""
    rows, columns = window
    inside = [
        0 <= q * frame.stride + r * frame.dilation - frame.padding[0] < lines
        for q in range(height)
        for r in range(rows)
    ]
    filter_rows = sum(inside) if frame.skips else len(inside)
    moves = frame.topology.rotation.moves
    words = frame.block - (columns - 1) * frame.dilation
    aligning = max(moves(words + (frame.units if words < 0 else 0)), 1) - 1
    row = frame.steps * (1 + (columns - 1) * moves(frame.dilation) + aligning)
    row -= aligning if frame.order == "trimmed" else 0
    return len(frame.filters) * (len(frame.channels) * filter_rows * row + height)


@on_all_models
@given(drawn=frames())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_convolution(model: Model, drawn: tuple[Frame, int, int, tuple[int, int]]) -> None:
    frame, lines, width, window = drawn
    channels, filters = (1 + max(map(max, held)) for held in (frame.channels, frame.filters))
    x, w = x_of(lines, width, channels), w_of(filters, *window, channels)
    bare, y = bare_of(frame, x, w, 20)
    assert model(bare.program()).issue_clocks == closed_form(frame, len(y), lines, window)
    must_be(model, frame, bare, y, 20, window[1])
