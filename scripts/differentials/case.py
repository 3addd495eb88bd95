"""A random small model with its inputs: what every family makes and every runtime is asked to compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

Drawn: TypeAlias = tuple[bytes, dict[str, Array]]
"""A model file's bytes, and an array for each of its inputs, by name, in the file's order and layout."""

Family: TypeAlias = Callable[[np.random.Generator], Drawn]
"""What draws a model of one family; the same generator state draws the same model."""


@dataclass(frozen=True)
class Case:
    """A model file and its inputs. ``family`` is ``format/name``; with ``seed`` it says all there is to say."""

    family: str
    seed: int
    suffix: str
    model: bytes
    inputs: dict[str, Array]


class Refusal(Exception):
    """The reference runtime does not run the model; the text is its own."""


class Format(Protocol):
    """What a module of this package has for each format of models."""

    SUFFIX: str
    FAMILIES: Mapping[str, Family]

    def reference(self, case: Case) -> list[Array]:
        """The runtime's outputs, in the file's order and layout. Raises Refusal."""


def drawn(family: str, seed: int, suffix: str, draw: Family) -> Case:
    """The case that a family makes of a seed."""
    model, inputs = draw(np.random.default_rng([crc32(family.encode()), seed]))
    return Case(family, seed, suffix, model, inputs)
