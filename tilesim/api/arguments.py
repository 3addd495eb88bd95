"""What a script hands over, as the calls want it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError
from tilesim.machines.host import random_inputs
from tilesim.machines.program import HostTensor
from tilesim.printable import kind_of

Inputs: TypeAlias = NDArray[Any] | Sequence[NDArray[Any]] | Mapping[str, NDArray[Any]]


def must_be(value: object, kind: type, maker: str) -> None:
    """Raises TypeError for a value that is none of a ``kind``, which ``maker`` makes."""
    if not isinstance(value, kind):
        name = kind.__name__
        raise TypeError(f"the {name.lower()} must be a {name}, which {maker} makes, not {kind_of(value)}")


def listed(inputs: Inputs | None, tensors: Sequence[HostTensor], seed: int = 0) -> list[NDArray[Any]]:
    """The arrays of the inputs that are ``tensors``, in order; None: random ones. Raises ArrayError, TypeError."""
    if inputs is None:
        return random_inputs(tensors, seed)
    if isinstance(inputs, Mapping):
        names = [f"in{k}" for k in range(len(tensors))]
        if missing := [name for name in names if name not in inputs]:
            held = ", ".join(map(str, inputs)) or "none"
            raise ArrayError(f"inputs must hold an array {name}; they hold {held}" for name in missing)
        arrays = [inputs[name] for name in names]
    else:
        arrays = list(inputs) if isinstance(inputs, Sequence) else [inputs]
    if wrong := [array for array in arrays if not isinstance(array, np.ndarray)]:
        raise TypeError(f"each input must be a NumPy array, not {kind_of(wrong[0])}")
    return arrays
