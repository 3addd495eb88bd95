"""Traversals of maps by whole wide rows."""

from hypothesis import given
from hypothesis import strategies as st

from tilesim.network.operators.padding import Padding
from tilesim.tiled.compiler.feature_map import FeatureMap, Shape, padded
from tilesim.tiled.compiler.rows import map_words, rows_for, spill_bytes
from tilesim.tiled.units import ttu

sides = st.integers(0, 3)
maps = st.builds(
    lambda height, width, channels, border, address: FeatureMap(
        Shape(height, width, channels), Padding(*border), padded(channels, 4), address=4 * address
    ),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 70),
    st.tuples(sides, sides, sides, sides),
    st.integers(0, 99),
)


@given(maps, st.sampled_from([16, 64, 256]))
def test_every_word_of_the_map_is_visited_in_order_and_the_rest_stays_in_the_slack(map_: FeatureMap, row: int) -> None:
    rows = rows_for(map_, row)
    traversal = map_words(map_, rows, row, 4)
    found = ttu.addresses(traversal.nest, traversal.reference).tolist()
    inner = [
        map_.at(y, 0) + w for y in range(map_.shape.height) for w in range(0, map_.shape.width * map_.pixel_bytes, 4)
    ]
    assert len(found) * 4 == rows * row
    assert found[: len(inner)] == inner
    assert max(found) + 4 <= map_.address + map_.size_bytes + spill_bytes(map_, row)
