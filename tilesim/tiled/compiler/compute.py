"""One layer: its tensorops on every tile that has a part in it, and what they wait for."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tilesim.machines.changed import changed
from tilesim.machines.policies import ROWS
from tilesim.network.graph import Node
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.tiled.compiler.chunks import SetLimit, chunks_of
from tilesim.tiled.compiler.feature_map import FeatureMap
from tilesim.tiled.compiler.fusion import LayerCall
from tilesim.tiled.compiler.lines import sliced
from tilesim.tiled.compiler.lower.convolution import extent_of
from tilesim.tiled.compiler.lower.loop_order import OuterLoops
from tilesim.tiled.compiler.mesh_rows import arrival_flag
from tilesim.tiled.compiler.nests import no_deeper
from tilesim.tiled.compiler.operators import receptive_fields, spreads, traits_of
from tilesim.tiled.compiler.parameters import KeepsParameters, SetKey
from tilesim.tiled.compiler.program_builder import Completion, ProgramBuilder
from tilesim.tiled.compiler.row_order import (
    LineWaits,
    RowOrder,
    comes_in_parts,
    row_by_row,
    row_order,
    row_runs,
    rows_outside,
)
from tilesim.tiled.compiler.sides import sides_read
from tilesim.tiled.compiler.streaming import ParameterStream
from tilesim.tiled.compiler.task import TileTask, element_type, nowhere
from tilesim.tiled.isa.model.fields import Flag, Reference, Watcher
from tilesim.tiled.isa.model.instructions import TensorOp

SUMS = "sums"
"""The rows of wide memory for partial sums, one layer's after another's."""


class Piece(Struct, frozen=True):
    """A tensorop, its wide operands counted from the first byte of the parameters ``key``, if it has any, and from that
    of the rows for ``sums``; and the places of the rows of a tile's block that it makes, if it is the first to do.
    """

    op: TensorOp
    key: SetKey
    rows: tuple[int, ...] = ()
    sums: str = SUMS

    def based(self, address: int, sums: int, **changes: Any) -> TensorOp:
        """The tensorop, its parameters at ``address``, its partial sums from ``sums`` on, and with other changes."""
        op = self.op
        weights, parameters = (_from(operand, address) for operand in (op.weights, op.parameters))
        sums_in, sums_out = (_from(operand, sums) for operand in (op.sums_in, op.sums_out))
        return changed(op, weights=weights, parameters=parameters, sums_in=sums_in, sums_out=sums_out, **changes)


def _from(operand: Reference | None, first: int) -> Reference | None:
    return operand and Reference(operand.base + first, operand.strides)


Pieces = dict[int, list[Piece]]


def lowered(
    builder: ProgramBuilder,
    sets: KeepsParameters,
    call: LayerCall,
    limit: SetLimit | None = None,
    *,
    side_by_side: bool = False,
) -> Pieces:
    """The tensorops of a call for each tile; its parameters get their places in ``sets``, cut as a ``limit`` wants it.
    Several pixels may stand ``side_by_side`` in the lanes.
    """
    node = call.node
    order = row_order(builder, call)
    builder.steps[call.makes] = order.step
    map_ = builder.placement.maps[call.makes]
    by_row = row_by_row(call) and (map_.rows.exchanges or map_.columns.exchanges)
    traits = traits_of(node)
    pieces: Pieces = {}
    known: dict[object, list[Piece]] = {}
    made = map_.columns.own if call.group else map_.columns.blocks
    alike = len({len(columns) for columns in made if columns}) == 1
    common = _Common.of(builder, call, order.step, side_by_side=side_by_side and alike)
    for tile, part in call.parts(map_):
        task = common.task(tile)
        likeness = _likeness(task, node) if not map_.block else tile
        if likeness in known:
            pieces[tile] = known[likeness]
            continue
        chunks = chunks_of(task, node, builder.partition.made(node), part.channels, limit)
        tiles = 1 << tile if map_.block and not traits.one_table else call.tiles
        for number, chunk in enumerate(chunks):
            key = SetKey(call.layer, number, node.title)
            keep = partial(sets.keep, key, tiles)
            mine = replace(task, outputs=chunk.outputs, part=chunk.part, keep=keep, by_row=by_row and len(chunks) == 1)
            mine = replace(mine, order=_order(builder, call, mine))
            for op in traits.lower(mine, node.operator):
                pieces.setdefault(tile, []).extend(_cut(builder, call, tile, Piece(op, key), order, len(chunks)))
        known[likeness] = pieces[tile]
    return pieces


def _cut(
    builder: ProgramBuilder, call: LayerCall, tile: int, piece: Piece, order: RowOrder, chunks: int
) -> Iterator[Piece]:
    """The tensorops that make the rows of a tile's block, in their order: one if the channels come in chunks."""
    count = len(call.part(builder.placement.maps[call.makes], tile).block_rows)
    whole = piece.op.nest.loops[0].name != "y" or piece.op.sums_in is not None or piece.op.sums_out is not None
    if chunks > 1 or whole or not row_by_row(call):
        yield replace(piece, rows=() if piece.key.chunk else tuple(RowOrder(order.step).rows(count)))
        return
    for rounds in row_runs(builder, call, tile, order, piece.op):
        rows = RowOrder(order.step).rows(count)[rounds.start : rounds.stop]
        yield replace(piece, op=sliced(piece.op, rounds), rows=tuple(rows))


def _likeness(task: TileTask, node: Node) -> object:
    """What the tensorops of a tile have to themselves, of those for its map: tiles alike in this have the same."""
    if isinstance(node.operator, Convolution | DepthwiseConvolution):
        return extent_of(task, node.operator)
    return task.inputs, task.output


def compute(builder: ProgramBuilder, stream: ParameterStream, call: LayerCall, pieces: Pieces) -> None:
    """Append the tensorops of a call; the first of each tile waits for whatever its inputs still need, each for its
    parameters.

    A layer that is spread by its outputs brings in tiles that had nothing to do so far: for them it is issued before
    all else, so that they don't idle until then.
    """
    name = call.makes
    if name not in builder.completions:
        builder.release(name)
    by_line = builder.mixed and row_by_row(call)
    waits = {} if by_line else {tile: _waits(builder, call, tile, own[0].op) for tile, own in pieces.items()}
    joins = spreads(builder.plan.network, call.node) and not builder.placement.predecessors(name)
    first = {tile for tile in pieces if joins and not builder.computes(tile)}
    rounds = max(len(own) for own in pieces.values())
    based: dict[object, TensorOp] = {}
    labels, lines = builder.labels.setdefault(name, {}), LineWaits(builder, call)
    for k in range(rounds):
        stream.advance()
        kth = {tile: own[k] for tile, own in pieces.items() if k < len(own)}
        if by_line:
            waits = {tile: lines.of(tile, piece.op, piece.rows) for tile, piece in kth.items()}
        ops = {
            tile: placed(builder, stream, tile, piece, () if k and not by_line else waits[tile], based)
            for tile, piece in kth.items()
        }
        label = call.label if rounds == 1 else f"{call.label}.{k}"
        labels |= _written(builder, label, ops, () if k else first)
        stream.use({tile: piece.key for tile, piece in kth.items()})
    rows: dict[tuple[int, range], Sequence[int]] = {}
    made = {tile: _completion(builder, call, tile, own, rows) for tile, own in pieces.items()}
    builder.completions.setdefault(name, {}).update(made)
    builder.note_call()
    if call.completes:
        builder.note(name, builder.plan.network.tensors[call.node.output], labels)


def _written(builder: ProgramBuilder, label: str, ops: Mapping[int, TensorOp], first: Container[int]) -> dict[int, str]:
    """Append a tensorop for each tile, or several, if the chip has no loops for one; the last label of each."""
    depth = builder.topology.tile.loop_depth
    alike = {id(op): no_deeper(op, depth) for op in ops.values()}
    several = {tile: alike[id(op)] for tile, op in ops.items()}
    count = max(map(len, several.values()))
    labels: dict[int, str] = {}
    for k in range(count):
        kth = {tile: parts[k] for tile, parts in several.items() if k < len(parts)}
        labels |= builder.write(label if count == 1 else f"{label}.{k}", kth, first)
    return labels


def placed(
    builder: ProgramBuilder,
    stream: ParameterStream,
    tile: int,
    piece: Piece,
    wait: tuple[Watcher, ...],
    known: dict[object, TensorOp],
) -> TensorOp:
    """A tensorop where its parameters are, and what it waits for; the same for tiles that have all that in common."""
    if piece.op.parameters is piece.op.weights is None:
        plain = id(piece), wait
        if plain not in known:
            known[plain] = changed(piece.op, wait=wait)
        return known[plain]
    arrival = [(tile, watcher) for watcher in stream.waits(piece.key, tile)]
    new = tuple(watcher for watcher in arrival if watcher not in builder.awaited)
    builder.awaited.update(new)
    address, waits = stream.layout.base(piece.key, tile), (*wait, *(watcher for _, watcher in new))
    kind = id(piece), address, waits
    if kind not in known:
        sums = stream.layout.staging.get(piece.sums)
        known[kind] = piece.based(address, sums.address if sums else 0, wait=waits)
    return known[kind]


def _order(builder: ProgramBuilder, call: LayerCall, task: TileTask) -> str:
    """How the loops of a layer stand: as is asked for, else the best by estimate, if that is asked for."""
    wishes, constants = builder.partition.wishes, task.constants
    if call.layer in wishes.orders:
        return wishes.orders[call.layer]
    if not wishes.mixed or not constants:
        return ROWS
    across = -(-len(task.output.block_columns) // task.output.pixels)
    size = 1 if traits_of(call.node).channel_wise else task.topology.tile.lanes
    blocks = -(-len(task.outputs) // size)
    by_row = task.by_row or comes_in_parts(builder, call)
    return OuterLoops(len(task.output.block_rows), blocks, across).best(by_row)


def task_of(builder: ProgramBuilder, call: LayerCall, tile: int, step: int) -> TileTask:
    return _Common.of(builder, call, step, side_by_side=False).task(tile)


class _Common(Struct, frozen=True):
    """What the tasks of a call's tiles have in common."""

    builder: ProgramBuilder
    call: LayerCall
    reads: tuple[FeatureMap, ...]
    makes: FeatureMap
    rest: Mapping[str, Any]

    @classmethod
    def of(cls, builder: ProgramBuilder, call: LayerCall, step: int, *, side_by_side: bool) -> _Common:
        node = call.node
        tensors = builder.plan.activations(node)
        network, maps = builder.plan.network, builder.placement.maps
        constants = (network.tensors[i].data for i in node.inputs)
        rest = {
            "topology": builder.topology,
            "layer": call.layer,
            "constants": tuple(constant for constant in constants if constant is not None),
            "input_type": element_type(tensors[0].dtype),
            "output_type": element_type(network.tensors[node.output].dtype),
            "keep": nowhere,
            "step": step,
            "row_cycles": builder.weight_row_cycles,
            "most_rows": max(map(len, builder.partition.made(node).rows.own)),
            "side_by_side": side_by_side,
        }
        reads = tuple(maps[call.reads[tensor.index]] for tensor in tensors)
        return cls(builder, call, reads, maps[call.makes], rest)

    def task(self, tile: int) -> TileTask:
        inputs, output = tuple(map_.part(tile) for map_ in self.reads), self.call.part(self.makes, tile)
        return TileTask(inputs=inputs, output=output, outputs=self.makes.part(tile).channels, **self.rest)


def _completion(
    builder: ProgramBuilder,
    call: LayerCall,
    tile: int,
    pieces: list[Piece],
    known: dict[tuple[int, range], Sequence[int]],
) -> Completion:
    """What tells that a tile has made its part; the rows are ``known`` by the pieces and the block."""
    block = call.part(builder.placement.maps[call.makes], tile).block_rows
    key = id(pieces), block
    if key not in known:
        by_row = all(piece.op.produce != piece.op.nest.loops[0].name for piece in pieces)
        known[key] = [block[place] for piece in pieces for place in piece.rows] if by_row else ()
    return Completion(Flag.AVDATA, builder.raised[tile, Flag.AVDATA], known[key])


def _waits(builder: ProgramBuilder, call: LayerCall, tile: int, op: TensorOp) -> tuple[Watcher, ...]:
    """What a tile's first tensorop of a call, ``op``, waits for; not again for what an earlier one has waited for as a
    whole.
    """
    names = dict.fromkeys(call.reads.values())
    watchers = [watcher for name in names for watcher in _waits_for(builder, name, call, tile, op)]
    new = [watcher for watcher in dict.fromkeys(watchers) if (tile, watcher) not in builder.awaited]
    builder.awaited.update((tile, watcher) for watcher in new if watcher.loop is None)
    return tuple(new)


def _waits_for(builder: ProgramBuilder, name: str, call: LayerCall, tile: int, op: TensorOp) -> Iterator[Watcher]:
    made = builder.completions[name].get(tile)
    if made is not None and made.flag is not Flag.AVDATA:
        yield builder.counted(made.flag, made.count)
    rounds = len(call.part(builder.placement.maps[call.makes], tile).block_rows)
    by_rows = row_by_row(call) and rows_outside(op, rounds) and _needed_by_last_row(builder, name, call, tile)
    at = builder.placement.maps[name].arrangement.sides(tile)
    wanted = {arrival_flag(builder.topology, at[side]) for side in sides_read(builder, name, call, tile)}
    for flag, arrival in builder.arrived.get(name, {}).get(tile, {}).items():
        if flag not in wanted:
            continue
        if not (by_rows and arrival.by_last_rise):
            yield builder.counted(flag, arrival.full)
            continue
        if arrival.early:
            yield builder.counted(flag, arrival.early)
        yield builder.counted(flag, arrival.full - rounds + 1, "y", 1)


def _needed_by_last_row(builder: ProgramBuilder, name: str, call: LayerCall, tile: int) -> bool:
    """Whether only the last row that the tile makes needs what comes last."""
    step = builder.steps[call.makes]
    if step == builder.steps.get(name, 1):
        return False
    map_, made = builder.placement.maps[name], builder.placement.maps[call.makes]
    own, rows = map_.part(tile).rows, made.part(tile).block_rows[::step][:-1]
    down, _ = receptive_fields(builder.plan.network, call.node)
    read = down.reads(range(min(rows), max(rows) + 1))
    return read.start >= own.start if step < 0 else read.stop <= own.stop
