"""An axis cut over one side of the grid."""

from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.compiler.axis import NOTHING, Axis, clip, hull
from tilesim.tiled.compiler.traits import ReceptiveField


def axes() -> st.SearchStrategy[Axis]:
    """What a layer of some stride and reach, cut over as many parts, needs of its input."""

    def build(size: int, parts: int, reach: int, stride: int, before: int, border: bool) -> Axis:
        before = min(before, reach - 1)
        outputs = max(1, (size + 2 * before - reach) // stride + 1)
        window = ReceptiveField(reach, stride, before, border)
        need = tuple(window.need(own, size) for own in Axis.cut(outputs, parts))
        return Axis(size, Axis.cut(size, parts), need, (NOTHING,) * parts)

    return st.builds(
        build,
        st.integers(1, 30),
        st.integers(1, 8),
        st.integers(1, 25),
        st.integers(1, 4),
        st.integers(0, 24),
        st.booleans(),
    )


@given(axes())
def test_apart_each_tile_owns_all_that_it_needs_of_the_map(axis: Axis) -> None:
    own = tuple(clip(need, 0, axis.size) for need in axis.need)
    apart = Axis(axis.size, own, axis.need, axis.reach, apart=True)
    assert not apart.exchanges
    assert apart.blocks == own
    for i, need in enumerate(axis.need):
        assert {*apart.border(i, True), *own[i], *apart.border(i, False)} >= set(need)
        if need:
            assert own[i].start - need.start <= apart.margin
            assert need.stop - own[i].start <= apart.length - apart.margin


def test_a_part_is_the_size_over_the_number_of_parts_rounded_up() -> None:
    assert [len(own) for own in Axis.cut(25, 4)] == [7, 7, 7, 4]
    assert [len(own) for own in Axis.cut(5, 4)] == [2, 2, 1, 0]
    assert Axis.cut(6, 8)[5:] == (range(5, 6), range(6, 6), range(6, 6))


@given(axes())
def test_every_position_that_is_needed_is_owned_or_comes_or_lies_in_the_border(axis: Axis) -> None:
    for i, (own, need) in enumerate(zip(axis.own, axis.need, strict=True)):
        positions = [
            *axis.border(i, True),
            *axis.received(i, True),
            *own,
            *axis.received(i, False),
            *axis.border(i, False),
        ]
        assert set(need) <= set(positions)
        assert len(set(positions)) == len(positions)


@given(axes())
def test_whoever_sends_holds_what_the_neighbour_gets(axis: Axis) -> None:
    for i in range(len(axis.own)):
        for before in (True, False):
            sent = axis.sent(i, before)
            assert set(sent) <= set(axis.hold[i]), "what is passed on has come before"
            neighbour = i - 1 if before else i + 1
            if 0 <= neighbour < len(axis.own):
                assert sent == axis.received(neighbour, not before)
            else:
                assert not sent


@given(axes())
def test_all_tiles_keep_their_positions_in_one_frame(axis: Axis) -> None:
    for own, hold in zip(axis.own, axis.hold, strict=True):
        assert own.start - axis.margin <= hold.start
        assert hold.stop <= own.start - axis.margin + axis.length


def test_what_is_far_away_is_passed_on() -> None:
    """6 rows on 6 tiles, stride 2: tile 2 needs rows 4 and 5, through the hands of tiles 4 and 3."""
    axis = Axis(6, Axis.cut(6, 6), (range(2), range(2, 4), range(4, 6), *[NOTHING] * 3), (NOTHING,) * 6)
    assert [axis.received(i, False) for i in range(6)] == [
        range(1, 2),
        range(2, 4),
        range(3, 6),
        range(4, 6),
        range(5, 6),
        range(6, 6),
    ]
    assert axis.exchanges


def test_a_part_that_is_cut_short_is_computed_as_a_whole_block_and_has_room_for_it() -> None:
    own = Axis.cut(10, 4)
    assert own[3] == range(9, 10)
    axis = Axis(10, own, own, (range(3), range(3, 6), range(6, 9), range(9, 12)))
    assert axis.blocks[3] == range(9, 12)
    assert axis.length == 3


def test_runs_of_positions() -> None:
    assert clip(range(-3, 4), 0, 9) == range(4)
    assert not clip(range(5, 9), 0, 3)
    assert hull((range(2, 3), NOTHING, range(7, 9))) == range(2, 9)
    assert hull(()) == NOTHING


@given(st.integers(1, 16), st.integers(1, 16), st.lists(st.integers(1, 3), min_size=1, max_size=4), st.data())
def test_what_is_thinned_stays_where_it_is_read(size: int, parts: int, strides: list[int], data: st.DataObject) -> None:
    own = Axis.cut(size, parts)
    for stride in strides:
        before, size = own, data.draw(st.integers(1, -(-size // stride)))
        thinned = Axis.thinned(own, stride, size)
        if max(map(len, before)) > 1:
            assert thinned is None
            return
        assert thinned is not None
        own = thinned
        assert [row for positions in own for row in positions] == list(range(size))
        assert all(old.start == new.start * stride for old, new in zip(before, own, strict=True) if new)
        axis = Axis(size, own, own, (NOTHING,) * parts)
        assert not axis.exchanges
        assert (axis.length, axis.margin) == (1, 0)


def test_nothing_is_thinned_that_has_no_steady_stride() -> None:
    own = Axis.cut(4, 4)
    assert Axis.thinned(own, 0, 4) is None, "a look-up"
    assert Axis.thinned(own, 2, 3) is None, "the third is made of a row that isn't there"
    assert Axis.thinned((range(1),) * 4, 1, 1) is None, "copies"
    assert Axis.thinned(own, 2, 2) == (range(1), range(1, 1), range(1, 2), range(2, 2))
