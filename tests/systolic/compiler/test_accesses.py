"""What the compiler orders is all that the checks want ordered."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.networks import Weave
from tests.systolic.compiled import chip, exact
from tests.systolic.handmade import topology
from tilesim.batching import graph_of, plan
from tilesim.systolic.compiler.accesses import accesses
from tilesim.systolic.isa.checks.footprints import BUFFER
from tilesim.systolic.isa.checks.footprints import accesses as checked
from tilesim.systolic.isa.model.instructions import MatrixMultiply, Window


@given(st.data())
@settings(max_examples=200)
def test_windows_reach_no_further_than_the_compiler_thinks(data: st.DataObject) -> None:
    def draw(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    images, height, width, channels = (draw(1, 4) for _ in range(4))
    window = Window(
        *(100, images, height * width * channels + draw(0, 5), height, width, width * channels, channels, channels),
        *(draw(1, 3), draw(1, 3), (draw(1, 3), draw(1, 3)), (draw(1, 3), draw(1, 3)), (draw(1, 2), draw(1, 2))),
        (draw(-3, 3), draw(-3, 3)),
    )
    first, row = draw(0, window.positions - 1), draw(0, window.elements - 1)
    op = MatrixMultiply(
        window=window, first=first, vectors=draw(1, window.positions - first), first_row=row,
        rows=draw(1, window.elements - row), columns=1,
    )  # fmt: skip
    [there] = accesses(op).reads
    for access in checked(op, topology()):
        if access.memory == BUFFER:
            assert there.first <= access.footprint.first < access.footprint.end <= there.end


def test_a_position_of_the_kernel_that_is_outside_of_all_images_waits_for_none_of_them() -> None:
    weave = Weave()
    network = weave.network(weave.convolution(weave.input(1, 1, 1), 1))
    changes = {"array.rows": 1, "array.columns": 2, "value_loaders.feed": "channels"}
    exact(network, chip("systolic-4", changes), plan(graph_of(network), 2, 2, "demand"), order=1)
