"""Two instructions of one tile that touch the same bytes must come in an order that flags, fences or a buffer
enforce. What a tensorop itself writes and reads again needs none: its interlock sees to that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations, product

import numpy as np

from tilesim.tiled.isa.fields import Engine, Traversal, Watcher
from tilesim.tiled.isa.instructions import Work, counted_nest
from tilesim.tiled.isa.nests import iterations
from tilesim.tiled.isa.program import Program
from tilesim.tiled.rules.footprint import Footprint, by_round, footprints
from tilesim.tiled.rules.order import Step, TileOrder, increments, raised_flag
from tilesim.tiled.rules.waits import vain_waits
from tilesim.tiled.topology import Topology
from tilesim.tiled.units import ttu


def hazards(program: Program) -> list[str]:
    """Every pair of instructions that may touch the same bytes in either order, at least one of them writing, one
    sentence a pair; and every wait for a later instruction that has nothing to do with the one that waits.
    """
    return [sentence for tile in range(program.topology.tiles) for sentence in _tile_hazards(program, tile)]


@dataclass(frozen=True)
class _Use:
    step: Step
    footprint: Footprint
    topology: Topology

    def meets(self, other: _Use) -> bool:
        """Whether both touch some byte."""
        return self.footprint.touched & other.footprint.touched != 0

    @cached_property
    def rounds(self) -> list[int] | None:
        return by_round(self.step.op, self.footprint.operand, self.topology)


def _tile_hazards(program: Program, tile: int) -> Iterator[str]:
    order = TileOrder(program, tile)
    yield from (f"tile {tile}: {sentence}" for sentence in order.fence_faults)
    started = [step for step in order.steps if order.starts(step)]
    touched = {step: list(footprints(step.op, program.topology)) for step in started}
    yield from (f"tile {tile}: {sentence}" for sentence in vain_waits(order, touched))
    uses = [_Use(step, footprint, program.topology) for step in started for footprint in touched[step]]
    for a, b in _elsewhere(uses):
        if not order.ordered(a.step, b.step) and a.meets(b) and not _gated(order, a, b):
            yield _sentence(tile, a, b)


def _elsewhere(uses: list[_Use]) -> Iterator[tuple[_Use, _Use]]:
    """Pairs in one memory, at least one of them writing, of two engines: the buffer of one keeps them in order."""
    found: dict[tuple[str, Engine, bool], list[_Use]] = {}
    for use in uses:
        found.setdefault((use.footprint.memory, use.step.op.engine, use.footprint.writes), []).append(use)
    for (one, some), (other, others) in combinations(found.items(), 2):
        if one[0] == other[0] and one[1] != other[1] and (one[2] or other[2]):
            yield from product(some, others)


def _gated(order: TileOrder, a: _Use, b: _Use) -> bool:
    """Whether watchers let one of them touch a row only when the other is through with it."""
    return any(follows(order, *pair) for pair in ((a, b), (b, a)) for follows in (_follows_by_rounds, _follows_by_rows))


def _follows_by_rounds(order: TileOrder, first: _Use, then: _Use) -> bool:
    """Round by round of both outermost loops: all that ``first`` may still touch, ``then`` leaves alone."""
    op, flag = first.step.op, raised_flag(first.step.op)
    watchers = [watcher for watcher in then.step.op.wait if watcher.flag == flag]
    if not watchers or op.produce is None or first.step not in order.raisers(then.step, flag):
        return False
    ahead, behind = (use.rounds for use in (first, then))
    if ahead is None or behind is None:
        return False
    before, raises = first.step.raised_to - increments(op), increments(op)
    left = [*accumulate(reversed(ahead), int.__or__)][::-1]
    for k, touched in enumerate(behind):
        done = (_count(watchers, k, then.step.op, order.strict) - before) * len(ahead) // raises
        if done < len(ahead) and touched & left[max(0, done)]:
            return False
    return True


def _count(watchers: list[Watcher], k: int, op: Work, strict: bool) -> int:
    """What the flag has at least counted to in round k of the outermost loop."""
    outer = counted_nest(op).loops[0].name
    found = [w.expected + k * w.stride + strict for w in watchers if w.loop in (None, outer)]
    return max(found, default=-1)


def _follows_by_rows(order: TileOrder, first: _Use, then: _Use) -> bool:
    flag = raised_flag(first.step.op)
    watchers = [w for w in then.step.op.wait if w.loop is not None and w.flag == flag]
    rows = [getattr(use.step.op, use.footprint.operand) for use in (first, then)]
    if not watchers or not all(isinstance(side, Traversal) for side in rows) or first.step.op.produce is None:
        return False
    if first.step not in order.raisers(then.step, flag):
        return False
    done = _done_at(first, rows[0])
    nest = counted_nest(then.step.op)
    allowed = np.full(iterations(nest), -1, np.int64)
    for watcher in watchers:
        assert watcher.loop is not None
        for k, start in enumerate(ttu.starts(nest, watcher.loop)):
            count = watcher.expected + k * watcher.stride + order.strict
            allowed[start:] = np.maximum(allowed[start:], count)
    touched = ttu.addresses(rows[1].nest, rows[1].reference)
    by_access = np.repeat(allowed, len(touched) // len(allowed))  # several words a row
    return all(
        done.get(address, 0) <= count for address, count in zip(touched.tolist(), by_access.tolist(), strict=True)
    )


def _done_at(use: _Use, rows: Traversal) -> dict[int, int]:
    """What the flag has counted to when the instruction is through with each row, or word, that it touches."""
    op = use.step.op
    assert op.produce is not None
    base = use.step.raised_to - increments(op)
    nest = counted_nest(op)
    addresses = ttu.addresses(rows.nest, rows.reference)
    round_of_access = np.arange(len(addresses)) // (len(addresses) // iterations(nest))
    counts = base + 1 + np.searchsorted(ttu.completions(nest, op.produce), round_of_access, side="right")
    return dict(zip(addresses.tolist(), counts.tolist(), strict=True))


def _sentence(tile: int, a: _Use, b: _Use) -> str:
    """Names the writer first."""
    writer, other = (a, b) if a.footprint.writes else (b, a)
    both = writer.footprint.touched & other.footprint.touched
    first, end = (both & -both).bit_length() - 1, both.bit_length()
    verb = "writes" if other.footprint.writes else "reads"
    return (
        f"tile {tile}: nothing orders {writer.step}, which writes {writer.footprint.memory} bytes between "
        f"{first:#x} and {end - 1:#x}, and {other.step}, which {verb} them; a watcher or a fence must"
    )
