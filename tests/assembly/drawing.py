"""Any value of a type: records with every field drawn by its type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from enum import StrEnum
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from hypothesis import strategies as st

WORDS = st.sampled_from(["L1", "conv 1", 'a"\\', "true", "-3", "", "alternate"]) | st.text(st.characters(), max_size=4)
WHOLE = st.integers(-(1 << 70), 1 << 70) | st.integers(-3, 300)
_SIMPLE = {int: WHOLE, str: WORDS, bool: st.booleans(), float: st.floats(allow_nan=False)}

Special = Callable[[type, str], st.SearchStrategy[Any] | None]
"""Other numbers and names for some fields of a kind."""


def nothing_special(_kind: type, _name: str) -> None:
    """Numbers and names of every sort."""


def any_of(kind: type, special: Special = nothing_special) -> st.SearchStrategy[Any]:
    """Instances of the dataclass ``kind``."""
    hints = get_type_hints(kind)

    def drawn(name: str, hint: Any) -> st.SearchStrategy[Any]:
        arguments = get_args(hint)
        if get_origin(hint) is tuple and arguments[-1] is not Ellipsis:
            return st.tuples(*(drawn(name, argument) for argument in arguments))
        if get_origin(hint) is tuple:
            return some(drawn(name, arguments[0]), 3)
        if get_origin(hint) is Literal:
            return st.sampled_from(arguments)
        if NoneType in arguments:
            return st.none() | drawn(name, arguments[0])
        if hint in _SIMPLE:
            here = special(kind, name)
            return _SIMPLE[hint] if here is None else here
        return st.sampled_from(list(hint)) if issubclass(hint, StrEnum) else any_of(hint, special)

    names = getattr(kind, "_fields", None) or [member.name for member in fields(kind)]
    return st.builds(kind, **{name: drawn(name, hints[name]) for name in names})


def some(item: st.SearchStrategy[Any], most: int = 1) -> st.SearchStrategy[Any]:
    """Tuples of up to ``most`` items."""
    return st.lists(item, max_size=most).map(tuple)


def segments(kind: type) -> st.SearchStrategy[Any]:
    """Up to two data segments of that ``kind``, each of another name."""
    numbers = {member.name: WHOLE for member in fields(kind) if member.name not in {"name", "data"}}
    data = st.binary(max_size=4).map(lambda content: np.frombuffer(content, np.uint8))
    made = st.builds(kind, name=WORDS, data=data, **numbers)
    return st.lists(made, max_size=2, unique_by=lambda segment: segment.name).map(tuple)
