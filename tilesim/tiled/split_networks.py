"""Networks compiled, each in two parts: the chip's, and what the host computes itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from tilesim.errors import CapacityError
from tilesim.lowering.smooth_resize import with_smooth_resizes
from tilesim.machines.options import CompileOptions
from tilesim.network.graph import Network
from tilesim.tiled.compiler.host_join import joined, must_be_portable, without_chip
from tilesim.tiled.compiler.host_split import HostSplit, of_parts, split
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.partition_search import compile_networks
from tilesim.tiled.topology import Topology


def compile_split(networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[Program]:
    """Compile networks: what tiles have no unit for, the host computes. Bilinear resizes between layers of the tiles
    are made of other layers, if there is room for the maps of these.

    Raises:
        CapacityError: what can't be done by either.
    """
    plain = _splits(networks, topology, options)
    smooth = [_smoothed(each, topology, options, k) for k, each in enumerate(plain)]
    if any(one is not other for one, other in zip(plain, smooth, strict=True)):
        with suppress(CapacityError):
            return _compiled(smooth, topology, options)
    return _compiled(plain, topology, options)


def chip_parts(
    networks: Mapping[str, Network], topology: Topology, options: CompileOptions
) -> tuple[dict[str, Network], CompileOptions]:
    """What of networks, by name, the chip computes, if it is anything; and what is asked of that.

    Raises:
        CapacityError: it computes nothing at all.
    """
    plain = _splits([*networks.values()], topology, options)
    splits = [_smoothed(each, topology, options, k) for k, each in enumerate(plain)]
    parts, asked = _on_chip(splits, options)
    names = [name for name, each in zip(networks, splits, strict=True) if each.part.nodes]
    if not names:
        raise CapacityError(
            f"{' and '.join(networks)}: must have a layer for tiles, not only such as the host computes"
        )
    return dict(zip(names, parts, strict=True)), asked


def _splits(networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[HostSplit]:
    word_bytes, partition = topology.narrow_memory.word_bytes, options.partition
    splits = [split(network, word_bytes, partition.wishes(k, network)) for k, network in enumerate(networks)]
    must_be_portable(splits)
    return splits


def _smoothed(plain: HostSplit, topology: Topology, options: CompileOptions, number: int) -> HostSplit:
    """The network split with other layers in the place of bilinear resizes of which tiles make the input and read the
    output; the same if there are none.
    """
    network, given = plain.whole, set(plain.part.inputs)
    by_host = {network.nodes[layer].output for layer in plain.host}
    returning = [network.nodes[layer] for layer in plain.host if network.nodes[layer].output in given]
    some = {node.output for node in returning if node.inputs[0] not in by_host}
    other = with_smooth_resizes(network, some)
    if other is network:
        return plain
    return split(other, topology.narrow_memory.word_bytes, options.partition.wishes(number, other))


def _compiled(splits: Sequence[HostSplit], topology: Topology, options: CompileOptions) -> list[Program]:
    parts, asked = _on_chip(splits, options)
    programs = iter(compile_networks(parts, topology, asked) if parts else ())
    partition = options.partition.default
    return [
        joined(each, next(programs)) if each.part.nodes else without_chip(each, topology, partition) for each in splits
    ]


def _on_chip(splits: Sequence[HostSplit], options: CompileOptions) -> tuple[list[Network], CompileOptions]:
    return [each.part for each in splits if each.part.nodes], of_parts(options, splits)
