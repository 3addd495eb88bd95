"""Words that are moved: each wanted one is brought once, and masks name just those."""

from __future__ import annotations

import numpy as np
import pytest

from tilesim.rotating.compiler.channels import groups_of
from tilesim.rotating.compiler.moves import Copying, Words, masks
from tilesim.rotating.isa.model.program import Layout, Stripe
from tilesim.rotating.layout import sources

UNITS = 32


def named(mask: Words) -> set[int]:
    offset, block, stride, count, blocks = mask
    return {(offset + b * block + i * stride) % UNITS for b in range(blocks) for i in range(count)}


def layout(lines: int, width: int, depth: int, block: int, offset: int) -> Layout:
    channels = groups_of(depth, UNITS // block)
    return Layout(lines, width, depth, (Stripe(0, width, block, offset, channels),), 0)


@pytest.mark.parametrize("seed", range(30))
def test_masks_name_all_words_and_no_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    there = layout(1, 3, 5, int(rng.choice([4, 8, 16])), int(rng.integers(UNITS)))
    words = np.flatnonzero(rng.random(UNITS) < rng.choice([0.2, 0.9, 1]))
    if not words.size:
        return
    made = [named(mask) for mask in masks(words, there, UNITS)]
    assert set().union(*made) == set(words.tolist())
    assert sum(map(len, made)) == words.size


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("up", [True, False])
def test_each_word_is_brought_from_where_its_element_stands(seed: int, up: bool) -> None:
    rng = np.random.default_rng(seed)
    read, made = layout(2, 3, 5, 4, int(rng.integers(UNITS))), layout(3, 4, 3, 8, int(rng.integers(UNITS)))
    wanted = rng.integers(-1, 30, (3, 4, 3))
    copying = Copying([read], made, wanted, UNITS, up)
    read_columns, read_channels = sources(read, UNITS)
    columns, channels = sources(made, UNITS)
    for line in range(3):
        for row in range(made.line_rows):
            brought = {}
            moves = copying.row(line, row)
            for move, source in zip(moves.moves, moves.lines, strict=True):
                for word in set().union(*map(named, move.masks)):
                    at = (word - move.distance if up else word + move.distance) % UNITS
                    column, channel = read_columns[move.row, at], read_channels[move.row, at]
                    assert word not in brought
                    brought[word] = (source * 3 + column) * 5 + channel
            for word in range(UNITS):
                held = channels[row, word] >= 0
                element = wanted[line, columns[row, word], channels[row, word]] if held else -1
                assert brought.get(word, -1) == element
