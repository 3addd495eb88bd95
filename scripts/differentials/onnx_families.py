"""Every ONNX operator that tilesim reads, in every form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np

from scripts.differentials import onnx_choices as choices
from scripts.differentials import onnx_dynamic as dynamic
from scripts.differentials import onnx_elements as elements
from scripts.differentials import onnx_moves as moves
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
DYNAMIC: Mapping[str, Callable[[Sketch], Drawn]] = {
    "conv_integer": partial(dynamic.sums, "ConvInteger"),
    "layers": dynamic.layers,
    "matmul_integer": partial(dynamic.sums, "MatMulInteger"),
    "quantize_linear": dynamic.quantised,
}
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


def rows(kind: Step, form: str, rng: np.random.Generator) -> Drawn:
    """A product of several rows with a matrix; a MatMul also of those of a map without channels."""
    s = begun(rng, form)
    shape = (s.number(1, 8), s.pick(s.number(1, 40), s.number(1, 300)))
    return s.drawn(kind(s, s.input((1, *shape) if kind is sums.matmul and s.chance(0.5) else shape)))


def chosen(choose: Callable[[Sketch, Value], choices.Ends], form: str, rng: np.random.Generator) -> Drawn:
    """A model that ends with a choice among elements."""
    s = begun(rng, form)
    shape = vector(s) if s.chance(0.4) else some_map(s)
    return s.written(choose(s, choices.before(s, s.input(shape))))


def some_shape(s: Sketch, *, axes: int = 0) -> tuple[int, ...]:
    axes = axes or s.pick(2, 3, 4, 4)
    return (1 if s.chance(0.8) else 2, *(s.pick(1, s.number(1, 9), 4) for _ in range(axes - 1)))


def moved(mover: moves.Mover, form: str, rng: np.random.Generator) -> Drawn:
    """A model that moves what there is, and may compute afterwards."""
    s = begun(rng, form)
    shape = some_shape(s, axes=4 if mover in moves.OF_MAPS.values() else 0)
    x = moves.chain(mover, s, s.input(shape))
    return s.drawn(x, floating=form == "pairs" and s.chance(0.3))


def split(form: str, rng: np.random.Generator) -> Drawn:
    """A model that cuts what there is into parts, all of which are outputs."""
    s = begun(rng, form)
    parts = moves.split(s, s.input(some_shape(s)))
    return s.written([moves.ended(s.pick(*moves.following(x))(s, x) if s.chance(0.4) else x) for x in parts])


def unquantised(make: Callable[[Sketch], Drawn], rng: np.random.Generator) -> Drawn:
    """A model of sums of integers, or one that quantises as it goes."""
    return make(begun(rng, "integer"))


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
    **{f"{form}-{name}": partial(moved, mover, form) for form in FORMS for name, mover in moves.MOVERS.items()},
    **{f"{form}-{name}_rows": partial(rows, kind, form) for form in FORMS for name, kind in OF_VECTORS.items()},
    **{f"{form}-split": partial(split, form) for form in FORMS},
    **{f"dynamic-{name}": partial(unquantised, make) for name, make in DYNAMIC.items()},
    "pairs-ends": ends,
}
"""By form and operator. A family draws models that may be refused, but not those of which ONNX Runtime itself says that
they are not implemented; see also :data:`~scripts.differentials.onnx_forms.SUMS`. Reals that are not numbers are left
out: what integer they become is not defined.
"""
