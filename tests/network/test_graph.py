from pathlib import Path

import numpy as np
import pytest

from tilesim.errors import ArrayError
from tilesim.network.graph import titled
from tilesim.network.readers import read
from tilesim.shipped import shipped

NAMES = (
    "mlperf_kws_dscnn",
    "mlperf_resnet8",
    "mlperf_vww_mnv1",
    "mlperf_ad_ae",
    "coral_tf2_mnv2_ptq",
    "mit_mcunet_detection",
)


@pytest.mark.parametrize("name", NAMES)
def test_real_models_are_evaluated_bit_for_bit(models: Path, name: str) -> None:
    network = read(models / name / "model.tflite")
    io, acts = np.load(models / name / "io.npz"), np.load(models / name / "acts_ref.npz")
    samples = sorted({key.split("_")[0] for key in io.files})
    assert len(samples) >= 2
    for sample in samples:
        values = network.evaluate([io[f"{sample}_in{i}"] for i in range(len(network.inputs))])
        for j, output in enumerate(network.outputs):
            np.testing.assert_array_equal(values[output], io[f"{sample}_out{j}_ref"])
        if sample == "s0":
            assert {node.output for node in network.nodes} == {int(key[1:]) for key in acts.files}
            for key in acts.files:
                np.testing.assert_array_equal(values[int(key[1:])], acts[key], err_msg=key)


@pytest.mark.parametrize(
    "name", ["add", "conv", "leaky_relu", "pad", "quantize", "strided_slice", "sub", "transpose_conv"]
)
def test_models_of_int16_are_evaluated_bit_for_bit(models: Path, name: str) -> None:
    network = read(models / f"tflm_seanet_{name}0" / "model.tflite")
    io = np.load(models / f"tflm_seanet_{name}0" / "io.npz")
    values = network.evaluate([io[f"s0_in{i}"] for i in range(len(network.inputs))])
    (output,) = network.outputs
    assert values[output].dtype == np.int16
    np.testing.assert_array_equal(values[output], io["s0_out0_ref"])
    np.testing.assert_array_equal(values[output], io["s0_out0_golden"])


def test_several_samples_at_once(models: Path) -> None:
    network = read(models / "mlperf_resnet8" / "model.tflite")
    io = np.load(models / "mlperf_resnet8" / "io.npz")
    batch = np.concatenate([io["s0_in0"], io["s1_in0"]])
    outputs = network.evaluate([batch])[network.outputs[0]]
    np.testing.assert_array_equal(network.evaluate(batch)[network.outputs[0]], outputs)
    np.testing.assert_array_equal(outputs, np.concatenate([io["s0_out0_ref"], io["s1_out0_ref"]]))


def test_macs(models: Path) -> None:
    assert read(models / "mlperf_resnet8" / "model.tflite").macs == 12_501_632


def test_wrong_inputs_are_refused(models: Path) -> None:
    network = read(models / "mlperf_ad_ae" / "model.tflite")
    with pytest.raises(ArrayError, match="takes 1 inputs, not 0"):
        network.evaluate([])
    with pytest.raises(ArrayError, match="must be int8, not float64"):
        network.evaluate([np.zeros((1, 640))])
    with pytest.raises(ArrayError, match=r"must have shape \[1, 640\], not \[1, 64\]"):
        network.evaluate([np.zeros((1, 64), np.int8)])


def test_reals_must_be_numbers_and_may_be_infinite() -> None:
    network = read(shipped("workloads") / "digits.onnx")
    reals = np.full((1, 8, 8, 1), np.inf, np.float32)
    assert network.evaluate(reals)[network.outputs[0]].shape == (1, 10)
    reals[0, 3, 2, 0] = np.nan
    with pytest.raises(ArrayError, match="input in0: must hold numbers, not NaN"):
        network.evaluate(reals)


def test_titles_are_short() -> None:
    assert titled("conv1/Relu") == "conv1/Relu"
    assert titled("conv1/Relu;bn/Add;conv1/Conv2D") == "conv1/Relu;..."
    long = "/".join(f"block{k}" for k in range(40))
    assert titled(long) == "block0/block1/block2/block3/...ck36/block37/block38/block39"
    assert len(titled(f"{long};{long}")) < 70
