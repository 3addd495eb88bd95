"""What bound each layer: everything that the matrix unit's cycles went into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tilesim.sim.bottleneck import NO_LAYER, Bottleneck
from tilesim.sim.core.logged import Span
from tilesim.sim.core.unit import BUSY, Reason
from tilesim.systolic.isa.model.instructions import MatrixMultiply, Queue, Sync
from tilesim.systolic.isa.model.program import Program
from tilesim.systolic.units.chip import Chip

USEFUL, UNUSED, INPUT, OTHER = "useful MACs", "unused MACs", "input stall", "other"
CAUSES: Mapping[str, str] = {
    BUSY: BUSY,
    Reason.WEIGHTS.kind: "weight stall",
    Reason.SHIFT.kind: "weight shift",
    Reason.RAW.kind: "RAW stall",
    Reason.INPUT.kind: INPUT,
}
"""What stands behind what the matrix unit does or waits for. ``useful MACs``, ``unused MACs``: vectors go through the
array, whose cells multiply what the layer needs, or don't; ``weight stall``: a tile has not come from weight memory;
``weight shift``: it is on its way into the array; ``RAW stall``, ``input stall``: the matrix unit is at a sync, which
waits for a result or for an input; it is an ``input stall``, too, if no instruction comes because the sequencer stands
before the full queue of DMA in; ``other``: it has no instruction for another reason, or the user holds one back. The
last three are what Jouppi et al., ISCA 2017, Table 3, call non-matrix.
"""
WAITS_FOR_VECTORS = {Reason.RAW.kind, "idle"}


def bottlenecks_of(program: Program, chip: Chip) -> dict[int, Bottleneck]:
    """For each layer of the program, and for none (-1), its cycles of the matrix unit; all together are the run's.

    A cycle belongs to the layer of the instruction that it was spent for; one without an instruction to the layer of
    the next. But of the cycles in which the matrix unit waits for a result, or has no instruction, those belong to a
    layer of the vector unit alone in which this one is at work on it.
    """
    layers = {k: Bottleneck() for k in (*range(len(program.layers)), NO_LAYER)}
    vectors, inputs = _vector_work(program, chip), _input_waits(program, chip)
    for layer, span in _by_layer(chip.matrix.spans, {op.label: op.layer for op in program.run}):
        cause = CAUSES.get(span.kind, OTHER)
        for part, at_work in _cut(span.start, span.end, vectors if span.kind in WAITS_FOR_VECTORS else []):
            if at_work:
                layers[part.layer].add(part.start, part.end, cause)
                continue
            for piece, awaited in _cut(part.start, part.end, inputs if span.kind == "idle" else []):
                layers[layer].add(piece.start, piece.end, INPUT if awaited else cause)
    for k, useful in useful_cycles(program).items():
        busy = layers[k].cycles.pop(BUSY, 0)
        layers[k].cycles.update({USEFUL: min(useful, busy), UNUSED: busy - min(useful, busy)})
    return layers


def useful_cycles(program: Program) -> dict[int, int]:
    """For each layer and for none (-1), the cycles that its useful MACs would take with all cells at work, rounded.

    Of a layer whose tiles hold zeros between the weights of groups, no more are useful than it has MACs. An operand of
    16 bits keeps a cell for two cycles.
    """
    made: Counter[int] = Counter()
    spent: Counter[int] = Counter()
    for op in program.run:
        if isinstance(op, MatrixMultiply):
            macs = op.vectors * op.rows * op.columns
            made[op.layer] += macs
            spent[op.layer] += macs * op.passes
    cells = program.topology.macs_per_cycle
    return {k: _rounded(spent[k] * _needed(program, k, made[k]), made[k] * cells) for k in made}


def _needed(program: Program, layer: int, made: int) -> int:
    """Of the MACs that were ``made`` for a layer, those that it needs."""
    return made if layer == NO_LAYER else min(made, program.layers[layer].macs * program.inferences)


def _rounded(numerator: int, denominator: int) -> int:
    """The nearest integer to a quotient, halves up."""
    return (2 * numerator + denominator) // (2 * denominator)


def _by_layer(spans: Sequence[Span], layers: Mapping[str, int]) -> Iterator[tuple[int, Span]]:
    """Spans with their layers; one without an instruction has that of the next."""
    waiting: list[Span] = []
    for span in spans:
        waiting.append(span)
        if span.instruction:
            layer = layers.get(span.instruction, NO_LAYER)
            yield from ((layer, idle) for idle in waiting)
            waiting = []
    yield from ((NO_LAYER, idle) for idle in waiting)


class _Work(NamedTuple):
    """Cycles ``start`` to ``end``, spent for a ``layer``."""

    start: int
    end: int
    layer: int = NO_LAYER


def _vector_work(program: Program, chip: Chip) -> list[_Work]:
    """When the vector unit was at work on layers that are its alone, up to the retirement; in order, disjoint."""
    alone = {k for k, layer in enumerate(program.layers) if layer.place == "vector"}
    ops = [op for op in program.run if op.queue is Queue.VECTOR and not isinstance(op, Sync) and op.layer in alone]
    begun, retired = chip.retirement.begun, chip.retirement.retired
    works = [_Work(begun[op.label], retired[op.label], op.layer) for op in ops]
    ends = [0, *(work.end for work in works)]
    assert all(earlier <= later for earlier, later in pairwise(ends))
    return [work._replace(start=max(work.start, end)) for end, work in zip(ends, works, strict=False)]


def _input_waits(program: Program, chip: Chip) -> list[_Work]:
    """When the sequencer stood before the full queue of DMA in; in order, disjoint."""
    bringing = {op.label for op in program.run if op.queue is Queue.DMA_IN}
    waits = (span for span in chip.sequencer.unit.spans if span.kind == Reason.FIFO.kind)
    return [_Work(span.start, span.end) for span in waits if span.instruction in bringing]


def _cut(start: int, end: int, works: list[_Work]) -> Iterator[tuple[_Work, bool]]:
    """Cycles ``start`` to ``end`` in order, cut to those of the ``works`` (with True) and those between (with False);
    works that end before are dropped, for cycles are asked for in order.
    """
    over = 0
    while over < len(works) and works[over].end <= start:
        over += 1
    del works[:over]
    for work in works:
        if work.start >= end:
            break
        yield _Work(start, max(start, work.start)), False
        yield work._replace(start=max(work.start, start), end=min(work.end, end)), True
        start = min(work.end, end)
    yield _Work(start, end), False
