"""What the host makes itself of a network, where a chip has no unit for it: operators with all that they need, as
programs carry them.

An operator's settings are the fields of its dataclass, each as text by its type: a name, a type of numbers, or JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from math import prod
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tilesim.errors import ArrayError, InputError
from tilesim.machines.host import canonical, model_array
from tilesim.machines.program import DataSegment, HostTensor
from tilesim.network import operators
from tilesim.network.graph import Operator

Array = NDArray[Any]
UNFIT = (ArithmeticError, ArrayError, AssertionError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What a golden operator may raise of numbers that it was not made for."""
NUMBERS: Mapping[type, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (float, int)}
"""What JSON has for a number of a type."""


@dataclass(frozen=True)
class Setting:
    """A field of an operator."""

    name: str
    value: str


@dataclass(frozen=True)
class HostStep:
    """The host makes the tensor ``makes`` of those that it ``reads``, all by their indices, for a ``layer``: by the
    ``operator`` of that name with its ``settings``. What comes of it is of ``dtype`` and ``shape``, channels last;
    ``read_bytes`` are those of all that is read.
    """

    label: str
    layer: int
    operator: str
    reads: tuple[int, ...]
    makes: int
    dtype: str
    shape: tuple[int, ...]
    read_bytes: int
    settings: tuple[Setting, ...] = ()

    @property
    def made_bytes(self) -> int:
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def bytes(self) -> int:
        """Of all that it reads and makes."""
        return self.read_bytes + self.made_bytes


@dataclass(frozen=True)
class HostConstant(DataSegment):
    """A constant of the network that the host's steps read: the tensor ``index``, of ``dtype`` and ``shape``."""

    index: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def array(self) -> Array:
        return self.data.view(self.dtype).reshape(self.shape)


def is_portable(operator: Operator) -> bool:
    """Whether a program can carry an operator: it is one of the network's own."""
    return KINDS.get(type(operator).__name__.lower()) is type(operator)


def settings_of(operator: Operator) -> tuple[Setting, ...]:
    """The fields of a portable operator."""
    return tuple(Setting(name, _text(getattr(operator, name))) for name in _hints(type(operator)))


def operator_of(step: HostStep) -> Operator:
    """The operator of a step. Raises ValueError: a sentence without its subject."""
    kind = KINDS.get(step.operator)
    if kind is None:
        raise ValueError(f"operator must be one of a network's, not {step.operator!r}")
    hints, given = _hints(kind), {setting.name: setting.value for setting in step.settings}
    for name in given:
        if name not in hints:
            raise ValueError(f"settings must be those of {step.operator}, not {name!r}")
    values = {}
    for name, text in given.items():
        try:
            values[name] = _value(text, hints[name])
        except (*UNFIT, RecursionError):
            raise ValueError(
                f"setting {name} must be of the type that {step.operator} has, not {text[:40]!r}"
            ) from None
    try:
        operator: Operator = kind(**values)
    except TypeError:
        raise ValueError(f"settings must be all of those that {step.operator} has") from None
    return operator


@dataclass
class HostValues:
    """The tensors that the host has in a run of so many ``samples``, by index: an array each sample, channels last."""

    samples: int
    constants: Mapping[int, Array]
    arrays: dict[int, list[Array]] = field(default_factory=dict)

    def put(self, tensor: HostTensor, array: Array) -> None:
        """Keep a tensor as the model has it, samples along its first axis."""
        order = [0, *(1 + tensor.axes.index(axis) for axis in range(len(tensor.axes)))]
        self.arrays[tensor.index] = list(array.reshape(self.samples, *tensor.shape).transpose(order))

    def get(self, tensor: HostTensor) -> Array:
        """A tensor as the model has it."""
        return model_array(np.stack(self.of(tensor.index)), canonical(tensor.shape, tensor.axes), tensor.axes)

    def of(self, index: int) -> Sequence[Array]:
        return self.arrays[index] if index in self.arrays else [self.constants[index]] * self.samples

    def make(self, step: HostStep) -> None:
        """Do a step, sample by sample.

        Raises:
            InputError: what it reads is nothing that its operator can work on.
        """
        operator = operator_of(step)
        read = zip(*(self.of(index) for index in step.reads), strict=True)
        try:
            made = [np.asarray(operator.evaluate(list(arrays))) for arrays in read]
        except UNFIT as error:
            raise InputError(f"{step.label}: the host can't do {step.operator} with what it reads: {error}") from None
        for array in made:
            if array.shape != step.shape or array.dtype != np.dtype(step.dtype):
                wanted, given = f"{step.dtype} of {step.shape}", f"{array.dtype} of {array.shape}"
                raise InputError(f"{step.label}: must make {wanted}, as the program says, not {given}")
        self.arrays[step.makes] = made


def constants_of(constants: Iterable[HostConstant]) -> dict[int, Array]:
    """The arrays of a program's constants."""
    return {constant.index: constant.array for constant in constants}


def _kinds() -> dict[str, type[Operator]]:
    found = (kind for kind in vars(operators).values() if isinstance(kind, type) and hasattr(kind, "evaluate"))
    return {kind.__name__.lower(): kind for kind in found}


KINDS: Mapping[str, type[Operator]] = _kinds()
"""The operators that a program can carry, as nodes call their kinds."""


@cache
def _hints(kind: type[Operator]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {member.name: hints[member.name] for member in fields(kind)} if is_dataclass(kind) else {}


def _text(value: object) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, separators=(",", ":"))


def _plain(value: object) -> Any:
    """As JSON has it."""
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "shape": [*value.shape], "values": value.ravel().tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {member.name: _plain(getattr(value, member.name)) for member in fields(value)}
    return value


def _value(text: str, hint: Any) -> Any:
    """What a text stands for where the type is ``hint``."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType] if _is_union(hint) else [hint]
    if _is_union(hint) and text == "null":
        return None
    kind = kinds[0]
    if kind is str or _is_dtype(kind) or (isinstance(kind, type) and issubclass(kind, str)):
        return _built(text, kind)
    return _built(json.loads(text), kind)


def _built(plain: Any, hint: Any) -> Any:
    """What JSON stands for where the type is ``hint``."""
    origin = get_origin(hint)
    if _is_union(hint):
        inner = next(kind for kind in get_args(hint) if kind is not NoneType)
        return None if plain is None else _built(plain, inner)
    if origin is np.ndarray:
        return np.array(plain["values"], plain["dtype"]).reshape(plain["shape"])
    if origin in (tuple, list):
        kinds = get_args(hint)
        of = [kinds[0]] * len(plain) if kinds[-1] is Ellipsis or origin is list else kinds
        return origin(_built(item, kind) for item, kind in zip(plain, of, strict=True))
    return np.dtype(plain) if _is_dtype(hint) else _made(plain, hint)


def _made(plain: Any, kind: Any) -> Any:
    """A value of a class."""
    if is_dataclass(kind):
        values = {name: _built(plain[name], hint) for name, hint in get_type_hints(kind).items()}
        return cast(Callable[..., Any], kind)(**values)
    if issubclass(kind, tuple):
        return kind(*plain)
    if kind in NUMBERS and not isinstance(plain, NUMBERS[kind]):
        raise TypeError
    return kind(plain)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _is_dtype(hint: Any) -> bool:
    return hint is np.dtype or get_origin(hint) is np.dtype
