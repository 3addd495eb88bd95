import numpy as np

import tilesim
from tests.networks import Weave
from tilesim.batching.graph import GraphNode, graph_of
from tilesim.network.operators import MaxPool, Padding, Reshape


def test_layers_of_a_residual_block() -> None:
    graph = graph_of(tilesim.load_network("example-residual"))
    assert graph.input_bytes == (16 * 16 * 16,)
    assert graph.nodes == (
        GraphNode("first", (~0,), 8 * 8 * 32, 64, 32 * 9 * 16),
        GraphNode("second", (0,), 8 * 8 * 32, 64, 32 * 9 * 32),
        GraphNode("shortcut", (~0,), 8 * 8 * 32, 64, 32 * 16),
        GraphNode("sum", (1, 2), 8 * 8 * 32),
    )
    assert [layer.predecessors for layer in graph.layers] == [(), (0,), ()]
    assert graph.sinks == (1, 2)


def test_a_weight_is_used_once_a_position_of_the_result() -> None:
    graph = graph_of(tilesim.load_network("example-conv"))
    assert [(layer.name, layer.reuse, layer.weight_bytes) for layer in graph.layers] == [
        ("conv", 256, 16 * 9 * 4),
        ("depthwise", 64, 9 * 16),
        ("pointwise", 64, 32 * 16),
        ("classes", 1, 10 * 32),
    ]
    assert [layer.predecessors for layer in graph.layers] == [(), (0,), (1,), (2,)]


def test_layers_wait_for_those_behind_nodes_without_weights() -> None:
    weave = Weave()
    x = weave.input(8, 8, 4)
    a, b = weave.convolution(x, 4), weave.convolution(x, 4)
    pooled = weave.add(MaxPool((2, 2), (2, 2), Padding(), (-128, 127)), a)
    flat = weave.add(Reshape((1, 64)), pooled)
    weave.fully_connected(flat, 3)
    graph = graph_of(weave.network())
    assert [layer.predecessors for layer in graph.layers] == [(), (), (0,)]
    assert graph.sinks == (1, 4)
    assert weave.samples[b].dtype == np.int8
