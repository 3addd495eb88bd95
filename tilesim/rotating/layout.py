"""How the host's maps stand in rows: values into words, and words into values. Pure arithmetic, without time.

Source: US 2018/0157962, claim 1, for a line of a channel in a block of a row; offsets, stripes, replicas and what
lies in unused words are assumptions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.isa.model.program import Layout
from tilesim.rotating.topology import Topology

Indices = NDArray[np.intp]
NONE = -1
"""Column and channel of a word that holds no element."""


def word_dtype(topology: Topology) -> np.dtype[Any]:
    """A word as the host reads it: signed, the lowest byte first."""
    return np.dtype("<i2" if topology.word_bytes == 2 else "i1")


def rows_of(values: NDArray[Any], layout: Layout, topology: Topology) -> NDArray[np.uint8]:
    """The rows in which integer ``values`` (samples, height, width, depth) stand: (samples, rows, row bytes).

    A channel that several blocks hold is in all of them; words without an element are the layout's fill.
    """
    columns, channels = sources(layout, topology.units.count)
    dtype = word_dtype(topology)
    words = np.where(
        columns == NONE, np.array(layout.fill).astype(dtype), values[:, :, columns, channels].astype(dtype)
    )
    return words_in_rows(words, topology).reshape(len(values), layout.rows, topology.row_bytes)


def values_of(
    rows: NDArray[np.uint8], layout: Layout, topology: Topology, dtype: np.dtype[Any] | type[Any] | str
) -> NDArray[Any]:
    """The values (samples, height, width, depth) that stand in ``rows`` (samples, rows, row bytes), each read where it
    stands first. One that stands nowhere is the layout's fill.
    """
    places = homes(layout, topology.units.count)
    lines = rows_in_words(rows, topology).reshape(len(rows), layout.height, -1)
    values = np.where(places == NONE, np.array(layout.fill).astype(lines.dtype), lines[:, :, places])
    return np.ascontiguousarray(values.astype(dtype))


def words_in_rows(words: NDArray[Any], topology: Topology) -> NDArray[np.uint8]:
    """Words (..., units), as the bytes (..., row bytes) of rows."""
    return np.ascontiguousarray(words.astype(word_dtype(topology))).view(np.uint8)


def rows_in_words(rows: NDArray[np.uint8], topology: Topology) -> NDArray[Any]:
    """The signed words (..., units) of rows (..., row bytes)."""
    return np.ascontiguousarray(rows).view(word_dtype(topology))


@lru_cache(maxsize=256)
def sources(layout: Layout, units: int) -> tuple[Indices, Indices]:
    """Of each word of a line, (rows of a line, units): the column and the channel that it holds."""
    columns, channels = (np.full((layout.line_rows, units), NONE, np.intp) for _ in range(2))
    row = 0
    for stripe in layout.stripes:
        within = np.arange(stripe.columns)
        for held in stripe.channels:
            for block, channel in enumerate(held):
                if channel != NONE:
                    words = (stripe.offset + block * stripe.block + within) % units
                    columns[row, words], channels[row, words] = stripe.first_column + within, channel
            row += 1
    return columns, channels


@lru_cache(maxsize=256)
def homes(layout: Layout, units: int) -> Indices:
    """Of each element of a line, (width, depth): the word of the line at which it stands first, the line's rows end to
    end.
    """
    columns, channels = (found.reshape(-1) for found in sources(layout, units))
    places = np.full((layout.width, layout.depth), NONE, np.intp)
    held = np.flatnonzero(columns != NONE)[::-1]  # backwards, so that the first is the one that stays
    places[columns[held], channels[held]] = held
    return places
