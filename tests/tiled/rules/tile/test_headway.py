"""How far instructions have surely come when rounds of others begin."""

import numpy as np
import pytest

from tests.tiled.programs import program
from tilesim.tiled.rules.tile.effects import effects_of
from tilesim.tiled.rules.tile.happens_before import HappensBefore
from tilesim.tiled.rules.tile.headway import Headway, chained, interleaved, watched
from tilesim.tiled.rules.tile.touches import MOST_TOUCHES

SCATTER = "scatter: wide_to_narrow tiles=1 read=[r:4,b:1 @0x0+r*16] write=[w:16 @0x0+w*4] produce=b"
WORK = (
    "work: tensorop tiles=1 operation=maximum nest=[y:2,x:4,k:3,lane:4] reduce=k input=@0x0+y*16+x*4+k*16 "
    "output=@0x40+y*16+x*4 wait=wide_to_narrow@y>={} produce=x"
)
GATHER = "gather: narrow_to_wide tiles=1 read=[w:8 @0x40+w*4] write=[r:2,b:1 @0x80+r*16] wait=avdata@r>=1+1 produce=b"


def order_of(*lines: str, **changes: object) -> HappensBefore:
    made = program("\n".join(lines), **changes)  # type: ignore[arg-type]
    return HappensBefore(made.topology, effects_of(made), 0)


def points(headway: Headway) -> list[tuple[int, int]]:
    return list(zip(headway.starts.tolist(), headway.done.tolist(), strict=True))


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        ("3+1", [(0, 0), (0, 3), (4, 4)]),
        ("0+2", [(0, 0), (0, 0), (4, 2)]),
        ("4+-1", [(0, 0), (0, 4), (4, 4)]),  # what is over stays over
        ("9+0", [(0, 0), (0, 4), (4, 4)]),
    ],
)
def test_watchers_tell_the_rounds_that_are_over(wait: str, expected: list[tuple[int, int]]) -> None:
    """A round of the tensorop is a pixel, of which four make a row of the loop that waits."""
    first, then = order_of(SCATTER, WORK.format(wait)).steps
    assert points(watched(first.effects, first.raised_to, then.effects, strict=False)) == expected


def test_where_a_flag_must_exceed_its_count_one_more_round_is_over() -> None:
    first, then = order_of(SCATTER, WORK.format("2+1"), tile__strict_compare=True).steps
    assert points(watched(first.effects, first.raised_to, then.effects, strict=True)) == [(0, 0), (0, 3), (4, 4)]


def test_what_a_round_has_waited_for_is_over_for_all_that_wait_for_it() -> None:
    order = order_of(SCATTER, WORK.format("3+1"), GATHER)
    scatter, work, gather = order.steps
    assert points(chained(order, scatter, gather)) == [(0, 0), (0, 3), (1, 4)]
    assert points(chained(order, work, gather)) == [(0, 0), (0, 4), (1, 8)]
    assert points(chained(order, gather, work)) == [(0, 0)]
    assert chained(order, scatter, gather).at(np.array([0, 1, 1])).tolist() == [3, 4, 4]


def test_what_an_instruction_has_waited_for_is_over_for_all_that_wait_for_its_rounds() -> None:
    """The gather waits for rows of pixels, of which the first began when the whole transfer was over."""
    work = WORK.format("0+0").replace("wide_to_narrow@y>=0+0", "wide_to_narrow>=4")
    order = order_of(SCATTER, work, GATHER)
    scatter, _, gather = order.steps
    assert points(chained(order, scatter, gather)) == [(0, 0), (0, 4)]


def test_a_round_that_never_begins_comes_after_everything() -> None:
    order = order_of(SCATTER, GATHER.replace("avdata@r>=1+1", "avdata@r>=0+1"))
    scatter, gather = order.steps
    assert points(chained(order, scatter, gather)) == [(0, 0), (1, 4)]


def test_too_many_touches_are_not_called_ordered() -> None:
    fill = "fill: mesh_in tiles=1 side=north write=[a:2,w:2 @0x0+w*4] fill=0"
    send = f"send: mesh_out tiles=1 side=south read=[a:{MOST_TOUCHES},w:2 @0x0+w*4]"
    for line, ordered in ((send, False), (send.replace(str(MOST_TOUCHES), "2"), True)):
        [one], [other] = (step.effects.uses for step in order_of(fill, line).steps)
        over = Headway.of([(0, one.rounds + 4)])
        assert interleaved(one, other, over, Headway.of([(0, 0)])) is ordered


def test_what_is_over_before_all_rounds_is_apart_however_much_both_touch() -> None:
    """Of touches too many to be looked at nothing is known but that all are over."""
    order = order_of(SCATTER, WORK.format("3+1"), GATHER)
    scatter, _, gather = order.steps
    assert not chained(order, scatter, gather).completes(scatter)
    work_after = WORK.format("0+0").replace("wide_to_narrow@y>=0+0", "wide_to_narrow>=4")
    order = order_of(SCATTER, work_after, GATHER)
    scatter, _, gather = order.steps
    assert chained(order, scatter, gather).completes(scatter)
    assert not chained(order, gather, scatter).completes(gather)
