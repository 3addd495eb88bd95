"""One layer: its tensorops on every tile that has a part in it, and what they wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tilesim.network.graph import Node
from tilesim.network.operators.add import Add
from tilesim.network.operators.average_pool import AveragePool
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.fully_connected import FullyConnected
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.rescale import Rescale
from tilesim.tiled.compiler.draft import Draft, Made
from tilesim.tiled.compiler.halo import COLUMNS_FROM, IN, ROWS_FROM
from tilesim.tiled.compiler.lower.add import lower_add
from tilesim.tiled.compiler.lower.convolution import lower_convolution, lower_fully_connected
from tilesim.tiled.compiler.lower.depthwise import lower_depthwise
from tilesim.tiled.compiler.lower.pool import lower_average_pool, lower_max_pool, lower_rescale
from tilesim.tiled.compiler.partition import map_name
from tilesim.tiled.compiler.task import Task, element_type
from tilesim.tiled.compiler.wide_layout import Parameters, WideLayout
from tilesim.tiled.compiler.windows import windows
from tilesim.tiled.isa.fields import Flag, Watcher
from tilesim.tiled.isa.instructions import TensorOp

LOWERINGS: dict[type[Any], Callable[..., list[TensorOp]]] = {
    Convolution: lower_convolution,
    DepthwiseConvolution: lower_depthwise,
    FullyConnected: lower_fully_connected,
    Add: lower_add,
    AveragePool: lower_average_pool,
    MaxPool: lower_max_pool,
    Rescale: lower_rescale,
}

ROW_BY_ROW = (Convolution, DepthwiseConvolution, Add)
"""Layers that are one tensorop, whose rows can be made in either direction, each of them raising the flag."""


def lowered(draft: Draft, wide: WideLayout, layer: int, node: Node) -> dict[int, list[TensorOp]]:
    """The tensorops of a node for each tile; its parameters get their places in wide memory."""
    name = map_name(node.output)
    draft.steps[name] = step = _step(draft, node)
    map_ = draft.placement.maps[name]
    by_row = isinstance(node.operator, ROW_BY_ROW) and (map_.rows.exchanges or map_.columns.exchanges)
    lower = LOWERINGS[type(node.operator)]
    tasks = {tile: _task(draft, wide, layer, node, tile) for tile, _ in map_.parts()}
    return {tile: lower(replace(task, step=step, by_row=by_row), node.operator) for tile, task in tasks.items()}


def compute(draft: Draft, layer: int, node: Node, ops: dict[int, list[TensorOp]]) -> None:
    """Append the tensorops of a node; the first of each tile waits for whatever its inputs still need.

    A fully connected layer brings in tiles that had nothing to do so far: for them it is issued before all else, so
    that they don't idle until then.
    """
    name, label = map_name(node.output), f"{node.kind}{layer}"
    draft.release(name)
    ops = {tile: [replace(own[0], wait=_waits(draft, node, tile)), *own[1:]] for tile, own in ops.items()}
    joins = isinstance(node.operator, FullyConnected) and not draft.placement.predecessors(name)
    first = {tile for tile in ops if joins and not draft.raised[tile, Flag.AVDATA]}
    rounds = max(len(own) for own in ops.values())
    labels: dict[int, str] = {}
    for k in range(rounds):
        kth = {tile: own[k] for tile, own in ops.items() if k < len(own)}
        labels |= draft.write(label if rounds == 1 else f"{label}.{k}", kth, () if k else first)
    draft.made[name] = {tile: _made(draft, name, tile, own) for tile, own in ops.items()}
    draft.tensorops.append(Counter({tile: draft.raised[tile, Flag.AVDATA] for tile in range(draft.topology.tiles)}))
    draft.note(name, draft.plan.network.tensors[node.output], labels)


def _step(draft: Draft, node: Node) -> int:
    """Upwards if the rows that come from above are the last to come: a neighbour made them last."""
    if not isinstance(node.operator, ROW_BY_ROW):
        return 1
    read = draft.spread.read(node, draft.plan.activations(node)[0])
    comes = draft.placement.maps[read].rows.exchanges
    return -1 if comes and draft.steps.get(read, 1) == 1 else 1


def _task(draft: Draft, wide: WideLayout, layer: int, node: Node, tile: int) -> Task:
    tensors = draft.plan.activations(node)
    network, maps = draft.plan.network, draft.placement.maps
    output = maps[map_name(node.output)]
    peers = 1 << tile if output.block else output.tiles
    constants = (network.tensors[i].data for i in node.inputs)
    return Task(
        topology=draft.topology,
        layer=layer,
        inputs=tuple(maps[draft.spread.read(node, tensor)].part(tile) for tensor in tensors),
        output=output.part(tile),
        constants=tuple(constant for constant in constants if constant is not None),
        input_type=element_type(tensors[0].dtype),
        output_type=element_type(network.tensors[node.output].dtype),
        keep=lambda part, make: wide.keep(Parameters(layer, node.title, part), peers, make),
    )


def _made(draft: Draft, name: str, tile: int, ops: list[TensorOp]) -> Made:
    rows = draft.placement.maps[name].part(tile).block_rows[:: draft.steps[name]]
    by_row = len(ops) == 1 and ops[0].produce != ops[0].nest.loops[0].name
    return Made(Flag.AVDATA, draft.raised[tile, Flag.AVDATA], rows if by_row else range(0))


def _waits(draft: Draft, node: Node, tile: int) -> tuple[Watcher, ...]:
    """What a tile's first tensorop of a node waits for; not again for what an earlier one has waited for as a whole."""
    names = dict.fromkeys(draft.spread.read(node, tensor) for tensor in draft.plan.activations(node))
    found = [watcher for name in names for watcher in _waits_for(draft, name, node, tile)]
    new = [watcher for watcher in dict.fromkeys(found) if (tile, watcher) not in draft.awaited]
    draft.awaited.update((tile, watcher) for watcher in new if watcher.loop is None)
    return tuple(new)


def _waits_for(draft: Draft, name: str, node: Node, tile: int) -> Iterator[Watcher]:
    made = draft.made[name].get(tile)
    if made is not None and made.flag is not Flag.AVDATA:
        yield draft.counted(made.flag, made.count)
    rounds = len(draft.placement.maps[map_name(node.output)].part(tile).block_rows)
    late = isinstance(node.operator, ROW_BY_ROW) and rounds > 1 and _late_last(draft, name, node, tile)
    wanted = set(_sides(draft, name, node, tile))
    for flag, arrival in draft.arrived.get(name, {}).get(tile, {}).items():
        if flag not in wanted:
            continue
        if not (late and arrival.late):
            yield draft.counted(flag, arrival.full)
            continue
        if arrival.early:
            yield draft.counted(flag, arrival.early)
        yield draft.counted(flag, arrival.full - rounds + 1, "y", 1)


def _sides(draft: Draft, name: str, node: Node, tile: int) -> Iterator[Flag]:
    """From where a node reads more of a map than a tile's own part."""
    map_, made = draft.placement.maps[name].part(tile), draft.placement.maps[map_name(node.output)].part(tile)
    made = made.block if isinstance(node.operator, ROW_BY_ROW) else made
    down, across = windows(draft.plan.network, node)
    for window, outputs, own, size, sides in (
        (down, made.rows, map_.rows, map_.shape.height, ROWS_FROM),
        (across, made.columns, map_.columns, map_.shape.width, COLUMNS_FROM),
    ):
        read = window.reads(outputs) if isinstance(node.operator, ROW_BY_ROW) else window.need(outputs, size)
        if read.start < own.start:
            yield IN[sides[True]]
        if read.stop > own.stop:
            yield IN[sides[False]]


def _late_last(draft: Draft, name: str, node: Node, tile: int) -> bool:
    """Whether only the last row that the tile makes needs what comes late."""
    step = draft.steps[map_name(node.output)]
    if step == draft.steps.get(name, 1):
        return False
    map_, made = draft.placement.maps[name], draft.placement.maps[map_name(node.output)]
    own, rows = map_.part(tile).rows, made.part(tile).block_rows[::step][:-1]
    down, _ = windows(draft.plan.network, node)
    read = down.reads(range(min(rows), max(rows) + 1))
    return read.start >= own.start if step < 0 else read.stop <= own.stop
