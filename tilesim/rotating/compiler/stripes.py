"""Maps whose lines no row has room for are cut into stripes of columns, and layers with them: each makes a stripe of
that of each input which has all that its windows reach. So stripes overlap, and what they share is computed twice.

Source: US 2018/0157962 has maps as wide as a row at most; stripes are an assumption.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilesim.errors import CapacityError
from tilesim.network.graph import Node
from tilesim.network.operators import AveragePool, FullyConnected, MaxPool, Mean, Padding, Reshape
from tilesim.rotating.compiler.blocks import factors, least_words
from tilesim.rotating.compiler.columns import Region, Stripe
from tilesim.rotating.compiler.cutting import cut_tasks
from tilesim.rotating.compiler.pieces import Columns, Piece
from tilesim.rotating.compiler.plan import with_copy
from tilesim.rotating.compiler.sizes import Sizes
from tilesim.rotating.compiler.task import MapShape, Task
from tilesim.rotating.topology import Topology


@dataclass(frozen=True)
class Striped:
    """All that runs on the chip, where ``pieces`` are the tensors that are stripes of others."""

    tasks: list[Task]
    pieces: Mapping[int, Piece] = field(default_factory=dict)


def in_stripes(name: str, tasks: Sequence[Task], topology: Topology) -> Striped:
    """The tasks, those of maps that are too wide cut: with copies between layers, where that takes fewer of them.

    Raises:
        CapacityError: windows so wide that no row has room for a single one.
    """
    found: list[Striped] = []
    refused: list[CapacityError] = []
    folded = _folded(tasks, topology)
    for prepared in (folded, _apart(folded, topology)):
        try:
            found.append(_striped(name, prepared, topology))
        except CapacityError as error:
            refused.append(error)
    if not found:
        raise refused[-1]
    return min(found, key=lambda striped: len(striped.tasks))


def _striped(name: str, tasks: Sequence[Task], topology: Topology) -> Striped:
    columns: dict[int, list[Columns]] = {}
    for region in _wide(tasks, topology):
        columns.update(_cut(name, region, topology))
    return Striped(*cut_tasks(tasks, columns)) if columns else Striped(list(tasks))


def _cut(name: str, region: Region, topology: Topology) -> dict[int, list[Columns]]:
    """The columns of each stripe of each tensor: as many as there is room for, from the left to the right.

    Raises:
        CapacityError: there is no room for a single one.
    """
    stripes = [Stripe()]
    while not region.is_whole(stripes[-1]):
        stripes.append(_widest(name, region, stripes[-1], topology))
    return {index: [stripe.columns[index] for stripe in stripes[1:]] for index in stripes[-1].columns}


def _widest(name: str, region: Region, before: Stripe, topology: Topology) -> Stripe:
    """The stripe behind another one. The last may have more columns than others that end sooner, so it is tried first.

    Raises:
        CapacityError: there is no room for a single column.
    """
    last = region.stripe(before, region.width)
    if _fits(last, topology):
        return last
    ends = range(before.end + 1, region.width)
    beyond = bisect_left(ends, True, key=lambda end: not _fits(region.stripe(before, end), topology))
    if not beyond:
        raise _too_wide(name, region.stripe(before, before.end + 1), topology)
    return region.stripe(before, ends[beyond - 1])


def _fits(stripe: Stripe, topology: Topology) -> bool:
    """Whether rows have room for what layers read and make, and for what only leaves or comes."""
    alone = [least_words(columns.width, Padding(), False, topology) for columns in stripe.columns.values()]
    return max([*alone, *Sizes(stripe.tasks, topology).words.values()]) <= topology.units.count


def _too_wide(name: str, stripe: Stripe, topology: Topology) -> CapacityError:
    sizes = Sizes(stripe.tasks, topology)
    index, words = max(sizes.words.items(), key=lambda item: item[1])
    return CapacityError(
        f"{name}: tensor {sizes.tensors[index].title} has lines of which a single column of what is made of them needs "
        f"{words:,} words, padding included, and a row of {topology.name} has {topology.units.count:,}"
    )


def is_joined(task: Task) -> bool:
    """Whether a layer makes a stripe of one of each input."""
    return task.family != "rewriting" and not is_over_map(task)


def is_over_map(task: Task) -> bool:
    """Whether a layer makes a pixel of all of a map, in whichever lines its elements stand."""
    op, window = task.node.operator, task.window
    pools = isinstance(op, MaxPool | AveragePool) and window.kernel == window.size and not any(window.padding)
    return pools or isinstance(op, FullyConnected | Mean)


def _wide(tasks: Sequence[Task], topology: Topology) -> list[Region]:
    """Layers that must be cut alike, because a map that they read or make is too wide."""
    words = Sizes(tasks, topology).words
    return [region for region in _regions(tasks) if any(words[index] > topology.units.count for index in region.shapes)]


def _regions(tasks: Sequence[Task]) -> list[Region]:
    """All tensors, those together of which layers make stripes of each other's."""
    parent: dict[int, int] = {}

    def root(index: int) -> int:
        while parent.setdefault(index, index) != index:
            index = parent[index]
        return index

    shapes: dict[int, MapShape] = {}
    for task in tasks:
        for tensor, shape in zip((*task.inputs, task.output), (*task.maps, task.made), strict=True):
            if tensor.data is None:
                shapes[tensor.index] = shape
                if is_joined(task):
                    parent[root(tensor.index)] = root(task.output.index)
    regions: dict[int, dict[int, MapShape]] = {}
    for index, shape in shapes.items():
        regions.setdefault(root(index), {})[index] = shape
    joined = [task for task in tasks if is_joined(task)]
    return [Region([task for task in joined if task.output.index in own], own) for own in regions.values()]


def _folded(tasks: Sequence[Task], topology: Topology) -> list[Task]:
    """The tasks; those over all of a map that is too wide read a copy of it with more and shorter lines."""
    wide = {index for region in _wide(tasks, topology) for index in region.shapes}
    folded: list[Task] = []
    for task in tasks:
        folded.append(task)
        if is_over_map(task) and task.inputs[0].index in wide:
            made = _shorter(task.maps[0], topology)
            folded[-1] = replace(task, node=_over(task.node, made))
            folded = with_copy(folded, folded[-1], task.inputs[0].index, Reshape((1, *made)), made)
    return folded


def _over(node: Node, shape: MapShape) -> Node:
    """A layer over all of a map, for one of another shape."""
    op = node.operator
    return replace(node, operator=replace(op, window=shape[:2])) if isinstance(op, MaxPool | AveragePool) else node


def _shorter(shape: MapShape, topology: Topology) -> MapShape:
    """As many elements in the same order, in the longest lines that a row has room for."""
    lines, width, channels = shape
    fitting = [w for w in factors(width) if least_words(w, Padding(), False, topology) <= topology.units.count]
    return lines * width // fitting[-1], fitting[-1], channels


def _apart(tasks: Sequence[Task], topology: Topology) -> list[Task]:
    """The tasks, with a copy of what each window reads that reaches beyond its column, so that nothing is computed
    twice.
    """
    apart = list(tasks)
    made = {task.output.index for task in tasks if task.family != "rewriting"}
    for region in _wide(tasks, topology):
        for task in region.tasks:
            window = task.window
            reaches = window.kernel[1] > 1 or window.strides[1] > 1
            if task.family != "elements" and reaches and task.inputs[0].index in made:
                apart = with_copy(apart, task, task.inputs[0].index)
    return apart
