"""What layers need of their inputs."""

import tilesim
from tilesim.tiled.compiler.windows import EVERYTHING, Window, gathers, windows


def test_a_window_moves_by_its_stride_and_reaches_into_the_border_only_if_it_reads_there() -> None:
    assert Window(3, 1, 1, border=True).need(range(4), 8) == range(-1, 5)
    assert Window(3, 1, 1, border=False).need(range(4), 4) == range(4)
    assert Window(3, 2, 0, border=True).need(range(2, 4), 8) == range(4, 9)
    assert EVERYTHING.need(range(1), 8) == range(8)
    assert not EVERYTHING.need(range(0), 8)


def test_the_windows_of_a_networks_layers() -> None:
    network = tilesim.load_network("digits")
    by_kind = {node.kind: node for node in network.nodes}
    down, across = windows(network, by_kind["depthwiseconvolution"])
    assert down == across == Window(3, 1, 1, border=True)
    assert windows(network, by_kind["add"]) == (Window(1), Window(1))
    assert windows(network, by_kind["fullyconnected"]) == (EVERYTHING, EVERYTHING)
    assert [kind for kind, node in by_kind.items() if gathers(network, node)] == [
        "reshape",
        "fullyconnected",
        "dequantise",
    ]
