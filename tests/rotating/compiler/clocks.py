"""How many issue clocks layers take, from closed forms, and what control comes on top."""

from __future__ import annotations

from tilesim.rotating.topology import Topology


def mixing(
    passes: int, groups: int, visits: int, steps: int, columns: int, dilation: int, block: int, lines: int,
    topology: Topology,
) -> int:  # fmt: skip
    """Of a convolution or a fully connected layer: ``steps`` from block to block, the last alignment left out."""
    moves, units = topology.rotation.moves, topology.units.count
    rest = block - (columns - 1) * dilation
    rest += units if rest < 0 else 0
    alignment = max(moves(rest), 1) - 1 if steps > 1 else 0
    row = steps * (1 + (columns - 1) * moves(dilation) + alignment) - alignment
    return passes * (groups * visits * row + lines)


def channelwise(passes: int, visits: int, columns: int, dilation: int, lines: int, topology: Topology) -> int:
    """Of a depthwise convolution or a pool."""
    return passes * (visits * (1 + (columns - 1) * topology.rotation.moves(dilation)) + lines)


def control(passes: int, parameters: int = 1) -> int:
    """Of ``set``, once a layer, and of a ``mask`` and ``parameters`` in each pass."""
    return 1 + passes * (1 + parameters)
