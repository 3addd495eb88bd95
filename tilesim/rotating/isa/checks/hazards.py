"""Whether syncs order what must be ordered: two units that touch one row, one of them to write.

The array and the output unit are in order with each other by themselves: a load waits for the write of its row, and an
out behind a load writes later. Each DMA unit is in order with itself. All others need a sync between them. A unit's
accesses of a row are done in the order of their numbers, so that an access which does not know of all of another
unit's needs to look at the first of the others only: if that one does not know of it, nothing orders the two.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tilesim.rotating.isa.checks.accesses import Access
from tilesim.rotating.isa.checks.deadlock import named
from tilesim.rotating.isa.checks.instances import Instances, Ints, instances
from tilesim.rotating.isa.checks.moves import Moves, ram_key, row_of, rows_in, rows_out
from tilesim.rotating.isa.checks.order import OUTS, ROWS_IN, ROWS_OUT, WRITES, Order
from tilesim.rotating.isa.checks.section import Section, Touch
from tilesim.rotating.isa.model.instructions import Queue, Ram

Pair = tuple[int, int, int]
"""The places of two instructions, and the key of a row that both touch."""


def hazards(order: Order) -> list[str]:
    """Every pair of instructions of a section that touch the same row, one of them to write, and that no sync puts in
    order. ``order`` must be of a section without a deadlock.
    """
    section = order.section
    rows: dict[tuple[int, int], int] = {}
    for one, other, key in _meetings(order):
        pair = min(one, other), max(one, other)
        rows[pair] = min(key, rows.get(pair, key))
    return [
        f"nothing orders {named(section.name, one, section.ops[one])} and "
        f"{named(section.name, other, section.ops[other])}: both touch {row_of(key)}"
        for (one, other), key in sorted(rows.items())
    ]


def _meetings(order: Order) -> Iterator[Pair]:
    section = order.section
    come, gone = order.moving(Queue.DMA_IN), order.moving(Queue.DMA_OUT)
    into, out_of = rows_in(section.rows_in, come), rows_out(section.rows_out, gone)
    yield from _between(into, out_of)
    yield from _between(rows_in(section.rows_in, come, scratch=True), rows_out(section.rows_out, gone, scratch=True))
    for ram in Ram:
        yield from _with_array(order, into, ram, ROWS_IN, writes_only=False)
    yield from _with_array(order, out_of, Ram.DATA, ROWS_OUT, writes_only=True)


def _between(into: Moves, out_of: Moves) -> Iterator[Pair]:
    """Rows of DMA in and of DMA out that meet."""
    there, at = into.behind(out_of.key, out_of.of(ROWS_IN))
    if there.any():
        apart = there & (into.of(ROWS_OUT)[at] < out_of.number)
        yield from _pairs(out_of.place[apart], into.place[at[apart]], out_of.key[apart])


def _with_array(order: Order, moves: Moves, ram: Ram, counter: int, writes_only: bool) -> Iterator[Pair]:
    """Rows of a DMA unit, which the array knows by ``counter``, that meet those of the array and the output unit."""
    touched = [it for it in order.section.touched if it.access.ram is ram and (it.access.writes or not writes_only)]
    near = list(_near(touched, moves, order.section, ram))
    for column, some in _by_counter(near):
        for part in instances(some):
            keys = part.row + ram_key(ram)
            there, at = moves.behind(keys, order.knew_of(counter, part.issued))
            if there.any():
                here, at, keys = part[there], at[there], keys[there]
                apart = moves.of(column)[at] < _number(here, some[0].access, order)
                yield from _pairs(here.place[apart], moves.place[at[apart]], keys[apart])


def _near(touched: list[Touch], moves: Moves, section: Section, ram: Ram) -> Iterator[Touch]:
    """Accesses between whose first and last row is one that is moved."""
    topology = section.topology
    rows = topology.data_ram.rows if ram is Ram.DATA else topology.weight_ram.rows
    here = moves.key[(moves.key >= ram_key(ram)) & (moves.key < ram_key(ram) + rows)] - ram_key(ram)
    moved = np.zeros(rows + 1, np.int64)
    moved[here + 1] = 1
    before = np.cumsum(moved).tolist()
    for touch in touched:
        first, last = touch.rows
        if before[last + 1] > before[first]:
            yield touch


def _by_counter(
    touched: list[Touch],
) -> Iterator[tuple[int, list[Touch]]]:
    """Accesses of a kind, and which counter tells others that they are done."""
    yield WRITES, [it for it in touched if it.access.writes]
    yield OUTS, [it for it in touched if it.access.fetches]
    yield OUTS, [it for it in touched if not it.access.writes and not it.access.fetches]


def _number(part: Instances, access: Access, order: Order) -> Ints:
    """What that counter must have come to: the row's own, or the out by which it is known to be fetched, or loaded."""
    if access.writes:
        return part.writes + 1
    return order.fetched_by(part.issued) if access.fetches else part.outs + 1


def _pairs(places: Ints, others: Ints, keys: Ints) -> Iterator[Pair]:
    """Each pair once, with its least key."""
    order = np.lexsort((keys, others, places))
    columns: NDArray[np.int64] = np.stack([places, others, keys])[:, order]
    fresh = np.ones(columns.shape[1], bool)
    fresh[1:] = (columns[:2, 1:] != columns[:2, :-1]).any(axis=0)
    yield from map(tuple, columns[:, fresh].T.tolist())
