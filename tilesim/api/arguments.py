"""What a script hands over, as the calls want it."""

from __future__ import annotations

import os
from collections import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from inspect import Signature, signature
from numbers import Integral
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, Union, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from tilesim.batching import Plan
from tilesim.errors import ArrayError, refuse
from tilesim.machines.host import random_inputs
from tilesim.machines.program import HostTensor, Program
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.printable import alternatives, kind_of

Inputs: TypeAlias = NDArray[Any] | Sequence[NDArray[Any]] | Mapping[str, NDArray[Any]]

P = ParamSpec("P")
R = TypeVar("R")

ELSEWHERE = {"seed", "holds", "inferences", "weight_reuse", "name_or_path", "model", "run"}
"""What is looked at where it is used, with more to say of it."""
ALSO: Mapping[object, Any] = {int: Integral, bool: (bool, np.bool_), Path: os.PathLike}
"""What counts as a type, too."""
NAMES: Mapping[object, str] = {
    str: "text", int: "whole number", object: "value", Path: "path", np.ndarray: "NumPy array"
}  # fmt: skip
"""Types in words; others are called what they are."""
MAKERS: Mapping[object, str] = {
    Network: "load_network", Topology: "load_topology", Program: "compile or load_program", Plan: "plan_batches"
}  # fmt: skip
"""The calls that make a noun."""


def checked(call: Callable[P, R]) -> Callable[P, R]:
    """A public call, which refuses arguments of other types than it says, all at once, before it begins."""

    @wraps(call)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        given = _signature(call).bind(*args, **kwargs).arguments
        kinds = {name: _kind(call, name) for name in given if name not in ELSEWHERE}
        refuse(fault for name in kinds for fault in _faults(name, given[name], kinds[name]))
        return call(*args, **kwargs)

    return checking


_signature: Callable[[Callable[..., object]], Signature] = cache(signature)


@cache
def _kind(call: Callable[..., object], name: str) -> Any:
    """What an argument is annotated with; those that are not given need not be looked up."""
    return eval(call.__annotations__[name], call.__globals__)  # noqa: S307 -- our own


def _faults(name: str, value: object, kind: Any) -> Iterator[str]:
    makers = [MAKERS[noun] for noun in (kind, *get_args(kind)) if noun in MAKERS]
    if not _is(value, kind):
        maker = f", which {makers[0]} makes" if makers else ""
        yield f"the {name} must be {_words(kind)}{maker}, not {_titled(value)}"
    elif makers and isinstance(value, abc.Sized) and not len(value):
        yield f"the {name} must be at least one, not none"


def _is(value: object, kind: Any) -> bool:
    """Whether a value is what an annotation says, with all that is in it."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        return any(_is(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str)  # which words there are, the call itself says
    if origin is abc.Callable:
        return callable(value)
    if origin is abc.Mapping:
        return isinstance(value, Mapping) and all(_is(a, parts[0]) and _is(b, parts[1]) for a, b in value.items())
    if origin is abc.Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str) and all(_is(one, parts[0]) for one in value)
    return isinstance(value, ALSO.get(origin, origin))


def _words(kind: Any, many: str = "") -> str:
    """What an annotation asks for."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        return alternatives([*dict.fromkeys(_words(part) for part in parts if part is not NoneType)])
    if origin is abc.Callable:
        return "a function"
    if origin is abc.Mapping:
        return f"a mapping of {_words(parts[0], 's')} to {_words(parts[1], 's')}"
    if origin is abc.Sequence:
        return f"a sequence of {_words(parts[0], 's')}"
    name = NAMES.get(str if origin is Literal else origin) or getattr(origin, "__name__", str(origin))
    return f"{'' if many else 'a '}{name}{many}"


def listed(inputs: Inputs | None, tensors: Sequence[HostTensor], seed: int = 0) -> list[NDArray[Any]]:
    """The arrays of the inputs that are ``tensors``, in order; None: random ones. Raises ArrayError."""
    if inputs is None:
        return random_inputs(tensors, seed)
    if not isinstance(inputs, Mapping):
        return list(inputs) if isinstance(inputs, Sequence) else [inputs]
    names = [f"in{k}" for k in range(len(tensors))]
    if missing := [name for name in names if name not in inputs]:
        held = ", ".join(map(str, inputs)) or "none"
        raise ArrayError(f"inputs must hold an array {name}; they hold {held}" for name in missing)
    return [inputs[name] for name in names]


def _titled(value: object) -> str:
    """A value for a sentence: its type, and the types in it."""
    inside = sorted({type(one).__name__ for one in value}) if isinstance(value, list | tuple | dict) else []
    return f"{kind_of(value)}{' of ' * bool(inside)}{', '.join(inside)}"
