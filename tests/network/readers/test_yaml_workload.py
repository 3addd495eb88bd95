from itertools import count
from pathlib import Path

import numpy as np
import pytest

from tilesim.errors import ConfigError
from tilesim.network.readers import read

WORKLOADS = Path(__file__).resolve().parents[3] / "workloads"


@pytest.mark.parametrize("name", ["example-conv", "example-residual"])
def test_examples_spread_over_their_range(name: str) -> None:
    network = read(WORKLOADS / f"{name}.yaml")
    x = np.random.default_rng(1).integers(-128, 128, network.tensors[0].shape).astype(np.int8)
    values = network.evaluate([x])
    for node in network.nodes:
        assert values[node.output].std() > 10, node.name
        assert values[node.output].shape == network.tensors[node.output].shape


def test_the_same_file_gives_the_same_network() -> None:
    first, second = (read(WORKLOADS / "example-conv.yaml") for _ in range(2))
    for index, tensor in first.tensors.items():
        if tensor.data is not None:
            np.testing.assert_array_equal(tensor.data, second.tensors[index].data)


def write(path: Path, layers: str) -> Path:
    path.write_text(f"input: {{shape: [1, 8, 8, 4]}}\nlayers:\n{layers}", "utf-8")
    return path


def test_what_a_layer_says_of_its_partition_is_a_hint_for_machines(tmp_path: Path) -> None:
    path = tmp_path / "net.yaml"
    layers = ["{name: a, kind: add, other: input}", "{name: b, kind: add, other: a, partition: channel}"]
    path.write_text(f"input: {{shape: [1, 2, 2, 4]}}\nlayers: [{', '.join(layers)}]\n")
    assert [node.hints for node in read(path).nodes] == [{}, {"partition": "channel"}]


def test_so_is_the_order_of_its_loops(tmp_path: Path) -> None:
    path = write(tmp_path / "w.yaml", "  - {name: a, kind: fully_connected, units: 4, loop_order: blocks}\n")
    assert [node.hints for node in read(path).nodes] == [{"loop_order": "blocks"}]
    path = write(path, "  - {name: a, kind: depthwise_convolution, kernel: [1, 1], loop_order: inputs}\n")
    with pytest.raises(ConfigError, match=r"w\.yaml:3:\d+: .*loop_order.* must be 'rows', 'blocks' or 'pixels'"):
        read(path)


def test_faults_name_the_place(tmp_path: Path) -> None:
    path = write(tmp_path / "w.yaml", "  - {name: a, kind: softmax, activation: relu}\n")
    with pytest.raises(ConfigError, match=r"w\.yaml:3:"):
        read(path)
    path = write(path, "  - {name: a, kind: max_pool, window: [9, 9], padding: valid}\n")
    with pytest.raises(ConfigError, match=r"w\.yaml:3:5: layers\.0 \(a\): a window of \(9, 9\) must fit"):
        read(path)
    path = write(path, "  - {name: a, kind: add, other: b}\n")
    with pytest.raises(ConfigError, match="must read a layer above it, one of input, not b"):
        read(path)


def test_all_faults_at_once_but_none_that_follows_from_another(tmp_path: Path) -> None:
    path = write(
        tmp_path / "w.yaml",
        """
  - {name: a, kind: convolution, filters: 6, kernel: [3, 3], groups: 4}
  - {name: b, kind: add, other: a}
  - {name: c, kind: reshape, input: input, shape: [1, 255]}
  - {name: d, kind: add, input: input, other: nothing}
  - {name: e, kind: softmax}
""",
    )
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert [fault.removeprefix(f"{path}:") for fault in caught.value.faults] == [
        "4:5: layers.0 (a): groups must divide 4 channels and 6 filters, not 4",
        "6:5: layers.2 (c): shape [1, 255] must have as many elements as [1, 8, 8, 4]",
        "7:5: layers.3 (d): must read a layer above it, one of input, a, b, c, not nothing",
    ]


def test_normalisation_fills_its_range(tmp_path: Path) -> None:
    network = read(write(tmp_path / "w.yaml", "  - {name: a, kind: normalise, size: 3, alpha: 0.5, bias: 2.0}\n"))
    x = np.random.default_rng(1).integers(-128, 128, (1, 8, 8, 4)).astype(np.int8)
    steps = network.evaluate([x])[network.outputs[0]]
    reals = 0.05 * x.astype(float)
    squares = np.pad(reals**2, ((0, 0), (0, 0), (0, 0), (1, 1)))
    sums = squares[..., :-2] + squares[..., 1:-1] + squares[..., 2:]
    expected = reals / (2 + 0.5 / 3 * sums) ** 0.75
    known = network.tensors[network.outputs[0]].quantisation
    assert known is not None
    assert np.abs(steps * known.scale - expected).max() <= 0.51 * known.scale
    assert steps.std() > 30


MAP, CONV = "[1, 4096, 4096, 1]", "{name: a, kind: convolution, filters: 4, kernel: [2, 2], padding: valid}"


@pytest.mark.parametrize(
    ("shape", "layers", "fault"),
    [
        ("[1, 16000, 16000, 1]", CONV, "1:16: input.shape must have at most 16777216 elements"),
        (MAP, CONV.replace("filters: 4", "filters: 8"), "must not make a map of [1, 4095, 4095, 8]"),
        ("[1, 1000, 1000, 16]", CONV.replace("2, 2", "9, 9"), "must not read its map by windows"),
        (
            MAP,
            CONV.replace("2, 2", "2, 2], dilations: [9, 9").replace("valid", "same"),
            "make a map of [1, 4105, 4105, 1]",
        ),
        (MAP, "{name: a, kind: max_pool, window: [2, 2]}", "must not make a map of [1, 4097, 4097, 1]"),
        ("[1, 1, 65536]", "{name: a, kind: fully_connected, units: 65536}", "at most 134217728 weights"),
        (
            "[1, 128, 128, 256]",
            "{name: a, kind: convolution, filters: 1024, kernel: [4, 4], padding: valid}",
            "must not add to the multiplications of the layers before it",
        ),
        (
            "[1, 2048, 4096, 1]",
            ", ".join(f"{{name: r{k}, kind: reshape, shape: [1, 4096, 2048, 1]}}" for k in range(40)),
            "must not add to the elements of the layers before it",
        ),
    ],
    ids=map(str, count()),
)
def test_what_would_take_minutes_is_refused_by_its_sizes(shape: str, layers: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(f"input: {{shape: {shape}}}\nlayers: [{layers}]\n")
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert fault in str(caught.value)


def test_of_many_layers_some_are_proposed(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    layers = ", ".join(f"{{name: r{k}, kind: reshape, shape: [1, 4], input: nowhere}}" for k in range(1000))
    path.write_text(f"input: {{shape: [1, 4]}}\nlayers: [{layers}]\n")
    with pytest.raises(ConfigError) as caught:
        read(path)
    assert len(caught.value.faults) == 1000
    assert len(str(caught.value)) < 1 << 20
