"""Random ONNX models: what the families draw."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest

from scripts.differentials.formats import make
from scripts.differentials.onnx_runtime import FAMILIES, unsigned
from scripts.differentials.verdict import Job, judged
from tilesim.network.readers.onnx_choices import CHOICES
from tilesim.network.readers.onnx_dynamic import DYNAMIC
from tilesim.network.readers.onnx_moves import MOVES
from tilesim.network.readers.onnx_operators import ACTIVATIONS, INTEGER, REAL

SEEDS = range(6)


@pytest.fixture(scope="module")
def models() -> list[onnx.ModelProto]:
    return [onnx.load_model_from_string(make(f"onnx/{family}", seed).model) for family in FAMILIES for seed in SEEDS]


def test_every_operator_that_is_read_is_drawn(models: list[onnx.ModelProto]) -> None:
    kinds = Counter(node.op_type for model in models for node in model.graph.node)
    read = {*REAL, *INTEGER, *ACTIVATIONS, *CHOICES, *DYNAMIC, *MOVES}
    assert kinds.keys() == {*read, "Constant", "DequantizeLinear", "QuantizeLinear", "Shape"}


def test_scales_of_six_decades_and_zero_points_at_the_ends(models: list[onnx.ModelProto]) -> None:
    constants = [onnx.numpy_helper.to_array(c) for model in models for c in model.graph.initializer if "_" in c.name]
    scales = np.concatenate([constant.ravel() for constant in constants if constant.dtype == np.float32])
    assert np.log10(scales.max() / scales.min()) > 6
    for dtype in (np.int8, np.uint8):
        zeros = np.concatenate([constant.ravel() for constant in constants if constant.dtype == dtype])
        assert {np.iinfo(dtype).min, np.iinfo(dtype).max} <= {*zeros.tolist()}


@pytest.mark.parametrize("chip", ["edge-1x2", "systolic-4"])
@pytest.mark.parametrize(
    ("family", "seed"), [("add", 76), ("mul", 130), ("rescale", 77), ("average_pool", 131), ("reshape", 31)]
)
def test_chips_have_the_same_rules(family: str, seed: int, chip: str) -> None:
    outcome = judged(Job(f"onnx/pairs-{family}", seed, chip))
    assert (outcome.verdict, outcome.on_chip) == ("equal", "equal"), outcome


@pytest.mark.parametrize("family", ["onnx/dynamic-matmul_integer", "onnx/dynamic-conv_integer"])
def test_the_runtime_never_sums_uint8_by_int8(family: str) -> None:
    """Which saturates on some machines; also where the zero points are left out."""
    for seed in range(20):
        case = make(family, seed)
        model = onnx.load_from_string(unsigned(case.model))
        kinds = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
        kinds |= {each.name: each.type.tensor_type.elem_type for each in model.graph.input}
        kinds |= {node.output[0]: node.attribute[0].t.data_type for node in model.graph.node if not node.input}
        for node in model.graph.node:
            assert [kinds[name] for name in node.input[:2]] != [onnx.TensorProto.UINT8, onnx.TensorProto.INT8]
