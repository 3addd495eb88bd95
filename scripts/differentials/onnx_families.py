"""Every ONNX operator that tilesim reads, in every form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np

from scripts.differentials import onnx_elements as elements
from scripts.differentials import onnx_sums as sums
from scripts.differentials import onnx_windows as windows
from scripts.differentials.case import Drawn, Family
from scripts.differentials.onnx_sketch import Sketch, Value

Step: TypeAlias = Callable[[Sketch, Value], Value]

OF_MAPS: Mapping[str, Step] = {
    "average_pool": windows.average_pool,
    "convolution": sums.convolution,
    "depthwise": sums.depthwise_convolution,
    "flatten": elements.flatten,
    "global_average_pool": windows.global_average_pool,
    "max_pool": windows.max_pool,
    "reshape": elements.reshape,
}
OF_VECTORS: Mapping[str, Step] = {"gemm": sums.gemm, "matmul": sums.matmul}
OF_ANY: Mapping[str, Step] = {
    "add": elements.add,
    "concat": elements.concatenation,
    "leaky_relu": elements.leaky_relu,
    "mul": elements.multiply,
    "sigmoid": elements.sigmoid,
    "softmax": elements.softmax,
}
OF_PAIRS: Mapping[str, Step] = {"activation": elements.activation, "rescale": elements.rescale}


def begun(rng: np.random.Generator, form: str) -> Sketch:
    s = Sketch(rng, form)
    s.dtype, s.exact = np.dtype(s.pick(np.int8, np.uint8)), s.chance(0.15)
    return s


def map_shape(s: Sketch) -> tuple[int, ...]:
    return 1, s.number(1, 12), s.number(1, 10), s.number(1, 10)


def vector_shape(s: Sketch) -> tuple[int, ...]:
    return 1, s.pick(s.number(1, 40), s.number(1, 300))


def one(
    step: Step, form: str, shapes: tuple[Callable[[Sketch], tuple[int, ...]], ...], rng: np.random.Generator
) -> Drawn:
    """A model of one operator, or what makes it one that can stand alone."""
    s = begun(rng, form)
    return s.drawn(step(s, s.input(s.pick(*shapes)(s))))


def chain(form: str, rng: np.random.Generator) -> Drawn:
    """Two or three operators one after the other, in one form or both."""
    s = begun(rng, form)
    pool = {**OF_MAPS, **OF_ANY, **(OF_PAIRS if form == "pairs" else {})}
    s = begun(rng, form)
    x = s.input(map_shape(s))
    for _ in range(s.number(2, 3)):
        steps = [step for name, step in pool.items() if name not in {"flatten", "reshape", "softmax"}]
        if len(x.shape) == 2:
            steps = [*OF_VECTORS.values()]
        x = s.pick(*steps)(s, x)
    return s.drawn(x)


MAPS, VECTORS = (map_shape,), (vector_shape,)
FAMILIES: Mapping[str, Family] = {
    f"{form}-{name}": partial(one, step, form, shapes)
    for form in ("pairs", "integer")
    for steps, shapes in (
        (OF_MAPS, MAPS),
        (OF_VECTORS, VECTORS),
        (OF_ANY, (map_shape, map_shape, vector_shape)),
        (OF_PAIRS if form == "pairs" else {}, MAPS + VECTORS),
    )
    for name, step in steps.items()
} | {f"{form}-chain": partial(chain, form) for form in ("pairs", "integer")}
