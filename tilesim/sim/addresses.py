"""What lies at an address, for compiled loops that get more arrays than arguments; imported late, as they are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.compiled import compiled

_numba: Any = import_module("numba")
_extending: Any = import_module("numba.extending")


def _to_pointer(_: Any, address: Any) -> Any:
    signature = _numba.types.CPointer(_numba.types.int64)(address)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return signature, build


_pointer: Any = _extending.intrinsic(_to_pointer)
_carray: Any = _numba.carray


@compiled
def array_at(address: int, length: int) -> NDArray[np.int64]:
    """The ``length`` 64-bit integers at ``address``, where somebody keeps them as long as the array is used."""
    found: NDArray[np.int64] = _carray(_pointer(address), length)
    return found
