"""Make workloads/digits.onnx and workloads/digits.npz: the small int8 network that the project trained itself.

A network of 15,498 parameters learns scikit-learn's bundled 8 x 8 handwritten digits in plain NumPy, leaves as a float
ONNX graph, and is quantised by ONNX Runtime to int8 (QDQ form, per-channel weights). The held-out images, their labels
and what ONNX Runtime answers (optimiser on, one thread, one image a call) are the reference for tests. It takes about
half a minute and needs the extra ``make``.

Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, for the training step.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from sklearn.datasets import load_digits

Array = NDArray[np.float32]
Labels = NDArray[np.int64]
Params = dict[str, Array]
Backward = Callable[[Array], Array]

WORKLOADS = Path(__file__).resolve().parent.parent / "workloads"
SEED = 7
HELD_OUT = 360
EPOCHS = 40
BATCH = 32
LEARNING_RATE = 3e-3
LOWEST_ACCURACY = 0.97

SHAPES = {
    "stem": (16, 1, 3, 3),
    "depthwise": (16, 1, 3, 3),
    "down": (32, 16, 3, 3),
    "residual": (32, 32, 3, 3),
    "classifier": (10, 128),
}


# ---- layers: each returns its output and the function that turns the output's gradient into the input's


def windows(x: Array, stride: int) -> Array:
    """The 3 x 3 neighbourhoods of (n, c, h, w), padded by one: (n, c, h / stride, w / stride, 3, 3)."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]


def fold(patches: Array, shape: tuple[int, ...], stride: int) -> Array:
    """The adjoint of `windows`: each neighbourhood's values summed back into place."""
    n, c, h, w = shape
    padded = np.zeros((n, c, h + 2, w + 2), np.float32)
    for row, column in np.ndindex(3, 3):
        padded[:, :, row : row + h : stride, column : column + w : stride] += patches[..., row, column]
    return padded[:, :, 1:-1, 1:-1]


def convolution(x: Array, name: str, params: Params, grads: Params, stride: int = 1) -> tuple[Array, Backward]:
    weight = params[f"{name}.weight"]
    patches = windows(x, stride)
    y = np.tensordot(patches, weight, ((1, 4, 5), (1, 2, 3))) + params[f"{name}.bias"]

    def backward(dy: Array) -> Array:
        grads[f"{name}.weight"] = np.tensordot(dy, patches, ((0, 2, 3), (0, 2, 3)))
        grads[f"{name}.bias"] = dy.sum(axis=(0, 2, 3))
        spread = np.tensordot(dy, weight, ((1,), (0,)))
        return fold(spread.transpose(0, 3, 1, 2, 4, 5), x.shape, stride)

    return y.transpose(0, 3, 1, 2), backward


def depthwise(x: Array, name: str, params: Params, grads: Params) -> tuple[Array, Backward]:
    weight = params[f"{name}.weight"][:, 0]
    patches = windows(x, 1)
    y = np.einsum("nchwij,cij->nchw", patches, weight) + params[f"{name}.bias"][:, None, None]

    def backward(dy: Array) -> Array:
        grads[f"{name}.weight"] = np.einsum("nchw,nchwij->cij", dy, patches)[:, None]
        grads[f"{name}.bias"] = dy.sum(axis=(0, 2, 3))
        return fold(dy[..., None, None] * weight[:, None, None], x.shape, 1)

    return y, backward


def relu(x: Array) -> tuple[Array, Backward]:
    return np.maximum(x, 0), lambda dy: dy * (x > 0)


def max_pool(x: Array) -> tuple[Array, Backward]:
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
    y = blocks.max(axis=(3, 5))
    hit = blocks == y[:, :, :, None, :, None]
    share = hit / hit.sum(axis=(3, 5), keepdims=True, dtype=np.float32)
    return y, lambda dy: (share * dy[:, :, :, None, :, None]).reshape(x.shape)


def linear(x: Array, name: str, params: Params, grads: Params) -> tuple[Array, Backward]:
    weight = params[f"{name}.weight"]
    flat = x.reshape(len(x), -1)

    def backward(dy: Array) -> Array:
        grads[f"{name}.weight"] = dy.T @ flat
        grads[f"{name}.bias"] = dy.sum(axis=0)
        return (dy @ weight).reshape(x.shape)

    return flat @ weight.T + params[f"{name}.bias"], backward


def network(x: Array, params: Params, grads: Params) -> tuple[Array, Callable[[Array], None]]:
    """Images (n, 1, 8, 8) -> logits (n, 10), and the function that fills ``grads`` from the logits' gradient."""
    x, back_stem = convolution(x, "stem", params, grads)
    x, back_stem_relu = relu(x)
    x, back_depthwise = depthwise(x, "depthwise", params, grads)
    x, back_depthwise_relu = relu(x)
    x, back_down = convolution(x, "down", params, grads, stride=2)
    trunk, back_down_relu = relu(x)
    branch, back_residual = convolution(trunk, "residual", params, grads)
    x, back_sum_relu = relu(trunk + branch)
    x, back_pool = max_pool(x)
    logits, back_classifier = linear(x, "classifier", params, grads)

    def backward(dy: Array) -> None:
        dy = back_sum_relu(back_pool(back_classifier(dy)))
        dy = back_down(back_down_relu(dy + back_residual(dy)))
        back_stem(back_stem_relu(back_depthwise(back_depthwise_relu(dy))))

    return logits, backward


# ---- training


def initial(rng: np.random.Generator) -> Params:
    params: Params = {}
    for name, shape in SHAPES.items():
        spread = np.sqrt(2 / np.prod(shape[1:]))
        params[f"{name}.weight"] = (rng.standard_normal(shape) * spread).astype(np.float32)
        params[f"{name}.bias"] = np.zeros(shape[0], np.float32)
    return params


def batches(images: Array, labels: Labels, rng: np.random.Generator) -> Iterator[tuple[Array, Labels]]:
    """One epoch in random order, each batch moved by up to one pixel, so that the network learns to bear it."""
    order = rng.permutation(len(images))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        down, right = rng.integers(0, 3, 2)
        padded = np.pad(images[chosen], ((0, 0), (0, 0), (1, 1), (1, 1)))
        yield padded[:, :, down : down + 8, right : right + 8], labels[chosen]


def loss_gradient(logits: Array, labels: Labels) -> Array:
    """The gradient of the mean cross entropy: (softmax - one hot) / n."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    gradient: Array = powers / powers.sum(axis=1, keepdims=True)
    gradient[np.arange(len(labels)), labels] -= 1
    gradient /= len(labels)
    return gradient


def adam(params: Params, grads: Params, moments: tuple[Params, Params], step: int, rate: float) -> None:
    for name, grad in grads.items():
        mean, square = (moment[name] for moment in moments)
        mean += np.float32(0.1) * (grad - mean)
        square += np.float32(0.001) * (grad * grad - square)
        change = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        params[name] -= (rate * change).astype(np.float32)


def train(images: Array, labels: Labels, seed: int) -> Params:
    """Parameters after `EPOCHS` passes over images (n, 1, 8, 8); the rate falls to zero along half a cosine."""
    rng = np.random.default_rng(seed)
    params = initial(rng)
    moments = tuple({name: np.zeros_like(value) for name, value in params.items()} for _ in range(2))
    grads: Params = {}
    step, last = 0, EPOCHS * -(-len(images) // BATCH)
    for _ in range(EPOCHS):
        for x, wanted in batches(images, labels, rng):
            step += 1
            logits, backward = network(x, params, grads)
            backward(loss_gradient(logits, wanted))
            adam(params, grads, (moments[0], moments[1]), step, LEARNING_RATE * (1 + np.cos(np.pi * step / last)) / 2)
    return params


# ---- export


def float_model(params: Mapping[str, Array]) -> onnx.ModelProto:
    """The trained network as a float ONNX graph: input ``in0`` (1, 1, 8, 8), output ``out0`` (1, 10)."""

    def conv(name: str, source: str, **attributes: Any) -> list[onnx.NodeProto]:
        inputs = [source, f"{name}.weight", f"{name}.bias"]
        return [
            helper.make_node("Conv", inputs, [f"{name}.sum"], name, kernel_shape=[3, 3], pads=[1] * 4, **attributes),
            helper.make_node("Relu", [f"{name}.sum"], [f"{name}.out"], f"{name}.relu"),
        ]

    nodes = [
        *conv("stem", "in0"),
        *conv("depthwise", "stem.out", group=16),
        *conv("down", "depthwise.out", strides=[2, 2]),
        conv("residual", "down.out")[0],
        helper.make_node("Add", ["down.out", "residual.sum"], ["add.sum"], "add"),
        helper.make_node("Relu", ["add.sum"], ["add.out"], "add.relu"),
        helper.make_node("MaxPool", ["add.out"], ["pool.out"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool.out"], ["flatten.out"], "flatten"),
        helper.make_node(
            "Gemm", ["flatten.out", "classifier.weight", "classifier.bias"], ["out0"], "classifier", transB=1
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("in0", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("out0", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(value, name) for name, value in params.items()],
    )
    model = helper.make_model(graph, producer_name="tilesim", opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


class Calibration(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    """Hands images (n, 1, 8, 8) to the quantiser one at a time."""

    def __init__(self, images: Array) -> None:
        self.feeds = iter([{"in0": image[None]} for image in images])

    def get_next(self) -> dict[str, Array] | None:
        return next(self.feeds, None)


def quantise(model: onnx.ModelProto, images: Array, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "float.onnx"
        onnx.save(model, source)
        quantize_static(
            source,
            target,
            Calibration(images),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
        )


def answers(model: Path, images: Array) -> Array:
    """ONNX Runtime's logits (n, 10), optimiser on, one thread, one image a call.

    The setting lets it fuse int8 layers into their integer form on x86 too, where it would leave some in float.
    """
    options = ort.SessionOptions()
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(["out0"], {"in0": image[None]})[0] for image in images])


def main() -> int:
    digits = load_digits()
    images = (digits.images[:, None] / 16).astype(np.float32)
    labels = digits.target.astype(np.int64)
    order = np.random.default_rng(SEED).permutation(len(images))
    held_out, learnt = order[:HELD_OUT], order[HELD_OUT:]
    params = train(images[learnt], labels[learnt], SEED)

    model = WORKLOADS / "digits.onnx"
    quantise(float_model(params), images[learnt], model)
    logits = answers(model, images[held_out])
    exact = np.mean(network(images[held_out], params, {})[0].argmax(axis=1) == labels[held_out])
    accuracy = np.mean(logits.argmax(axis=1) == labels[held_out])
    size = sum(value.size for value in params.values())
    print(f"{size} parameters; held-out accuracy {exact:.4f} float, {accuracy:.4f} int8")
    np.savez_compressed(WORKLOADS / "digits.npz", in0=images[held_out], labels=labels[held_out], out0=logits)
    return 0 if accuracy >= LOWEST_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
