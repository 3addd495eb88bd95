"""Static checks of layouts: stripes that leave out columns, blocks that have no room, channels that are nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from tilesim.machines.checks import MOST_HOST_BYTES
from tilesim.rotating.isa.checks.fields import word_range
from tilesim.rotating.isa.model.program import Layout, Stripe
from tilesim.rotating.topology import Topology


def layout_faults(layout: Layout, topology: Topology) -> Iterator[str]:
    """What is wrong with how a map stands in rows."""
    size = layout.height, layout.width, layout.depth
    if min(size) < 1:
        yield f"layout.height, width and depth must be at least 1, not {', '.join(map(str, size))}"
        return
    (low, _), (_, high) = word_range(topology, signed=True), word_range(topology, signed=False)
    if not low <= layout.fill <= high:
        yield f"layout.fill must be {low} to {high}, what a word can be, not {layout.fill}"
    if layout.rows * topology.row_bytes > MOST_HOST_BYTES:
        yield f"layout must be at most {MOST_HOST_BYTES} bytes, not {layout.rows} rows of {topology.row_bytes}"
    yield from _columns(layout)
    for number, stripe in enumerate(layout.stripes):
        for sentence in _stripe(stripe, layout, topology.units.count):
            yield f"layout.stripes[{number}]: {sentence}"


def _columns(layout: Layout) -> Iterator[str]:
    """Stripes follow each other without a gap; those that share columns hold these twice."""
    end = 0
    for number, stripe in enumerate(layout.stripes):
        if not 0 <= stripe.first_column <= end or stripe.columns < 1:
            what = f"first_column must be 0 to {end}, and columns 1 or more"
            yield f"layout.stripes[{number}]: {what}, not {stripe.first_column} and {stripe.columns}"
            return
        end = max(end, stripe.first_column + stripe.columns)
    if end != layout.width:
        yield f"layout.stripes must have the {layout.width} columns of the map, not {end}"


def _stripe(stripe: Stripe, layout: Layout, units: int) -> Iterator[str]:
    if not 0 <= stripe.offset < units:
        yield f"offset must be 0 to {units - 1}, a word of a row, not {stripe.offset}"
    if stripe.block < stripe.columns:
        yield f"block must be at least {stripe.columns}, the columns, not {stripe.block}"
    for row, channels in enumerate(stripe.channels):
        if len(channels) * stripe.block > units:
            words = f"{len(channels)} blocks of {stripe.block}"
            yield f"channels[{row}] must be in at most {units} words, those of a row, not in {words}"
    there = {channel for channels in stripe.channels for channel in channels if channel != -1}
    if there and not 0 <= min(there) <= max(there) < layout.depth:
        yield f"channels must be -1 to {layout.depth - 1}, not {min(there)} to {max(there)}"
    elif (missing := next(channel for channel in count() if channel not in there)) < layout.depth:
        yield f"channels must have channel {missing} in a block"
