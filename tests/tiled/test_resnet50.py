"""ResNet-50 as scripts/make_resnet50.py makes it: int8 pairs, exact on every chip, against ONNX Runtime."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import tilesim
from tests.network.readers.onnx_models import run_reference
from tests.scripts import script
from tilesim.network.graph import Network
from tilesim.tiled.isa.model.instructions import TensorOp

SMALL: dict[str, Any] = {"size": 32, "blocks": (1, 2, 1, 1), "width": 8, "outputs": 100}
BLOCKS, SHORTCUTS = 5, 4
"""Of the small one: its residual blocks, and those of them whose shortcut is a convolution."""


def made(folder: Path, **sizes: Any) -> Path:
    model, _ = script("make_resnet50").resnet(**sizes)
    onnx.save_model(model, folder / "resnet.onnx")
    return folder / "resnet.onnx"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("resnet"), **SMALL)


def image(network: Network) -> NDArray[np.float32]:
    shape = network.tensors[network.inputs[0]].model_shape
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def test_a_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    resnet = script("make_resnet50").resnet
    first, again, other = (resnet(seed, **SMALL)[0].SerializeToString() for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_activations_reach_as_far_as_int8_and_hardly_further() -> None:
    _, uses = script("make_resnet50").resnet(0, **(SMALL | {"size": 64}))
    ends = ["in0", "stem", "average", "classifier"]
    assert len(uses) == len(ends) + 4 * BLOCKS + SHORTCUTS
    for use in uses:
        assert use.values >= 64, use
        assert use.saturated <= 0.01, use


def test_the_script_writes_a_model_and_says_what_its_activations_make_of_int8(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--size", "32", "--width", "8", "--blocks", "1,2,1,1", "--outputs", "100"]
    assert script("make_resnet50").main([str(tmp_path / "resnet.onnx"), *small]) == 0
    assert (tmp_path / "resnet.onnx").read_bytes() == made(tmp_path, **SMALL).read_bytes()
    assert len(capsys.readouterr().out.splitlines()) == len(script("make_resnet50").resnet(0, **SMALL)[1])


@pytest.mark.parametrize(
    ("grid", "changes"),
    [
        ("1x1", {"narrow_memory.size_bytes": "4 KiB"}),
        ("2x2", {}),
        ("3x5", {"wide_memory.size_bytes": "16 KiB"}),
        ("8x8", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "".join(value),
)
def test_every_logit_is_that_of_onnx_runtime(grid: str, changes: dict[str, object], small: Path) -> None:
    network = tilesim.load_network(small)
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4", {"grid": grid, **changes}))
    places = {place for layer in program.layers for place in layer.parameters.split(" and ")}
    assert ("streamed" in places) == ("wide_memory.size_bytes" in changes)
    assert any(layer.bands > 1 for layer in program.layers) == ("narrow_memory.size_bytes" in changes)
    x = image(network)
    np.testing.assert_array_equal(tilesim.simulate(program, [x]).outputs[0], run_reference(small, x))


def test_convolutions_that_stride_over_a_row_a_tile_are_one_instruction_for_all(small: Path) -> None:
    """8 rows on 8 tiles, then 4, 2 and 1, each where it is read; the tiles differ in what they wait for."""
    network = tilesim.load_network(small)
    program = tilesim.compile(network, tilesim.load_topology("edge-8x8"))
    bases: dict[str, set[object]] = {}
    for op in program.run:
        if isinstance(op, TensorOp) and op.label.startswith("convolution"):
            bases.setdefault(op.label.split(".")[0], set()).add((op.input, op.output, op.nest))
    strides = Counter(max(getattr(node.operator, "strides", (0,))) for node in network.nodes)
    assert strides[2] == 1 + 1 + 2 * (SHORTCUTS - 1), "stem, pool, and two a stage but the first"
    assert {len(each) for each in bases.values()} == {1}


@pytest.mark.slow
def test_at_full_size_it_is_computed_exactly_and_compiled_for_a_chip_that_cannot_keep_it(tmp_path: Path) -> None:
    path = made(tmp_path)
    network = tilesim.load_network(path)
    x = image(network)
    logits = network.evaluate([x.transpose(0, 2, 3, 1)])[network.outputs[0]]
    np.testing.assert_array_equal(logits, run_reference(path, x))
    program = tilesim.compile(network, tilesim.load_topology("edge-4x4"))
    assert sum(layer.macs for layer in program.layers) == 4_089_184_256
    assert {layer.place for layer in program.layers[1:-2]} == {"tiles", "nowhere"}
    assert {layer.bands for layer in program.layers} == {1}
    assert sum(segment.data.size for segment in program.data) > program.topology.wide_memories_bytes
    assert program.topology.data_memory.size_bytes > sum(segment.data.size for segment in program.data) > 25_000_000
