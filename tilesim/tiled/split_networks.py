"""Networks compiled, each in two parts: the chip's, and what the host computes itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilesim.errors import CapacityError
from tilesim.machines.options import CompileOptions
from tilesim.network.graph import Network
from tilesim.tiled.compiler.host_join import joined, must_be_portable, without_chip
from tilesim.tiled.compiler.host_split import HostSplit, of_parts, split
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.partition_search import compile_networks
from tilesim.tiled.topology import Topology


def compile_split(networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[Program]:
    """Compile networks: what tiles have no unit for, the host computes.

    Raises:
        CapacityError: what can't be done by either.
    """
    splits = _splits(networks, topology, options)
    parts, asked = _on_chip(splits, options)
    programs = iter(compile_networks(parts, topology, asked) if parts else ())
    partition = options.partition.default
    return [
        joined(each, next(programs)) if each.part.nodes else without_chip(each, topology, partition) for each in splits
    ]


def chip_parts(
    networks: Mapping[str, Network], topology: Topology, options: CompileOptions
) -> tuple[dict[str, Network], CompileOptions]:
    """What of networks, by name, the chip computes, if it is anything; and what is asked of that.

    Raises:
        CapacityError: it computes nothing at all.
    """
    splits = _splits([*networks.values()], topology, options)
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


def _on_chip(splits: Sequence[HostSplit], options: CompileOptions) -> tuple[list[Network], CompileOptions]:
    return [each.part for each in splits if each.part.nodes], of_parts(options, splits)
