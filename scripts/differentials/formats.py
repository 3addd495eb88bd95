"""The formats of models, and every family of theirs by ``format/name``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import cast

from scripts.differentials.case import Array, Case, Format, drawn

MODULES: Mapping[str, str] = {
    "tflite": "scripts.differentials.litert",
    "onnx": "scripts.differentials.onnx_runtime",
}
"""The module of each format."""


def families() -> list[str]:
    """All of them, as ``format/name``."""
    return [f"{name}/{family}" for name in MODULES for family in module(name).FAMILIES]


def make(family: str, seed: int) -> Case:
    """The model that a family makes of a seed."""
    name, _, own = family.partition("/")
    return drawn(family, seed, module(name).SUFFIX, module(name).FAMILIES[own])


def reference(case: Case) -> list[Array]:
    """The reference runtime's outputs. Raises Refusal."""
    return module(case.family.partition("/")[0]).reference(case)


def module(name: str) -> Format:
    return cast(Format, import_module(MODULES[name]))
