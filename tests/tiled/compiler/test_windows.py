"""What layers need of their inputs."""

import tilesim
from tilesim.tiled.compiler.windows import EVERYTHING, ReceptiveField, gathers, receptive_fields


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
