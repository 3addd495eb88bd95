"""Who is asked first for a place in the tiles' memories."""

from __future__ import annotations

from collections.abc import Sequence

from tilesim.tiled.caching.plan import ParameterSet


def order_of(
    sets: Sequence[ParameterSet],
    network_priority: Sequence[int] = (),
    layer_priority: Sequence[tuple[int, int]] = (),
) -> tuple[int, ...]:
    """The indices of ``sets``, the most important first: the layers (network, layer) of ``layer_priority``, then the
    networks of ``network_priority``, both in descending order, then the others, first come first served: network by
    network, and in each of them first those with the least computing to hide their streaming, layer by layer.

    **Source**: US 2025/0265455 [0049], [0062] and claim 7; that named layers come before named networks, and that it
    counts how much computing could hide the streaming, are assumptions.
    """
    layers = {layer: place for place, layer in reversed(list(enumerate(layer_priority)))}
    networks = {network: place for place, network in reversed(list(enumerate(network_priority)))}

    def rank(index: int) -> tuple[float, ...]:
        parameters = sets[index]
        layer = layers.get((parameters.network, parameters.layer), len(layer_priority))
        network = networks.get(parameters.network, len(network_priority))
        hidden = parameters.issue_cycles / parameters.data_bytes if parameters.data_bytes else 0.0
        return layer, network, parameters.network, hidden, parameters.layer, parameters.chunk, index

    return tuple(sorted(range(len(sets)), key=rank))
