"""Parameter sets for tests, and any of them for hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tilesim.tiled.caching import Decision, ParameterSet


def shared(size: int, tiles: int, network: int = 0, layer: int = 0, chunk: int = 0) -> ParameterSet:
    """What a convolution needs: the same bytes in each of its tiles."""
    return ParameterSet(network, layer, chunk, "conv", size, per_tile=False, tiles=tiles)


def parts(size: int, tiles: int) -> ParameterSet:
    """What a fully connected layer needs: so many bytes of its own in each tile."""
    return ParameterSet(0, 0, 0, "dense", size, per_tile=True, tiles=tiles)


def held(decisions: Sequence[Decision], tiles: int) -> list[int]:
    """Cached bytes of each tile."""
    return [
        sum(decision.set.bytes_per_tile for decision in decisions if tile in decision.holders) for tile in range(tiles)
    ]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[ParameterSet], list[int], list[int]]:
    """Sets, budgets and an order, so small that sets often meet exactly what is left."""
    budgets = draw(st.lists(st.integers(-2, 24), min_size=1, max_size=4))
    one = st.builds(
        ParameterSet,
        st.integers(0, 1),
        st.integers(0, 3),
        st.just(0),
        st.just("layer"),
        st.integers(1, 12),
        st.booleans(),
        st.integers(1, (1 << len(budgets)) - 1),
    )
    sets = draw(st.lists(one, max_size=8))
    return sets, budgets, draw(st.permutations(range(len(sets))))
