"""Every ONNX operator that tilesim reads, in every form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np

from scripts.differentials import onnx_choices as choices
from scripts.differentials import onnx_elements as elements
from scripts.differentials import onnx_sums as sums
from scripts.differentials import onnx_windows as windows
from scripts.differentials.case import Drawn, Family
from scripts.differentials.onnx_every import every_product, every_sum, every_weight
from scripts.differentials.onnx_sketch import FORMS, Sketch, Value

Step: TypeAlias = Callable[[Sketch, Value], Value]

OF_MAPS: Mapping[str, Step] = {
    "average_pool": windows.average_pool,
    "convolution": sums.convolution,
    "depthwise_convolution": sums.depthwise_convolution,
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
EITHER: Mapping[str, Step] = {**OF_MAPS, **OF_VECTORS, **OF_ANY}
"""Operators that both forms have."""
EVERY = (every_product, every_sum, every_weight)
OF_PAIRS: Mapping[str, Step] = {"activation": elements.activation, "rescale": elements.rescale}
CHOICES = {"argmax": choices.arg_max, "topk": choices.top_k}
IN_CHAINS = tuple(step for name, step in {**OF_MAPS, **OF_ANY}.items() if name not in {"flatten", "reshape", "softmax"})


def begun(rng: np.random.Generator, form: str) -> Sketch:
    s = Sketch(rng, form)
    s.dtype, s.exact = np.dtype(s.pick(np.int8, np.uint8)), s.chance(0.15)
    return s


def some_map(s: Sketch) -> tuple[int, ...]:
    return 1, s.number(1, 12), s.number(1, 10), s.number(1, 10)


def vector(s: Sketch) -> tuple[int, ...]:
    """Now and then one whose products sum up to more than float32 holds."""
    return 1, s.pick(s.number(1, 40), s.number(1, 300), s.number(1, 1500))


def one(step: Step, form: str, rng: np.random.Generator) -> Drawn:
    """A model of one operator, or of those that it cannot stand without."""
    s = begun(rng, form)
    shape = vector(s) if step in OF_VECTORS.values() or (step in OF_ANY.values() and s.chance(0.3)) else some_map(s)
    return s.drawn(step(s, s.input(shape)))


def chosen(choose: Callable[[Sketch, Value], choices.Ends], form: str, rng: np.random.Generator) -> Drawn:
    """A model that ends with a choice among elements."""
    s = begun(rng, form)
    shape = vector(s) if s.chance(0.4) else some_map(s)
    return s.written(choose(s, choices.before(s, s.input(shape))))


def every(make: Callable[[Sketch], Value], form: str, rng: np.random.Generator) -> Drawn:
    """A model of one operator on every pair of bytes."""
    s = begun(rng, form)
    return s.drawn(make(s))


def chain(form: str, rng: np.random.Generator) -> Drawn:
    """Two or three operators one after the other; of form ``mixed``, each in a form of its own."""
    s = begun(rng, form)
    x = s.input(some_map(s))
    for _ in range(s.number(2, 3)):
        s.form = s.pick(*FORMS) if form == "mixed" else form
        x = s.pick(*IN_CHAINS, *(OF_PAIRS.values() if s.form == "pairs" else ()))(s, x)
    return s.drawn(x)


def ends(rng: np.random.Generator) -> Drawn:
    """An operator among pairs whose input and output are reals, many of them half-way between two integers."""
    s = begun(rng, "pairs")
    x = s.value("x", some_map(s), s.scales(), s.zero_point(s.dtype))
    steps = s.pick(s.rng.integers(-600, 600, x.shape) / 2, s.rng.normal(0, 100, x.shape))
    s.inputs["reals"] = np.asarray(steps * x.scale, np.float32)
    if s.chance(0.2):
        s.inputs["reals"].flat[0] = s.pick(np.inf, -np.inf, 3e38, -3e38)
    return s.drawn(s.pick(*IN_CHAINS)(s, s.quantised("reals", x)), floating=True)


FAMILIES: Mapping[str, Family] = {
    **{f"pairs-{name}": partial(one, step, "pairs") for name, step in {**EITHER, **OF_PAIRS}.items()},
    **{f"integer-{name}": partial(one, step, "integer") for name, step in EITHER.items()},
    **{f"{form}-{made.__name__}": partial(every, made, form) for form in FORMS for made in EVERY},
    **{f"{form}-{name}": partial(chosen, choose, form) for form in FORMS for name, choose in CHOICES.items()},
    **{f"{form}-chain": partial(chain, form) for form in (*FORMS, "mixed")},
    "pairs-ends": ends,
}
"""By form and operator. A family draws models that may be refused, but not those of which ONNX Runtime itself says that
they are not implemented; see also :data:`~scripts.differentials.onnx_forms.SUMS`. Reals that are not numbers are left
out: what integer they become is not defined.
"""
