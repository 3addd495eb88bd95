"""Which sets of parameters go over the mesh from the tile that keeps them: those that hold up the tiles less so, by
estimate, than over the ring.

Source: US 2025/0265455 [0038], [0047] for the two ways; the estimate is an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import inf

from tilesim.errors import CapacityError
from tilesim.machines.policies import AUTO, MESH, RING, CachePolicy
from tilesim.tiled.caching import Decision, Home
from tilesim.tiled.compiler.feature_map import bitmap_of, padded
from tilesim.tiled.compiler.mesh_rows import joins_wide, row_words
from tilesim.tiled.compiler.mesh_sending import Hop, hops_to
from tilesim.tiled.compiler.parameters import SetKey
from tilesim.tiled.compiler.stream_region import Uses
from tilesim.tiled.compiler.wide_layout import StreamBuffer
from tilesim.tiled.topology import Topology

SPLIT_COPIES = 2
"""How often rows of a set with several home tiles cross the ring at most: those of a tile's own run come back to it."""

MARGIN = 1.5
"""How many times as long the ring must hold up the tiles: maps and their edges have to share either way."""


def check_ways(policy: CachePolicy, topology: Topology) -> None:
    """Refuse what the chip has no way for.

    Raises:
        CapacityError: parameters are to go over a mesh that does not join wide memories.
    """
    if policy.parameters_over == MESH and not joins_wide(topology):
        raise CapacityError(
            f"{topology.name}: mesh.destination must be wide for parameters over the mesh, not "
            f"{topology.mesh.destination}"
        )


def over_mesh(
    topology: Topology,
    policy: CachePolicy,
    decisions: Mapping[SetKey, Decision],
    buffers: Mapping[SetKey, StreamBuffer],
    uses: Uses,
    issue_cycles: Mapping[SetKey, int],
) -> dict[SetKey, int]:
    """Those of the sets with one home tile that are to go over the mesh, and the tiles (a bitmap) to which they come
    so: all or none, if that is asked for, else each that holds up the tiles for less time there.
    """
    if policy.parameters_over == RING or not joins_wide(topology):
        return {}
    homed = [key for key in buffers if decisions[key].home is Home.HOME_TILE]
    if policy.parameters_over == AUTO:
        homed = _sooner(topology, decisions, buffers, uses, issue_cycles)
    return {key: bitmap_of([hop.to for hop in _hops(decisions[key], topology)]) for key in homed}


def _sooner(
    topology: Topology,
    decisions: Mapping[SetKey, Decision],
    buffers: Mapping[SetKey, StreamBuffer],
    uses: Uses,
    issue_cycles: Mapping[SetKey, int],
) -> list[SetKey]:
    """What holds up the tiles for far less time on the mesh than on the ring, given what goes before it on either way.
    A set may come once its buffer is ready, after as much computing as there is until then. It is late where it comes
    after the computing before its use; on the mesh also where it comes after that of the next round, as the edges of
    the map that is made there then wait for its last row.
    """
    chosen = []
    done = _computing(uses, issue_cycles)
    ring_free = mesh_free = delay = 0.0
    for key, buffer in buffers.items():
        decision, ready = decisions[key], done[buffer.ready] + delay
        ring_end, mesh_end = max(ring_free, ready) + ring_cycles(decision, topology), inf
        if decision.home is Home.HOME_TILE:
            mesh_end = max(mesh_free, ready) + mesh_cycles(decision, topology)
        used = done[uses[key].start]
        ring_late, mesh_late = ring_end - used - delay, mesh_end - min(used, done[buffer.ready + 1]) - delay
        if MARGIN * max(0, mesh_late) < ring_late:
            chosen.append(key)
            mesh_free = mesh_end
        else:
            ring_free = ring_end
        delay += max(0, min(mesh_late, ring_late))
    return chosen


def _computing(uses: Uses, issue_cycles: Mapping[SetKey, int]) -> list[int]:
    """The cycles of computing with parameters before each round, and in all."""
    cycles = [0] * (max((rounds.stop for rounds in uses.values()), default=0) + 1)
    for key, rounds in uses.items():
        cycles[rounds.stop - 1] += issue_cycles.get(key, 0)
    return [0, *accumulate(cycles)]


def _hops(decision: Decision, topology: Topology) -> list[Hop]:
    assert decision.tile is not None
    return hops_to(topology.grid, decision.tile, decision.set.tiles)


def ring_cycles(decision: Decision, topology: Topology) -> float:
    """About what the ring takes to bring a set to all its tiles, or data memory for a set that comes from there.

    **Timing**: rows x :attr:`~tilesim.tiled.topology.Topology.ring_row_cycles` + tiles from a home tile, twice as much
    from several; from data memory bytes / :attr:`~tilesim.tiled.topology.Topology.parameter_bytes_per_cycle`, if that
    is more.
    """
    row_bytes = topology.wide_memory.row_bytes
    passing = padded(decision.set.data_bytes, row_bytes) // row_bytes * topology.ring_row_cycles + topology.tiles
    if not decision.cached:
        return max(float(decision.set.data_bytes / topology.parameter_bytes_per_cycle), passing)
    return passing * (SPLIT_COPIES if decision.runs else 1)


def mesh_cycles(decision: Decision, topology: Topology) -> float:
    """About what the mesh takes to bring a set from its home tile to all its tiles: each passes a row on once it has
    come.

    **Timing**: (rows + hops - 1) x words of a row x
    :attr:`~tilesim.tiled.topology.Topology.mesh_beats` + hops x ``mesh.hop_cycles``.
    """
    depth = max((hop.depth for hop in _hops(decision, topology)), default=0)
    rows = padded(decision.set.bytes_per_tile, topology.wide_memory.row_bytes) // topology.wide_memory.row_bytes
    row_cycles = row_words(topology) * topology.mesh_beats
    return (rows + depth - 1) * row_cycles + depth * topology.mesh.hop_cycles
