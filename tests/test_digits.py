"""The committed model and the committed answers belong together."""

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from tilesim.shipped import shipped

MODEL = shipped("workloads") / "digits.onnx"


def answers(images: NDArray[np.float32], optimise: bool) -> NDArray[np.float32]:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if not optimise:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(["out0"], {"in0": image[None]})[0] for image in images])


@pytest.mark.parametrize("optimise", [True, False], ids=["integer layers", "layer by layer in float"])
def test_the_answers_are_those_of_onnx_runtime(optimise: bool) -> None:
    data = np.load(MODEL.with_suffix(".npz"))
    np.testing.assert_array_equal(answers(data["in0"], optimise), data["out0"])


def test_it_reads_digits() -> None:
    data = np.load(MODEL.with_suffix(".npz"))
    assert data["in0"].shape == (360, 1, 8, 8)
    assert np.mean(data["out0"].argmax(axis=1) == data["labels"]) >= 0.97


def test_it_is_small() -> None:
    assert sum(MODEL.with_suffix(end).stat().st_size for end in (".onnx", ".npz")) < 300_000
