"""In which rounds operands touch what, against sets of bytes."""

import numpy as np
import pytest

from tests.tiled.programs import program
from tests.tiled.rules.plain_order import Plain, touched
from tilesim.tiled.rules.tile.effects import Effects
from tilesim.tiled.rules.tile.touches import MOST_TOUCHES, Use, common_unit

WINDOW = "tensorop tiles=1 operation=maximum nest=[c:2,y:3,x:4,k:3,j:2,lane:4 alternate y:2] reduce=k,j"
LINES = (
    f"{WINDOW} input=@0x10+y*16+x*4+k*16+j*4 output=@0x80+c*4+y*32+x*8",
    f"{WINDOW} input=@0x40+y*-16+x*4+k*16 output=@0xc0+c*48+y*-16+x*4",
    "wide_to_narrow tiles=1 read=[r:2,b:1 @0x10+r*32] write=[y:3,w:3 alternate y:2 @0x8+y*16+w*4]",
    "wide_to_narrow tiles=1 read=[o:2,r:2 @0x10+r*16] write=[o:2,i:2,w:4 @0x40+o*4+i*8+w*-4]",
    "narrow_to_wide tiles=1 read=[p:2,y:3,w:3 alternate y:2 @0x0+p*4+y*4+w*12] write=[r:4 @0x40+r*-16]",
)


def uses(line: str) -> list[tuple[Use, list[set[int]]]]:
    """The operands of an instruction, and the bytes that each touches in each round."""
    written = program(line)
    effects = Effects.alone(written.run[0], written.topology)  # type: ignore[arg-type]
    step = Plain(effects.op, {}, 0, set())
    return [(use, touched(step, use.footprint.operand, written.topology)[1]) for use in effects.uses]


@pytest.mark.parametrize("line", LINES)
def test_first_last_and_all_rounds_of_each_piece(line: str) -> None:
    for use, by_round in uses(line):
        low, end, unit = use.footprint.first, use.footprint.end, use.unit
        assert use.footprint.extent == (min(set().union(*by_round)), max(set().union(*by_round)) + 1)
        when = [[k for k, touched in enumerate(by_round) if at in touched] for at in range(low, end)]
        assert np.repeat(use.first(unit, low, end), unit).tolist() == [min(rounds, default=-1) for rounds in when]
        assert np.repeat(use.last(unit, low, end), unit).tolist() == [max(rounds, default=-1) for rounds in when]
        pieces_and_rounds = use.all(unit, low, end)
        assert pieces_and_rounds is not None
        pieces = set(zip(*(column.tolist() for column in pieces_and_rounds), strict=True))
        assert pieces == {(at // unit, k) for k, bytes_ in enumerate(by_round) for at in bytes_}


def test_a_part_of_the_extent_in_smaller_pieces() -> None:
    (window, _), (output, by_round) = uses(LINES[0])
    assert (window.unit, common_unit(window, output)) == (4, 4)
    last = output.last(2, output.footprint.first + 4, output.footprint.first + 12)
    at = range(output.footprint.first + 4, output.footprint.first + 12, 2)
    assert last.tolist() == [max((k for k, bytes_ in enumerate(by_round) if byte in bytes_), default=-1) for byte in at]


def test_endless_touches_are_not_looked_at_one_by_one() -> None:
    [(send, _)] = uses("mesh_out tiles=1 side=south read=[a:4,y:4 @0x0+y*4]")
    assert send.all(4, 0, 16) is not None
    endless = program(f"mesh_out tiles=1 side=south read=[a:{MOST_TOUCHES},y:4 @0x0+y*4]")
    [use] = Effects.alone(endless.run[0], endless.topology).uses  # type: ignore[arg-type]
    assert use.all(4, 0, 16) is None
    assert use.last(4, 0, 16).tolist() == [4 * MOST_TOUCHES - 4 + k for k in range(4)]
