"""Networks that the memories have no room for: weights that come in parts, and sums that wait."""

from __future__ import annotations

import pytest

from tests.networks import Weave
from tests.rotating.compiler.compiled import exact, small
from tilesim.errors import CapacityError
from tilesim.network.graph import Network
from tilesim.network.operators import Add, MaxPool, Padding
from tilesim.rotating.compiler.compile import compile_network


def two_convolutions() -> Network:
    weave = Weave()
    return weave.network(
        weave.convolution(weave.convolution(weave.input(5, 6, 9), 9, 3, unsigned=True), 10, 3, strides=(2, 2))
    )


@pytest.mark.parametrize("rows", [4000, 400, 200, 110, 80, 60, 45])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_convolutions_in_ever_fewer_rows_of_weights(rows: int, direction: str) -> None:
    program, found = exact(two_convolutions(), small(32, weight_ram__rows=rows, rotation__direction=direction))
    streamed = any(segment.name == "streamed weights" for segment in program.data)
    assert streamed == (rows < 4000)
    raw = any(getattr(op, "function", "") == "raw" for op in program.run)
    assert raw == (rows < 200)
    assert sum(found.by_layer.values()) >= 5454


def test_a_sum_that_waits_takes_eight_clocks_a_line() -> None:
    _, whole = exact(two_convolutions(), small(32, weight_ram__rows=200))
    _, cut = exact(two_convolutions(), small(32, weight_ram__rows=110))
    more = sum(cut.by_layer.values()) - sum(whole.by_layer.values())
    assert more == 54 * (4 + 1)  # raw takes an issue clock, and writes 4 rows


@pytest.mark.parametrize("rows", [600, 200, 60, 45])
def test_fully_connected_layers_too(rows: int) -> None:
    weave = Weave()
    exact(weave.network(weave.fully_connected(weave.input(2, 6, 9), 10)), small(16, weight_ram__rows=rows))


def test_what_has_no_room_is_refused_with_numbers() -> None:
    with pytest.raises(CapacityError, match="must have filter rows whose weights fit half of the 40 rows"):
        compile_network(two_convolutions(), small(32, weight_ram__rows=40))
    with pytest.raises(CapacityError, match=r"they take \d+ rows, and there are 8"):
        compile_network(two_convolutions(), small(32, data_ram__rows=8))


ADD = Add("double", (-3, 1 << 30, 0, 4, 1 << 30, 0, -5, 1 << 30, -19), (-128, 127))


def residual() -> Network:
    weave = Weave()
    x = weave.convolution(weave.input(14, 6, 9), 5)
    y = weave.add(ADD, x, weave.convolution(weave.depthwise(x), 5), zero_point=-5)
    pooled = weave.add(MaxPool((2, 2), (2, 2), Padding(), (-128, 127)), y, zero_point=-5)
    return weave.network(weave.fully_connected(pooled, 7))


@pytest.mark.parametrize("rows", [90, 80, 50, 32, 28, 20])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_lines_go_through_rings_where_maps_have_no_room(rows: int, direction: str) -> None:
    _, whole = exact(residual(), small(32, rotation__direction=direction))
    program, found = exact(residual(), small(32, data_ram__rows=rows, rotation__direction=direction))
    assert found.by_layer == whole.by_layer
    scratches = {op.tensor for op in program.run if getattr(op, "destination", "") == "scratch"}
    assert len(scratches) == {90: 0, 80: 1, 50: 2, 32: 3, 28: 4, 20: 4}[rows]
