"""Static checks of the mesh: whoever sends or receives has a neighbour there and a memory that the mesh reaches, and
both ends move the same words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tilesim.machines.program import where
from tilesim.tiled.isa.checks.nests import nest_faults
from tilesim.tiled.isa.model.accesses import mesh_words
from tilesim.tiled.isa.model.fields import MemoryName, Side
from tilesim.tiled.isa.model.instructions import Instruction, MeshIn, MeshOut
from tilesim.tiled.isa.model.neighbours import OPPOSITE, neighbour
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.topology import Grid, Topology

End = tuple[int, Side]
"""A tile that receives, and from which side."""


def side_faults(op: MeshIn | MeshOut, grid: Grid) -> Iterator[str]:
    """Tiles that have no neighbour to exchange words with; a fill needs none."""
    if isinstance(op, MeshIn) and op.fill is not None:
        return
    for tile in range(grid.rows * grid.columns):
        if op.tiles >> tile & 1 and neighbour(grid, tile, op.side) is None:
            what = "side must be where every tile has a neighbour" + (", or fill be given" * isinstance(op, MeshIn))
            yield f"{what}; tile {tile} has none to the {op.side}"


def memory_faults(op: MeshIn | MeshOut, topology: Topology) -> Iterator[str]:
    """Words from a memory that the mesh does not reach."""
    destination = MemoryName(topology.mesh.destination)
    if isinstance(op, MeshOut) and op.memory not in (MemoryName.NARROW, destination):
        yield f"memory must be narrow on a chip whose mesh.destination is {destination}, not {op.memory}"


def pair_faults(program: Program) -> Iterator[str]:
    """On each link the k-th transfer that is sent must be as long as the k-th that is received.

    One without a partner is no fault: the run explains it.
    """
    for section, ops in (("load", program.load), ("run", program.run)):
        words = {
            place: _words(op, program.topology) for place, op in enumerate(ops) if isinstance(op, MeshOut | MeshIn)
        }
        for (out, into), tile in _pairs(ops, program.topology.grid).items():
            sent, taken = words[out], words[into]
            if sent and taken and sent != taken:
                yield (
                    f"{where(section, out, ops[out])}: read must have the {taken} words that "
                    f"{where(section, into, ops[into])} takes in tile {tile}, not {sent}"
                )


def _words(op: MeshOut | MeshIn, topology: Topology) -> int | None:
    """The words that ``op`` moves; None if its loops are unsound, which is a fault of its own."""
    return None if any(nest_faults(op, topology)) else mesh_words(op, topology)


def _pairs(ops: Sequence[Instruction], grid: Grid) -> dict[tuple[int, int], int]:
    """The places of a sending and a receiving instruction that meet on a link, and the first tile that receives."""
    sent: dict[End, list[int]] = defaultdict(list)
    received: dict[End, list[int]] = defaultdict(list)
    for place, op in enumerate(ops):
        for tile in range(grid.rows * grid.columns):
            if isinstance(op, MeshOut) and op.tiles >> tile & 1:
                to = neighbour(grid, tile, op.side)
                if to is not None:
                    sent[to, OPPOSITE[op.side]].append(place)
            elif isinstance(op, MeshIn) and op.fill is None and op.tiles >> tile & 1:
                received[tile, op.side].append(place)
    pairs: dict[tuple[int, int], int] = {}
    for (tile, side), outs in sent.items():
        for pair in zip(outs, received[tile, side], strict=False):
            pairs.setdefault(pair, tile)
    return pairs
