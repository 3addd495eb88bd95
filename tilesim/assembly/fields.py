"""The fields of the dataclasses that programs consist of, each with how its type is written."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import MISSING, dataclass, fields
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

C = TypeVar("C")
BYTES = NDArray[np.uint8]
"""The type of the bytes of a data segment."""


@dataclass(frozen=True)
class Field(Generic[C]):
    """One field of a record: how its type is written, and its default (MISSING if there is none)."""

    name: str
    codec: C
    default: Any

    @property
    def optional(self) -> bool:
        return self.default is not MISSING


def fields_of(
    kind: type, codec_of: Callable[[str, Any], C], among: Container[Any] | None = None
) -> dict[str, Field[C]]:
    """The fields of the dataclass ``kind``, all or those of some types, bytes behind the others; ``codec_of`` gets each
    one's name and type.
    """
    hints = get_type_hints(kind)
    return {
        field.name: Field(field.name, codec_of(field.name, hints[field.name]), field.default)
        for field in sorted(fields(kind), key=lambda field: hints[field.name] == BYTES)
        if among is None or hints[field.name] in among
    }


def inner_type(hint: Any) -> Any:
    """The type of a value of ``X | None`` or of an item of ``tuple[X, ...]``: X."""
    return get_args(hint)[0]
