"""Static checks of addresses: rows beyond their memory, and how much all loops together touch."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilesim.machines.program import where
from tilesim.rotating.isa.checks.accesses import WORDS, Access
from tilesim.rotating.isa.checks.loops import MOST_ISSUED
from tilesim.rotating.isa.checks.moves import MOST_MOVED
from tilesim.rotating.isa.checks.section import Section
from tilesim.rotating.isa.model.instructions import Ram, Rows, Sync
from tilesim.rotating.topology import Topology

MOST_TOUCHED = 1 << 26
"""Rows that the array touches in a section, each as often as it does."""


def row_faults(section: Section) -> Iterator[str]:
    """Rows of the array outside of a RAM, in whatever turn of the loops, and syncs for less than nothing."""
    for nested, access, first, last in section.touched:
        size = rows(section.topology, access)
        if not 0 <= first <= last < size:
            kept = f"{'half ' * access.halves}rows {first} to {last}"
            here = where(section.name, nested.place, nested.op)
            yield f"{here}: {access.field} must keep {kept} inside {WORDS[access.ram]}, which has {size}"
    for nested in section.nested:
        if isinstance(nested.op, Sync) and nested.op.strides:
            least = Access("count", Ram.DATA, Rows(nested.op.count, nested.op.strides)).extent(nested.counts)[0]
            if least < 0:
                yield f"{where(section.name, nested.place, nested.op)}: count must be 0 or more, not {least}"


def rows(topology: Topology, access: Access) -> int:
    """How many an access can tell apart."""
    if access.ram is Ram.DATA:
        return topology.data_ram.rows
    return topology.weight_addresses if access.halves else topology.weight_ram.rows


def work_faults(section: Section) -> Iterator[str]:
    """More than can be carried out in a sensible time."""
    issued = section.totals.issued
    if issued > MOST_ISSUED:
        yield f"{section.name}: loops must come to at most {MOST_ISSUED} instructions, not {issued}"
    touched = sum(prod(it.nested.counts) * it.access.count for it in section.touched)
    if touched > MOST_TOUCHED:
        yield f"{section.name}: loops must touch at most {MOST_TOUCHED} rows, not {touched}"
    for moved in (section.rows_in, section.rows_out):
        if (total := sum(op.rows for _, op, _ in moved)) > MOST_MOVED:
            yield f"{section.name}: {moved[0][1].mnemonic} must move at most {MOST_MOVED} rows in all, not {total}"
