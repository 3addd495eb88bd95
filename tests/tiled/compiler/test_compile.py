"""What the compiler writes, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilesim
from tilesim.arithmetic.requantise import float_bits
from tilesim.network.graph import Network, Node, Quantisation, Tensor
from tilesim.network.operators.max_pool import MaxPool
from tilesim.network.operators.rescale import Rescale
from tilesim.network.operators.reshape import Reshape
from tilesim.network.operators.softmax import Softmax
from tilesim.network.operators.windows import Padding
from tilesim.tiled.isa.assembly import ASSEMBLY
from tilesim.tiled.isa.model.instructions import TensorOp


def tensor(index: int, shape: tuple[int, ...]) -> Tensor:
    return Tensor(index, f"t{index}", np.dtype(np.int8), shape, Quantisation(np.array(1.0), 0))


def network(*nodes: Node, shapes: dict[int, tuple[int, ...]], output: int) -> Network:
    return Network("net", {k: tensor(k, shape) for k, shape in shapes.items()}, nodes, (0,), (output,))


SOFTMAX = Softmax(1.0, 1 / 256, -128, (-128, 127))


def test_a_whole_layer_is_one_tensorop(models: Path) -> None:
    net = tilesim.load_network(models / "mlperf_kws_dscnn" / "model.tflite")
    program = tilesim.compile(net, tilesim.load_topology("edge-1x1"), "spatial")
    layers = [op.layer for op in program.run if isinstance(op, TensorOp)]
    assert layers == [k for k, node in enumerate(net.nodes) if node.kind not in ("reshape", "softmax")]


@pytest.mark.parametrize(
    ("outputs", "inputs", "blocks", "steps", "last"),
    [(100, 256, 2, 64, 36), (1100, 512, 18, 128, 12), (1024, 1024, 16, 256, 64)],
)
def test_fully_connected_layers_are_cut_into_blocks_of_lanes(
    tmp_path: Path, outputs: int, inputs: int, blocks: int, steps: int, last: int
) -> None:
    """Oracle 24, as far as one tile shows it."""
    path = tmp_path / "fc.yaml"
    layer = f"{{kind: fully_connected, name: fc, units: {outputs}}}"
    path.write_text(f"seed: 1\ninput: {{shape: [1, {inputs}]}}\nlayers: [{layer}]\n")
    topology = tilesim.load_topology("edge-1x1", {"wide_memory.size_bytes": "4 MiB"})
    (op,) = (op for op in tilesim.compile(tilesim.load_network(path), topology).run if isinstance(op, TensorOp))
    bounds = {loop.name: loop.bound for loop in op.nest.loops}
    assert (bounds["zb"], bounds["zi"], bounds["lane"]) == (blocks, steps, 64)
    assert (op.nest.alternate.limit if op.nest.alternate else 64) == last


def test_a_program_saved_and_loaded_gives_the_same_bits_and_cycles(tmp_path: Path) -> None:
    program = tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1"))
    image = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 1, 8, 8)
    first = tilesim.simulate(program, [image], trace=True)
    second = tilesim.simulate(ASSEMBLY.load(ASSEMBLY.save(program, tmp_path)), [image], trace=True)
    np.testing.assert_array_equal(first.outputs[0], second.outputs[0])
    assert first.statistics == second.statistics
    assert first.statistics["trace_sha256"] is not None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"wide_memory.size_bytes": 4096},
            (
                "digits: parameters of layer residual must fit the wide memory of edge-1x1: "
                "9.75 KiB are needed at once, 3.5 KiB of 4 KiB are free"
            ),
        ),
        (
            {"narrow_memory.size_bytes": 512},
            "digits: tensor stem.out_QuantizeLinear_Output must fit the narrow memory of edge-1x1: it needs",
        ),
        ({"data_memory.size_bytes": 1024}, "digits: its parameters must fit the data memory of edge-1x1: "),
        ({"instruction_memory.size_bytes": 256}, "digits: its program must fit the instruction memory of edge-1x1: "),
        ({"ring.no_consumer": "circulate"}, "edge-1x1: ring.no_consumer must be stall for compiled programs"),
    ],
    ids=str,
)
def test_a_chip_that_is_too_small_is_refused(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(tilesim.CapacityError) as caught:
        tilesim.compile(tilesim.load_network("digits"), tilesim.load_topology("edge-1x1", change))
    assert sentence in str(caught.value)


POOL = MaxPool((1, 1), (1, 1), Padding(), (-128, 127))


@pytest.mark.parametrize("channels", [3, 4])
def test_a_flattened_output_needs_whole_words(channels: int) -> None:
    net = network(
        Node("p", POOL, (0,), 1),
        Node("r", Reshape((1, 16 * channels)), (1,), 2),
        shapes={0: (1, 4, 4, channels), 1: (1, 4, 4, channels), 2: (1, 16 * channels)},
        output=2,
    )
    x = np.arange(16 * channels, dtype=np.int8).reshape(1, 4, 4, channels)
    program = tilesim.compile(net, tilesim.load_topology("edge-1x1"))
    assert [layer.place for layer in program.layers] == ["tiles", "host" if channels % 4 else "nowhere"]
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], x.reshape(1, 16 * channels))


def test_tensors_of_several_maps_are_the_hosts() -> None:
    net = network(Node("p", POOL, (0,), 1), shapes={0: (2, 4, 4, 4), 1: (2, 4, 4, 4)}, output=1)
    x = np.random.default_rng(0).integers(-128, 128, (2, 4, 4, 4)).astype(np.int8)
    program = tilesim.compile(net, tilesim.load_topology("edge-1x1"))
    assert [layer.place for layer in program.layers] == ["host"]
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], x)


def test_an_input_that_nobody_reads_and_two_outputs_through_one_softmax() -> None:
    same = Rescale(0, 0, "float", int(float_bits(1.0)[0]), 0, (-128, 127), np.dtype(np.int8))
    nodes = (Node("p", same, (0,), 2), Node("s", SOFTMAX, (2,), 3))
    net = Network("net", {k: tensor(k, (1, 8)) for k in range(4)}, nodes, (0, 1), (3, 3))
    x = np.arange(8, dtype=np.int8)[None]
    run = tilesim.simulate(tilesim.compile(net, tilesim.load_topology("edge-1x1")), [x, x])
    expected = SOFTMAX.evaluate([x])
    np.testing.assert_array_equal(run.outputs[0], expected)
    np.testing.assert_array_equal(run.outputs[1], expected)


@pytest.mark.parametrize("topology", ["edge-1x1", "edge-2x2"])
def test_layers_of_one_name_have_parameters_of_their_own(topology: str) -> None:
    """Names may repeat, and what is shown of long or fused ones often does."""
    plain = tilesim.load_network("example-conv")
    net = replace(plain, nodes=tuple(replace(node, name="same;and more") for node in plain.nodes))
    x = np.random.default_rng(0).integers(-128, 128, (1, 16, 16, 4)).astype(np.int8)
    run = tilesim.simulate(tilesim.compile(net, tilesim.load_topology(topology)), [x])
    np.testing.assert_array_equal(run.outputs[0], plain.evaluate([x])[plain.outputs[0]])
