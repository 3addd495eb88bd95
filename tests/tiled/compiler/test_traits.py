"""What layers need of their inputs."""

from hypothesis import given
from hypothesis import strategies as st

import tilesim
from tilesim.tiled.compiler.operators import gathers, receptive_fields
from tilesim.tiled.compiler.traits import EVERYTHING, CopiedField, ReceptiveField


def test_a_window_moves_by_its_stride_and_reaches_into_the_border_only_if_it_reads_there() -> None:
    assert ReceptiveField(3, 1, 1, border=True).need(range(4), 8) == range(-1, 5)
    assert ReceptiveField(3, 1, 1, border=False).need(range(4), 4) == range(4)
    assert ReceptiveField(3, 2, 0, border=True).need(range(2, 4), 8) == range(4, 9)
    assert EVERYTHING.need(range(1), 8) == range(8)
    assert not EVERYTHING.need(range(0), 8)


def test_the_windows_of_a_networks_layers() -> None:
    network = tilesim.load_network("digits")
    by_kind = {node.kind: node for node in network.nodes}
    down, across = receptive_fields(network, by_kind["depthwiseconvolution"])
    assert down == across == ReceptiveField(3, 1, 1, border=True)
    assert receptive_fields(network, by_kind["add"]) == (ReceptiveField(1), ReceptiveField(1))
    assert receptive_fields(network, by_kind["fullyconnected"]) == (EVERYTHING, EVERYTHING)
    assert [kind for kind, node in by_kind.items() if gathers(network, node)] == [
        "reshape",
        "fullyconnected",
        "dequantise",
    ]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30).map(sorted), st.data())
def test_a_copied_field_reads_what_is_copied(sources: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(sources) - 1))
    outputs = range(start, data.draw(st.integers(start + 1, len(sources))))
    copied = [sources[place] for place in outputs]
    assert CopiedField(1, 0, sources=tuple(sources)).reads(outputs) == range(copied[0], copied[-1] + 1)
