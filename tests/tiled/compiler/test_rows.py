"""Traversals of parts of maps by whole wide rows."""

from hypothesis import given
from hypothesis import strategies as st

from tilesim.tiled.compiler.arrangement import Arrangement
from tilesim.tiled.compiler.axis import Axis
from tilesim.tiled.compiler.feature_map import FeatureMap, MapShape, padded
from tilesim.tiled.compiler.rows import block, meet, part_words, rows_for, spill_bytes
from tilesim.tiled.isa.model.fields import Traversal
from tilesim.tiled.isa.model.loops import addresses
from tilesim.tiled.topology import Grid


def axis(size: int, parts: int, border: tuple[int, int]) -> Axis:
    own = Axis.cut(size, parts)
    need = (
        range(positions.start - border[0], positions.stop + border[1]) if positions else positions for positions in own
    )
    return Axis(size, own, tuple(need), own)


borders = st.tuples(st.integers(0, 3), st.integers(0, 3))
maps = st.builds(
    lambda height, width, channels, across, down, address: FeatureMap(
        MapShape(height, width, channels),
        axis(height, *down),
        axis(width, *across),
        tiles=1,
        pixel_bytes=padded(channels, 4),
        arrangement=Arrangement.plain(Grid(rows=down[0], columns=across[0])),
        address=4 * address,
    ),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 70),
    st.tuples(st.integers(1, 4), borders),
    st.tuples(st.integers(1, 4), borders),
    st.integers(0, 99),
)


@given(maps, st.sampled_from([16, 64, 256]))
def test_every_word_of_a_part_is_visited_in_order_and_the_rest_stays_in_the_slack(map_: FeatureMap, row: int) -> None:
    part = map_.part(0)
    traversal = part_words(part, row, 4)
    visited = addresses(traversal.nest, traversal.reference).tolist()
    inner = [
        part.at(y, part.columns.start) + w for y in part.rows for w in range(0, len(part.columns) * map_.pixel_bytes, 4)
    ]
    assert len(visited) * 4 == rows_for(part, row) * row
    assert visited[: len(inner)] == inner
    assert max(visited) + 4 <= map_.address + map_.size_bytes + spill_bytes(map_, [traversal], 4)


blocks = st.builds(
    lambda address, lines, line, words: block(4 * address, lines, 4 * line, words, 4),
    st.integers(0, 40),
    st.integers(1, 4),
    st.integers(-9, 9).filter(bool),
    st.integers(1, 6),
)


@given(blocks, blocks)
def test_rectangles_meet_that_have_a_word_in_common(one: Traversal, other: Traversal) -> None:
    words = ({*addresses(each.nest, each.reference).tolist()} for each in (one, other))
    assert meet(one, other) == bool(set.intersection(*words))
