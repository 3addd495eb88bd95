"""Between which bytes instructions read and write: as each one's footprints say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilesim
from tilesim.errors import AccessError
from tilesim.tiled.dataflow.extents import FAR, WRITES, Extents
from tilesim.tiled.isa.model.fields import Loop, Nest, Reference, Traversal
from tilesim.tiled.isa.model.instructions import MeshOut, NarrowToWide, TensorOp, TileFence, Work, increments
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.rules.tile.footprint import footprints
from tilesim.tiled.topology import Topology


def hull(op: Work, topology: Topology) -> list[int]:
    """By comparing all footprints, wide memory behind the narrow one."""
    found = [FAR, -1] * WRITES
    for footprint in footprints(op, topology):
        behind = topology.narrow_memory.size_bytes if footprint.memory == "wide" else 0
        place = WRITES * footprint.writes + 2 * (footprint.memory == "wide")
        found[place] = min(found[place], behind + footprint.first)
        found[place + 1] = max(found[place + 1], behind + footprint.end)
    return found


def test_each_instruction_touches_what_its_footprints_say_and_counts_what_its_nest_does(program: Program) -> None:
    extents, ops = Extents(program), (*program.load, *program.run)
    works = {place: op for place, op in enumerate(ops) if isinstance(op, Work)}
    assert {place: extents.hulls[:, place].tolist() for place in works} == {
        place: hull(op, program.topology) for place, op in works.items()
    }
    assert {place: bool(extents.rises_early[place]) for place in works} == {
        place: increments(op) > 1 for place, op in works.items()
    }
    for place, op in works.items():
        assert extents.form(place).bases(op) == tuple(
            getattr(operand, "reference", operand).base
            for operand in (getattr(op, each.operand) for each in footprints(op, program.topology))
        )
        if not isinstance(op, TensorOp):
            traversal = getattr(op, op.row.counts)
            assert extents.rounds[place] == np.prod([loop.bound for loop in traversal.nest.loops]), op
    assert len({id(extents.form(place)) for place in works}) < len(works)


def line(base: int) -> Traversal:
    return Traversal(Nest((Loop("r", 4),)), Reference(base, (("r", 64),)))


def test_of_one_operand_and_of_none() -> None:
    topology = tilesim.load_topology("edge-2x2")
    assert isinstance(topology, Topology)
    fence, out = TileFence(tiles=1), MeshOut(tiles=1, side="east", memory="narrow", read=line(128))  # type: ignore[arg-type]
    extents = Extents(Program("few", topology, load=(fence,), run=(out,)))
    assert extents.hulls[:, 1].tolist() == [128, 128 + 3 * 64 + topology.narrow_memory.word_bytes, *[FAR, -1] * 3]
    assert extents.rounds.tolist() == [0, 4]
    assert Extents(Program("none", topology, load=(), run=(fence,))).hulls.shape == (8, 1)


@pytest.mark.parametrize("base", [-64, 1 << 20, 1 << 53, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("place", [0, 1])
def test_what_addresses_bytes_outside_its_memory_is_named(base: int, place: int) -> None:
    topology = tilesim.load_topology("edge-2x2")
    assert isinstance(topology, Topology)
    ops = [NarrowToWide(tiles=1, read=line(0), write=line(0), label=label) for label in "ab"]
    ops[place] = replace(ops[place], read=line(base))
    with pytest.raises(AccessError, match=f"^{'ab'[place]} addresses bytes that its memory does not have$"):
        Extents(Program("two", topology, load=(), run=tuple(ops)))
