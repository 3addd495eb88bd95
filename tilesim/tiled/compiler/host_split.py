"""What of a network the host computes itself, as tiles can't; and what is left for the chip.

The host does an operator without a lowering, one on numbers or shapes that tiles don't take, and what follows it
without a multiply-accumulate to come: nothing returns to the tiles just to be moved. What the tiles make for it are
outputs of the chip's part of the network, what it makes for them inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from msgspec import Struct

from tilesim.errors import CapacityError
from tilesim.machines.options import CompileOptions
from tilesim.machines.policies import Wishes
from tilesim.network.graph import Network, Node, macs
from tilesim.network.operators import (
    Concatenation,
    Dequantise,
    Pad,
    Quantise,
    Rescale,
    Reshape,
    ResizeNearest,
    Slice,
    Table,
)
from tilesim.tiled.compiler.chip_part import ChipPart, layer_number
from tilesim.tiled.compiler.operators import is_known
from tilesim.tiled.compiler.tile_plan import sorted_operators

MOVING = (Concatenation, Dequantise, Pad, Quantise, Rescale, Reshape, ResizeNearest, Slice, Table)
"""What alone is not worth a way to the tiles and back."""


class HostSplit(Struct, frozen=True):
    """A ``whole`` network, the layers that the host computes, and the ``part`` that is left: the network itself if it
    computes none.
    """

    whole: Network
    host: frozenset[int]
    part: Network

    @property
    def layers(self) -> tuple[int, ...]:
        """The number in the whole network of each node of the part."""
        return tuple(layer_number(self.part, node) for node in range(len(self.part.nodes)))


def split(network: Network, word_bytes: int, wishes: Wishes, cuts: Collection[int] = ()) -> HostSplit:
    """Leave to the host what tiles with words of so many bytes can't do, and the layers ``cuts``, of which each makes
    what comes right before it is read.

    Raises:
        CapacityError: nor can the host: sentences for all that there is.
    """
    host = {layer for layer, node in enumerate(network.nodes) if not is_known(node.operator)}.union(cuts)
    while True:
        host |= _not_worth_it(network, host)
        part = chip_part(network, host, cuts) if host else network
        faults = sorted_operators(part, word_bytes, absorbs=wishes.mixed)[1]
        blamed = {layer for fault in faults for layer in _blamed(network, part, fault.tensor)}
        if not blamed:
            break
        host |= blamed
    if faults:
        raise CapacityError([fault.sentence for fault in faults])
    return HostSplit(network, frozenset(host), part)


def _blamed(network: Network, part: Network, tensor: int) -> set[int]:
    """The layer that makes a tensor, or those that read an input of the chip's part."""
    here = set(part.layers) if isinstance(part, ChipPart) else set(range(len(network.nodes)))
    makers = {layer for layer in here if network.nodes[layer].output == tensor}
    return makers or {layer for layer in here if tensor in network.nodes[layer].inputs}


def _not_worth_it(network: Network, host: Collection[int]) -> set[int]:
    """Layers that the host does along with those that it must: what follows them and leads to no multiply-accumulate,
    and what only moves an input's bytes before them.
    """
    if not host:
        return set()
    stays, working, leading = set(host), set[int](), _leading(network, host)
    makers = {node.output: layer for layer, node in enumerate(network.nodes)}
    for layer, node in enumerate(network.nodes):
        before = {makers[index] for index in node.inputs if index in makers}
        if before & working.difference(stays) or not isinstance(node.operator, MOVING):
            working.add(layer)
        if layer not in leading and (before & stays or layer not in working):
            stays.add(layer)
    return stays


def _leading(network: Network, host: Collection[int]) -> set[int]:
    """Layers of the chip with multiply-accumulates there or behind them, before anything of the host."""
    leading, wanted = set[int](), set[int]()
    for layer, node in reversed(list(enumerate(network.nodes))):
        if layer not in host and (node.output in wanted or macs(network, node)):
            leading.add(layer)
            wanted.update(node.inputs)
    return leading


def chip_part(network: Network, host: Collection[int], cuts: Collection[int] = ()) -> ChipPart:
    """The network without the layers of the host, and without inputs that nobody on the chip reads. What the layers
    ``cuts`` make comes late.
    """
    chip = [(layer, node) for layer, node in enumerate(network.nodes) if layer not in host]
    made = {node.output for _, node in chip}
    read = {index for _, node in chip for index in node.inputs}
    outside = [network.nodes[layer] for layer in sorted(host)]
    by_host = [node.output for node in outside if node.output in read]
    inputs = (*(index for index in network.inputs if index in read), *by_host)
    taken = dict.fromkeys(index for node in outside for index in node.inputs if index in made)
    outputs = [index for index in network.outputs if index in made]
    outputs += [index for index in taken if index not in outputs]
    known, awaits = {*inputs, *outputs, *made, *read}, _awaits(outside, made)
    passing = {index for layer in cuts for node in [network.nodes[layer]] for index in (*node.inputs, node.output)}
    return ChipPart(
        name=network.name,
        tensors={index: tensor for index, tensor in network.tensors.items() if index in known},
        nodes=tuple(node for _, node in chip),
        inputs=inputs,
        outputs=tuple(outputs),
        layers=tuple(layer for layer, _ in chip),
        awaits={index: awaits[index] for index in by_host if awaits[index]},
        passing=frozenset(passing.intersection((*by_host, *outputs))),
    )


def _awaits(outside: list[Node], made: Collection[int]) -> dict[int, frozenset[int]]:
    """For each tensor of the host those of the chip that it is made of, in the end."""
    awaits: dict[int, frozenset[int]] = {}
    for node in outside:
        own = frozenset(index for index in node.inputs if index in made)
        awaits[node.output] = own.union(*(awaits.get(index, frozenset()) for index in node.inputs))
    return awaits


def of_parts(options: CompileOptions, splits: Sequence[HostSplit]) -> CompileOptions:
    """What is asked of whole networks, asked of the chip's parts of them, as far as these have layers."""
    there = {of: place for place, of in enumerate(of for of, each in enumerate(splits) if each.part.nodes)}
    numbers = {(of, layer): (there[of], k) for of in there for k, layer in enumerate(splits[of].layers)}

    def mapped(asked: tuple[tuple[int, int, str], ...]) -> tuple[tuple[int, int, str], ...]:
        return tuple((*numbers[of, layer], what) for of, layer, what in asked if (of, layer) in numbers)

    partition, cache = options.partition, options.cache
    priority = tuple(numbers[pair] for pair in cache.layer_priority if pair in numbers)
    order = tuple(there[of] for of in cache.network_priority if of in there)
    return replace(
        options,
        partition=replace(partition, layers=mapped(partition.layers), orders=mapped(partition.orders)),
        cache=replace(cache, layer_priority=priority, network_priority=order),
    )
