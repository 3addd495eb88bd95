"""Pools and means: windows of a channel in its own block, added up or compared, without weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import TypeAlias

import numpy as np

from tilesim.network.graph import Network, Node
from tilesim.network.operators import AveragePool, MaxPool, Mean
from tilesim.rotating.compiler.call import Call, Part, Traits
from tilesim.rotating.compiler.emitter import Writer
from tilesim.rotating.compiler.lower.lines import FilterRow, LinePass, Piece, whole_pass
from tilesim.rotating.compiler.lower.parameters import IDENTITY, of_blocks, one_for_all, scaling_of
from tilesim.rotating.compiler.windows import Span
from tilesim.rotating.isa.model.instructions import Alu
from tilesim.rotating.topology import Topology

Pool: TypeAlias = AveragePool | MaxPool | Mean
Counts = tuple[int, ...]
"""How many elements each output of a line is the average of."""


def pool_parts(call: Call) -> list[Part]:
    """A pass has parameters for each stretch of lines whose outputs are averages of as many elements."""
    none = np.zeros((0, call.topology.row_bytes), np.uint8)
    return [Part(none, _parameters(call, counts)) for _ in call.passes for counts, _ in stretches(call)]


def _parameters(call: Call, counts: Counts) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    op = call.task.node.operator
    if isinstance(op, AveragePool):
        blocks = call.topology.units.count // call.units.block
        factors = np.zeros((2, blocks, call.units.block), np.int64)
        factors[0] = 1
        for column, count in enumerate(counts):
            multiplier, shift = op.scaling(count)[:2]
            factors[0, :, column * call.stride], factors[1, :, column * call.stride] = multiplier, shift
        return of_blocks(call, np.zeros(blocks, np.int32), *factors)
    return one_for_all(call, scaling_of(call.task) if isinstance(op, Mean) else IDENTITY)


def stretches(call: Call) -> list[tuple[Counts, list[Span]]]:
    """All lines: those that follow each other and have the same counts together."""
    op, window = call.task.node.operator, call.task.window
    if not isinstance(op, AveragePool):
        return [((), window.spans)]
    width, made_columns = call.task.counted
    counts = [tuple(row) for row in op.counts(window.size[0], width)[:, made_columns].tolist()]
    ends = {line for span in window.spans for line in (span.line, span.line + span.lines)}
    made: list[tuple[Counts, list[Span]]] = []
    for own, lines in groupby(range(len(counts)), counts.__getitem__):
        first, *others = lines
        end = first + len(others) + 1
        cuts = sorted({first, end, *(cut for cut in ends if first < cut < end)})
        spans = []
        for start, stop in pairwise(cuts):
            around = next(span for span in window.spans if span.line <= start < span.line + span.lines)
            spans.append(Span(start, stop - start, around.first, around.end))
        made.append((own, spans))
    return made


def lower_pool(call: Call, writer: Writer) -> None:
    op, window = call.task.node.operator, call.task.window
    assert isinstance(op, Pool)
    if isinstance(op, MaxPool):
        call.registers(writer, rule=IDENTITY.rule, clamp=op.clamp)
    else:
        call.registers(
            writer,
            data_zero=op.input_zero_point,
            rule=scaling_of(call.task).rule if isinstance(op, Mean) else op.rule,
            zero_point=op.output_zero_point,
            clamp=op.clamp,
        )
    largest = isinstance(op, MaxPool)
    alu = Alu.MAX if largest else Alu.ADD
    row = FilterRow(window.kernel[1], 1, 1, call.units.block, call.topology.units.count, alu)
    number = 0
    for own in call.passes:
        group = call.group(own)
        piece = Piece(range(group, group + 1), range(window.kernel[0]))
        lines = LinePass(call, own, row, [piece], Alu.COPY if largest else None)
        call.mask(writer, own)
        for _, spans in stretches(call):
            chosen = call.fetch(writer, number)
            number += 1
            whole_pass(lines, writer, spans, chosen)


def pool_faults(_network: Network, node: Node, _topology: Topology) -> Iterator[str]:
    op = node.operator
    if isinstance(op, AveragePool) and op.rule == "real":
        yield "must be averages of sums of integers, not of reals"


OPERATORS = dict.fromkeys((AveragePool, MaxPool, Mean), Traits(pool_parts, lower_pool, pool_faults, on_map=True))
