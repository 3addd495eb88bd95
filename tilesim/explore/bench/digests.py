"""What a point depends on, as digests: the network, the chip, the options, tilesim's own sources.

The same in every process: nothing here depends on the order of a set, on addresses, or on the hashes of Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.network.graph import Network
from tilesim.registry import machine_named

Array = NDArray[Any]

PACKAGE = Path(__file__).resolve().parents[2]
"""The folder of tilesim."""
DECIDES_NOTHING = ("cli", "explore", "guide", "report")
"""Folders of tilesim whose sources decide no row; of ``explore``, some do."""
BENCH = ("explore", "bench")
"""The folder of ``explore`` whose sources do."""


def digest(*parts: object) -> str:
    """SHA-256 of plain values, arrays, dataclasses and what holds such, in hexadecimal digits.

    Raises:
        TypeError: something else, of which nobody can say whether two are equal.
    """
    hashing = sha256()
    for piece in _pieces(parts):
        hashing.update(piece)
    return hashing.hexdigest()


def network_digest(network: Network) -> str:
    """Everything that a network computes, and its name: each tensor, constant, and field of an operator."""
    return digest(network)


def arrays_digest(arrays: Sequence[Array]) -> str:
    """Of a run's outputs, in order: the dtype, shape and bytes of each."""
    return digest(list(arrays))


@cache
def sources_digest(package: Path = PACKAGE) -> str:
    """Of those of tilesim's own sources and tables that can decide a result; ``package`` is its folder."""
    return digest({path.as_posix(): (package / path).read_bytes() for path in sources(package)})


def sources(package: Path) -> Iterator[Path]:
    """The sources and tables in ``package``, the folder of tilesim, that can decide a result, in order."""
    paths = sorted(
        path.relative_to(package) for ending in ("py", "yaml", "json") for path in package.rglob(f"*.{ending}")
    )
    for path in paths:
        if path.parts[0] not in {"_shipped", *DECIDES_NOTHING} or path.parts[:2] == BENCH:
            yield path


@cache
def machine_digest(name: str) -> str:
    """Of the sources of a machine from outside: those in its module's folder, if that is a package; else the module.
    Of tilesim's own, which :func:`sources_digest` has, and of one without a file, nothing.
    """
    module = import_module(type(machine_named(name)).__module__)
    path = Path(getattr(module, "__file__", None) or "").resolve()
    if not path.is_file() or PACKAGE in path.parents:
        return ""
    found = sorted(path.parent.rglob("*.py")) if module.__package__ else [path]
    return digest({str(source.relative_to(path.parent)): source.read_bytes() for source in found})


def _pieces(value: object) -> Iterator[bytes]:
    """Bytes that no other value has: each begins with its type and how much follows."""
    if value is None or isinstance(value, bool | int | float | str | Enum):
        yield _headed(type(value).__name__, str(value).encode("utf-8", "surrogatepass"))
    elif isinstance(value, bytes):
        yield _headed("bytes", value)
    elif isinstance(value, np.ndarray | np.generic):
        yield _headed(f"array {value.dtype.str} {value.shape}", np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.dtype):
        yield _headed("dtype", value.str.encode())
    elif isinstance(value, Mapping):
        yield from _of_mapping(value)
    elif isinstance(value, tuple | list):
        yield _headed("sequence", str(len(value)).encode())
        for item in value:
            yield from _pieces(item)
    elif is_dataclass(value):
        yield _headed("object", f"{type(value).__module__}.{type(value).__qualname__}".encode())
        yield from _of_mapping({field.name: getattr(value, field.name) for field in fields(value)})
    else:
        raise TypeError(f"a {type(value).__name__} has no digest")


def _of_mapping(value: Mapping[Any, object]) -> Iterator[bytes]:
    """Whatever the order of its keys."""
    yield _headed("mapping", str(len(value)).encode())
    for key in sorted(value, key=lambda key: (type(key).__name__, key)):
        yield from _pieces(key)
        yield from _pieces(value[key])


def _headed(kind: str, content: bytes) -> bytes:
    return f"{kind} {len(content)}:".encode() + content
