"""Where activation tensors lie in narrow memory, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilesim.errors import CapacityError
from tilesim.network.graph import Node, Tensor
from tilesim.network.operators.convolution import Convolution
from tilesim.network.operators.depthwise_convolution import DepthwiseConvolution
from tilesim.network.operators.padding import Padding
from tilesim.tiled.compiler.allocate import DoesNotFit, Lifetime, allocate
from tilesim.tiled.compiler.feature_map import FeatureMap, Shape, padded, widest
from tilesim.tiled.compiler.outline import Outline
from tilesim.tiled.compiler.rows import spill_bytes
from tilesim.tiled.topology import Topology
from tilesim.units import format_bytes


@dataclass(frozen=True)
class Placement:
    """Maps by tensor index, and each map's lifetime in steps: step 0 is the infeed, step k the k-th node, the last
    the outfeed.
    """

    maps: dict[int, FeatureMap]
    lifetimes: dict[int, Lifetime]

    def predecessors(self, index: int) -> list[int]:
        """Tensors whose bytes the map of ``index`` overwrites."""
        map_, life = self.maps[index], self.lifetimes[index]
        return [
            other
            for other, theirs in self.maps.items()
            if self.lifetimes[other].last < life.first
            and theirs.address < map_.address + map_.size_bytes
            and map_.address < theirs.address + theirs.size_bytes
        ]


def place(plan: Outline, topology: Topology) -> Placement:
    """Give every stored tensor an address.

    Raises:
        CapacityError: the tensor that finds no place, its bytes, and what is free.
    """
    tensors = _stored(plan)
    crossing = {tensor.index for tensor in (*(s.stored for s in plan.sources), *(s.stored for s in plan.sinks))}
    maps = {tensor.index: _map(plan, tensor, topology, tensor.index in crossing) for tensor in tensors}
    lifetimes = {tensor.index: _lifetime(plan, tensor, maps[tensor.index].size_bytes) for tensor in tensors}
    try:
        addresses = allocate(
            [lifetimes[tensor.index] for tensor in tensors],
            topology.narrow_memory.size_bytes,
            topology.narrow_memory.word_bytes,
        )
    except DoesNotFit as error:
        raise CapacityError(
            f"{plan.network.name}: tensor {error.item.name} must fit the narrow memory of {topology.name}: it needs "
            f"{format_bytes(error.item.size)}, and {format_bytes(error.free)} of "
            f"{format_bytes(topology.narrow_memory.size_bytes)} are free while it lives"
        ) from None
    placed = {t.index: replace(maps[t.index], address=address) for t, address in zip(tensors, addresses, strict=True)}
    return Placement(placed, lifetimes)


def _stored(plan: Outline) -> list[Tensor]:
    produced = [plan.network.tensors[node.output] for _, node in plan.steps]
    return list({tensor.index: tensor for tensor in [*(source.stored for source in plan.sources), *produced]}.values())


def _map(plan: Outline, tensor: Tensor, topology: Topology, crosses_ring: bool) -> FeatureMap:
    shape = Shape.of(tensor.shape)
    paddings = [
        _read_padding(plan, node, node.operator)
        for _, node in plan.steps
        if isinstance(node.operator, Convolution | DepthwiseConvolution) and plan.activations(node)[0] is tensor
    ]
    pixel_bytes = padded(shape.channels, max(topology.narrow_memory.word_bytes, topology.tile.vector_bytes))
    bare = FeatureMap(shape, widest(paddings), pixel_bytes)
    slack = spill_bytes(bare, topology.wide_memory.row_bytes) if crosses_ring else 0
    return replace(bare, slack_bytes=slack)


def _read_padding(plan: Outline, node: Node, op: Convolution | DepthwiseConvolution) -> Padding:
    """The part of a layer's padding that its windows read: strides may pass the last of it by."""
    source, target = (Shape.of(plan.network.tensors[i].shape) for i in (node.inputs[0], node.output))
    weights = plan.network.tensors[node.inputs[1]].shape
    kernel = weights[1:3] if isinstance(op, Convolution) else weights[:2]
    sizes, outputs = (source.height, source.width), (target.height, target.width)
    ends = [
        (outputs[k] - 1) * op.strides[k] + (kernel[k] - 1) * op.dilations[k] + 1 - op.padding[k] - sizes[k]
        for k in (0, 1)
    ]
    return Padding(op.padding.top, op.padding.left, max(0, ends[0]), max(0, ends[1]))


def _lifetime(plan: Outline, tensor: Tensor, size: int) -> Lifetime:
    uses = [step for step, (_, node) in enumerate(plan.steps, 1) if tensor in plan.activations(node)]
    made = [step for step, (_, node) in enumerate(plan.steps, 1) if node.output == tensor.index]
    # Nothing comes after what nobody reads: it stays, so that nothing has to wait for it.
    leaves = [len(plan.steps) + 1] if not uses or any(sink.stored is tensor for sink in plan.sinks) else []
    first = made[0] if made else 0
    return Lifetime(tensor.title, size, first, max([first, *uses, *leaves]))
