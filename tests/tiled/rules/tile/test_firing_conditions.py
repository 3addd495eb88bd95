"""How far watchers let an instruction go, against what its engine does."""

import pytest

from tests.tiled.programs import program
from tilesim.tiled.isa.model.fields import Flag
from tilesim.tiled.isa.model.loops import Gate
from tilesim.tiled.rules.tile.firing_conditions import FiringConditions, firing_conditions

ROW = 16


def firing_of(line: str, **changes: object) -> FiringConditions:
    return firing_conditions(program(line, **changes).run[0], ROW)  # type: ignore[arg-type]


def test_watchers_before_the_nest_and_in_its_loops() -> None:
    wait = "wait=ring_read_a>=1,narrow_to_wide@r>=2+4 produce=b"
    firing = firing_of(f"ring_produce tiles=0x1 read=[r:2,b:3 @0x0+r*48+b*16] to=0x2 {wait}")
    flags = (Flag.RING_READ_A, Flag.NARROW_TO_WIDE, Flag.NARROW_TO_WIDE)
    assert firing == FiringConditions(6, tuple(map(Gate, (0, 0, 3), flags, (1, 2, 6))), (3, 6))


@pytest.mark.parametrize(
    ("produce", "rises"), [("x", (4,)), ("y", (2, 4)), ("k", (1, 2, 3, 4)), ("lane", (1, 2, 3, 4))]
)
def test_a_tensorop_goes_by_result_groups(produce: str, rises: tuple[int, ...]) -> None:
    nest = "nest=[x:2,y:2,k:3,lane:4] reduce=k"
    line = f"tensorop tiles=0x1 operation=maximum {nest} input=@0x0 output=@0x40 produce={produce}"
    assert firing_of(line) == FiringConditions(4, (), rises)


def test_a_byte_filter_goes_by_rows_on_the_ring() -> None:
    """Three rows, of which half is kept: the first row is complete with the second, the last with the third."""
    kept = "filter=[rows:3 first:0 keep:8 gap:8] wait=avdata@r>=1+1 produce=b"
    firing = firing_of(f"ring_consume tiles=0x1 write=[r:2,b:1 @0x0+r*16] {kept}", ring__byte_filter=True)
    assert firing == FiringConditions(3, (Gate(1, Flag.AVDATA, 1), Gate(2, Flag.AVDATA, 2)), (2, 3))
