"""Every TensorFlow Lite operator that tilesim reads, in every form: first of one to three operators in a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from scripts.differentials import tflite_elements as elements
from scripts.differentials import tflite_moves as moves
from scripts.differentials import tflite_slices as slices
from scripts.differentials import tflite_sums as sums
from scripts.differentials.case import Drawn, Family
from scripts.differentials.tflite_draft import Draft, Wire

Step: TypeAlias = Callable[[Draft, Wire], Wire]
"""What adds an operator on a wire and gives its output."""
Start: TypeAlias = Callable[[Draft], Wire]

BYTES = elements.BYTES
WIDE = (np.int16,)
EVERY = (*BYTES, *WIDE)


def maps(dtypes: tuple[Any, ...] = BYTES, groups: int = 1) -> Start:
    """Small maps, mostly of one sample, of one of the types and a multiple of so many channels."""

    def start(draft: Draft) -> Wire:
        rows, columns = (draft.pick(1, draft.number(1, 5), draft.number(1, 12)) for _ in range(2))
        channels = groups * draft.pick(1, 3, 4, draft.number(1, 20))
        return draft.input((samples(draft), rows, columns, channels), draft.pick(*dtypes))

    return start


def anything(dtypes: tuple[Any, ...] = BYTES) -> Start:
    """Maps, vectors and what there is between."""

    def start(draft: Draft) -> Wire:
        axes = draft.pick(1, 2, 3, 3, 3)
        shape = [samples(draft), *(draft.number(1, 300 if axes == 1 else 9) for _ in range(axes))]
        return draft.input(shape, draft.pick(*dtypes))

    return start


def samples(draft: Draft) -> int:
    return 2 if draft.chance(0.04) else 1


@dataclass(frozen=True)
class Row:
    """A family: an input, its operator, and at random up to two more."""

    start: Start
    step: Step

    def __call__(self, rng: np.random.Generator) -> Drawn:
        draft = Draft(rng)
        wire = self.step(draft, self.start(draft))
        for _ in range(draft.pick(0, 0, 0, 1, 2)):
            wire = follow(draft, wire)
        return draft.drawn(wire, *draft.outputs)


def follow(draft: Draft, wire: Wire) -> Wire:
    """Another operator, if there is one that takes what the wire carries."""
    if wire.dtype not in EVERY or len(wire.shape) < 2 or not wire.scale:
        return wire
    after_any, after_map = (WIDE_ELEMENTS, WIDE_MAPS) if wire.dtype in WIDE else (ELEMENTS, MAPS)
    steps = [*after_any, *(after_map if len(wire.shape) == 4 else ())]
    return draft.pick(*steps)(draft, wire)


ELEMENTS: tuple[Step, ...] = (
    *(partial(elements.function, kind) for kind in ("LEAKY_RELU", "RELU", "RELU6", "HARD_SWISH")),
    partial(elements.fixed_output, "LOGISTIC", 256),
    partial(elements.fixed_output, "SOFTMAX", 256),
    *(partial(elements.pair, kind) for kind in ("ADD", "MUL")),
    *(elements.reshape, partial(elements.pad, "PAD"), moves.split, elements.requantise, elements.dequantise),
)
"""What may follow anything."""
MAPS: tuple[Step, ...] = (
    *(sums.convolution, sums.depthwise_convolution, sums.mean, elements.resize_nearest),
    *(partial(sums.pool, kind) for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")),
)
"""What may follow a map."""

WIDE_ELEMENTS: tuple[Step, ...] = (
    partial(elements.function, "LEAKY_RELU"),
    *(partial(elements.pair, kind) for kind in ("ADD", "SUB", "MUL")),
    *(elements.reshape, partial(elements.pad, "PAD"), slices.slice_, slices.strided_slice),
    *(elements.requantise, elements.dequantise),
)
"""What may follow int16."""
WIDE_MAPS: tuple[Step, ...] = (
    *(sums.convolution, sums.depthwise_convolution, sums.transpose_convolution),
    *(partial(sums.pool, kind) for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")),
)

MOVED: Mapping[str, tuple[Start, Step]] = {
    "concatenation_first_axis": (anything(EVERY), moves.concatenation),
    "depth_to_space": (maps(), moves.depth_to_space),
    "expand_dims": (anything(EVERY), moves.expand_dims),
    "gather": (anything(EVERY), moves.gather),
    "gather_nd": (anything(EVERY), moves.gather_nd),
    "maximum": (anything(EVERY), partial(moves.extreme, "MAXIMUM")),
    "minimum": (anything(EVERY), partial(moves.extreme, "MINIMUM")),
    "pack": (anything(EVERY), moves.pack),
    "resize_bilinear": (maps(EVERY), moves.resize_bilinear),
    "shape": (anything(EVERY), moves.shape),
    "space_to_depth": (maps(), moves.space_to_depth),
    "split": (anything(EVERY), moves.split),
    "split_v": (anything(EVERY), moves.split_v),
    "squeeze": (anything(EVERY), moves.squeeze),
    "tile": (anything(EVERY), moves.tile),
    "transpose": (anything(EVERY), moves.transpose),
    "unpack": (anything(EVERY), moves.unpack),
}
"""Operators that only move numbers, or choose among them."""

SIGNED, UNSIGNED = (np.int8,), (np.uint8,)

FAMILIES: Mapping[str, Family] = {
    **{name: Row(*row) for name, row in MOVED.items()},
    "add": Row(anything(), partial(elements.pair, "ADD")),
    "add_int16": Row(anything(WIDE), partial(elements.pair, "ADD")),
    "add_int16_shifted": Row(anything(WIDE), partial(elements.shifted_pair, "ADD")),
    "arg_max": Row(anything(), moves.arg_max),
    "average_pool_2d": Row(maps(), partial(sums.pool, "AVERAGE_POOL_2D")),
    "average_pool_2d_int16": Row(maps(WIDE), partial(sums.pool, "AVERAGE_POOL_2D")),
    "batch_matmul": Row(anything(SIGNED), sums.batch_matmul),
    "cast": Row(anything((*EVERY, np.int32)), moves.cast),
    "concatenation": Row(anything(), elements.concatenation),
    "concatenation_int16": Row(anything(WIDE), elements.concatenation),
    "conv_2d": Row(maps(SIGNED), sums.convolution),
    "conv_2d_per_channel": Row(maps(SIGNED), partial(sums.convolution, per_channel=True)),
    "conv_2d_uint8": Row(maps(UNSIGNED), sums.convolution),
    "conv_2d_grouped": Row(maps(BYTES, 2), partial(sums.convolution, groups=2)),
    "conv_2d_int16": Row(maps(WIDE), sums.convolution),
    "conv_2d_int16_grouped": Row(maps(WIDE, 2), partial(sums.convolution, per_channel=True, groups=2)),
    "conv_2d_int16_per_channel": Row(maps(WIDE), partial(sums.convolution, per_channel=True)),
    "depthwise_conv_2d": Row(maps(SIGNED), sums.depthwise_convolution),
    "depthwise_conv_2d_int16": Row(maps(WIDE), sums.depthwise_convolution),
    "depthwise_conv_2d_int16_per_channel": Row(maps(WIDE), partial(sums.depthwise_convolution, per_channel=True)),
    "depthwise_conv_2d_per_channel": Row(maps(SIGNED), partial(sums.depthwise_convolution, per_channel=True)),
    "depthwise_conv_2d_uint8": Row(maps(UNSIGNED), sums.depthwise_convolution),
    "dequantize": Row(anything(), elements.dequantise),
    "dequantize_int16": Row(anything(WIDE), elements.dequantise),
    "fully_connected": Row(anything(SIGNED), sums.fully_connected),
    "fully_connected_rows": Row(anything(SIGNED), partial(sums.fully_connected, several=True)),
    "fully_connected_rows_int16": Row(anything(WIDE), partial(sums.fully_connected, several=True)),
    "fully_connected_int16": Row(anything(WIDE), sums.fully_connected),
    "fully_connected_int16_per_channel": Row(anything(WIDE), partial(sums.fully_connected, per_channel=True)),
    "fully_connected_per_channel": Row(anything(SIGNED), partial(sums.fully_connected, per_channel=True)),
    "fully_connected_uint8": Row(anything(UNSIGNED), sums.fully_connected),
    "hard_swish": Row(anything(), partial(elements.function, "HARD_SWISH")),
    "leaky_relu": Row(anything(), partial(elements.function, "LEAKY_RELU")),
    "leaky_relu_int16": Row(anything(WIDE), partial(elements.function, "LEAKY_RELU")),
    "logistic": Row(anything(), partial(elements.fixed_output, "LOGISTIC", 256)),
    "max_pool_2d": Row(maps(), partial(sums.pool, "MAX_POOL_2D")),
    "max_pool_2d_int16": Row(maps(WIDE), partial(sums.pool, "MAX_POOL_2D")),
    "mean": Row(maps(), sums.mean),
    "mul": Row(anything(), partial(elements.pair, "MUL")),
    "mul_int16": Row(anything(WIDE), partial(elements.pair, "MUL")),
    "pad": Row(anything(), partial(elements.pad, "PAD")),
    "pad_int16": Row(anything(WIDE), partial(elements.pad, "PAD")),
    "padv2": Row(anything(), partial(elements.pad, "PADV2")),
    "padv2_int16": Row(anything(WIDE), partial(elements.pad, "PADV2")),
    "prelu": Row(anything(), elements.prelu),
    "quantize": Row(elements.reals, elements.quantise),
    "quantize_int16": Row(elements.reals, partial(elements.quantise, dtypes=WIDE)),
    "relu": Row(anything(), partial(elements.function, "RELU")),
    "relu_0_to_1": Row(anything(), partial(elements.function, "RELU_0_TO_1")),
    "relu6": Row(anything(), partial(elements.function, "RELU6")),
    "relu_n1_to_1": Row(anything(), partial(elements.function, "RELU_N1_TO_1")),
    "requantize": Row(anything(), elements.requantise),
    "requantize_int16": Row(anything((*EVERY, *WIDE, np.int32)), partial(elements.requantise, dtypes=WIDE)),
    "reshape": Row(anything(), elements.reshape),
    "reshape_int16": Row(anything(WIDE), elements.reshape),
    "resize_nearest_neighbor": Row(maps(), elements.resize_nearest),
    "resize_nearest_neighbor_int16": Row(maps(WIDE), elements.resize_nearest),
    "slice": Row(anything(EVERY), slices.slice_),
    "softmax": Row(anything(), partial(elements.fixed_output, "SOFTMAX", 256)),
    "strided_slice": Row(anything(EVERY), slices.strided_slice),
    "sub": Row(anything(), partial(elements.pair, "SUB")),
    "sub_int16": Row(anything(WIDE), partial(elements.pair, "SUB")),
    "sub_int16_shifted": Row(anything(WIDE), partial(elements.shifted_pair, "SUB")),
    "tanh": Row(anything(), partial(elements.fixed_output, "TANH", 128)),
    "transpose_conv": Row(maps(SIGNED), sums.transpose_convolution),
    "transpose_conv_int16": Row(maps(WIDE), sums.transpose_convolution),
    "transpose_conv_int16_per_channel": Row(maps(WIDE), partial(sums.transpose_convolution, per_channel=True)),
    "transpose_conv_per_channel": Row(maps(SIGNED), partial(sums.transpose_convolution, per_channel=True)),
    "transpose_conv_uint8": Row(maps(UNSIGNED), sums.transpose_convolution),
    "topk_v2": Row(anything(), elements.top_k),
}
