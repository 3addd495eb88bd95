"""Networks compiled, each in two parts: the chip's, and what the host computes itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from tilesim.errors import CapacityError, MapsError, kept
from tilesim.lowering.smooth_resize import is_smooth, with_smooth_resizes
from tilesim.lowering.whole_words import is_odd, with_whole_words
from tilesim.machines.options import CompileOptions
from tilesim.network.graph import Network
from tilesim.tiled.compiler.host_join import joined, must_be_portable, without_chip
from tilesim.tiled.compiler.host_split import HostSplit, of_parts, split
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.partition_search import compile_networks
from tilesim.tiled.topology import Topology


def compile_split(networks: Sequence[Network], topology: Topology, options: CompileOptions) -> list[Program]:
    """Compile networks: what tiles have no unit for, the host computes. Some layers between those of the tiles are made
    of others, if there is room for the maps of these. Where maps have no room otherwise, runs of layers are made band
    by band, each from rows that the host sends.

    Raises:
        CapacityError: what can't be done by either.
    """
    plain = _splits(networks, topology, options)
    other = [_with_substitutes(each, topology, options, k) for k, each in enumerate(plain)]
    if any(one is not another for one, another in zip(plain, other, strict=True)):
        with suppress(CapacityError):
            return compiled(other, options, topology)
    try:
        return compiled(plain, options, topology)
    except MapsError as error:
        from tilesim.tiled.banding.compiling import compiled_in_bands  # which most networks don't need

        compile_, faults = partial(compiled, topology=topology), list[str]()
        ways = (other, plain) if other != plain else (plain,)
        for splits in ways if options.partition.bands else ():
            with kept(faults):
                return compiled_in_bands(splits, topology, options, compile_)
        raise CapacityError(dict.fromkeys([*error.faults, *faults])) from None


def chip_parts(
    networks: Mapping[str, Network], topology: Topology, options: CompileOptions
) -> tuple[dict[str, Network], CompileOptions]:
    """What of networks, by name, the chip computes, if it is anything; and what is asked of that.

    Raises:
        CapacityError: it computes nothing at all.
    """
    plain = _splits([*networks.values()], topology, options)
    splits = [_with_substitutes(each, topology, options, k) for k, each in enumerate(plain)]
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


def _with_substitutes(plain: HostSplit, topology: Topology, options: CompileOptions, number: int) -> HostSplit:
    """The network split with other layers in the place of some of which tiles make the inputs and read the output:
    bilinear resizes, concatenations and slices of channels that don't fill words; the same if there are none.
    """
    network, word_bytes = plain.whole, topology.narrow_memory.word_bytes
    some = _between_tiles(plain, word_bytes)
    if not some:
        return plain
    other = with_whole_words(with_smooth_resizes(network, some), some, word_bytes)
    return split(other, word_bytes, options.partition.wishes(number, other))


def _between_tiles(plain: HostSplit, word_bytes: int) -> set[int]:
    """The outputs of such layers: what tiles, or others of them, make something of and read."""
    network = plain.whole
    by_host = {network.nodes[layer].output: network.nodes[layer] for layer in plain.host}
    chips = [node for layer, node in enumerate(network.nodes) if layer not in plain.host]
    some = {index for index, node in by_host.items() if is_smooth(network, node) or is_odd(network, node, word_bytes)}
    while True:
        read = {index for node in (*chips, *(by_host[index] for index in some)) for index in node.inputs}
        kept = {index for index in some & read if all(of in some or of not in by_host for of in by_host[index].inputs)}
        if kept == some:
            return some
        some = kept


def compiled(splits: Sequence[HostSplit], options: CompileOptions, topology: Topology) -> list[Program]:
    parts, asked = _on_chip(splits, options)
    programs = iter(compile_networks(parts, topology, asked) if parts else ())
    partition = options.partition.default
    return [
        joined(each, next(programs)) if each.part.nodes else without_chip(each, topology, partition) for each in splits
    ]


def _on_chip(splits: Sequence[HostSplit], options: CompileOptions) -> tuple[list[Network], CompileOptions]:
    return [each.part for each in splits if each.part.nodes], of_parts(options, splits)
