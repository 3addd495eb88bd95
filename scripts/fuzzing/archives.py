"""Damage to .npz files: to their members, to the heads of these, and to the archive around them."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scripts.fuzzing import nasty
from scripts.fuzzing.bytewise import damaged as bytewise

Members = dict[str, bytes]
"""Whole .npy files by the names that they have in the archive."""

DTYPES = (
    *("int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "bool", "S3"),
    *(">i8", "<U4", "M8[s]", "m8", "V5"),
)
HEADS = (
    *(
        "{'descr': '|i1', 'fortran_order': False, 'shape': (%d,), }",
        "{'descr': '<i8', 'fortran_order': True, 'shape': (-1, 4), }",
    ),
    *(
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': [('a', '<i4'), ('a', '<i4')], 'shape': (1,)}",
    ),
    *("{'descr': '<f4', 'fortran_order': False, 'shape': (True, 2**70), }", "{" * 50, "(" * 3000, "__import__('os')"),
    *(
        "{'descr': '\x1b[31m', 'fortran_order': False, 'shape': (1,), }",
        "[]",
        "1",
        "'x'",
        "{'shape': ()}",
        "\u202e",
        "\0",
    ),
    *("{'descr': '<U1000000000', 'fortran_order': False, 'shape': (1000000,), }", "{'descr': '<f9', 'shape': 1e9}"),
)
METHODS = (*[zipfile.ZIP_STORED] * 5, *[zipfile.ZIP_DEFLATED] * 5, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2)
BOMB_BYTES = 1_300_000_000


def damaged(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    """An archive changed in its arrays, heads, members or bytes."""
    choice = rng.random()
    if choice < 0.15:
        return bytewise(rng, data, others)
    members = unpacked(data)
    for _ in range(rng.choice((1, 1, 2))):
        rng.choice(DAMAGES)(rng, members)
    return _packed(rng, members)


def unpacked(data: bytes) -> Members:
    """The members of a sound archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: Members, method: int = zipfile.ZIP_STORED) -> bytes:
    """The archive of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def _packed(rng: Random, members: Members) -> bytes:
    data = packed(members, rng.choice(METHODS))
    choice = rng.random()
    if choice < 0.08:
        return rng.choice((b"junk", b"\x80\x04", b"\x93NUMPY", rng.randbytes(100), b"PK\x03\x04")) + data
    if choice < 0.14:
        return data + rng.choice((b"junk", data, bytes(30)))
    if choice < 0.2:
        return _lying(rng, data)
    return bomb() if choice < 0.21 else data


def _lying(rng: Random, data: bytes) -> bytes:
    """With a number changed in the archive's own table of what is in it."""
    content = bytearray(data)
    place = max(0, content.find(b"PK\x01\x02"))
    at = place + rng.randrange(max(1, len(content) - place - 4))
    struct.pack_into("<I", content, min(at, len(content) - 4), nasty.number(rng) % (1 << 32))
    return bytes(content)


@cache
def bomb() -> bytes:
    """A small archive with an array that is none."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("in0.npy", "w", force_zip64=True) as file,
    ):
        np.lib.format.write_array_header_1_0(file, {"descr": "|i1", "fortran_order": False, "shape": (BOMB_BYTES,)})
        for _ in range(BOMB_BYTES >> 20):
            file.write(bytes(1 << 20))
    return out.getvalue()


def array(content: bytes) -> NDArray[Any] | None:
    """The array in a member; None if there is none."""
    try:
        return np.asarray(np.lib.format.read_array(io.BytesIO(content), allow_pickle=False))
    except Exception:  # noqa: BLE001  (NumPy's parser raises what it likes)
        return None


def member(values: NDArray[Any]) -> bytes:
    """A .npy file."""
    out = io.BytesIO()
    np.lib.format.write_array(out, values, allow_pickle=False)
    return out.getvalue()


def _some(rng: Random, members: Members) -> str:
    return rng.choice(list(members)) if members else "in0.npy"


def _array(rng: Random, members: Members) -> None:
    name = _some(rng, members)
    values = array(members.get(name, b""))
    if values is not None:
        members[name] = member(changed(rng, values))


def changed(rng: Random, values: NDArray[Any]) -> NDArray[Any]:
    """The array with another shape, dtype, or other elements."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        return rng.choice((_element, _element, _shape, _cast, _length))(rng, values)


def _element(rng: Random, values: NDArray[Any]) -> NDArray[Any]:
    values = values.copy()
    if values.size and values.dtype.kind in "iuf":
        for _ in range(rng.choice((1, 1, 10))):
            number = nasty.number(rng) if values.dtype.kind != "f" else rng.choice(nasty.FLOATS)
            values.flat[rng.randrange(values.size)] = np.array(number, object).astype(float).astype(values.dtype)
    elif values.size and values.dtype.kind == "U":
        names = values.ravel().tolist()
        names[rng.randrange(len(names))] = nasty.text(rng)[:1000]
        return np.array(names).reshape(values.shape)
    return values


def _shape(rng: Random, values: NDArray[Any]) -> NDArray[Any]:
    return rng.choice((values.ravel(), values[None], values[..., None], values.T, values.ravel()[:1].reshape(())
                       if values.size else values, values[..., :0] if values.ndim else values))  # fmt: skip


def _cast(rng: Random, values: NDArray[Any]) -> NDArray[Any]:
    return np.zeros(values.shape, rng.choice(DTYPES)) if values.dtype.kind == "U" else _converted(rng, values)


def _converted(rng: Random, values: NDArray[Any]) -> NDArray[Any]:
    try:
        return values.astype(rng.choice(DTYPES))
    except (ValueError, TypeError):
        return values


def _length(rng: Random, values: NDArray[Any]) -> NDArray[Any]:
    if not values.ndim:
        return values
    return rng.choice((values[:-1], values[1:], values[::-1], np.concatenate([values] * rng.choice((2, 3, 50)))))


def _header(rng: Random, members: Members) -> None:
    """Other words where the shape and dtype stand."""
    name = _some(rng, members)
    content = members.get(name, b"")
    words = rng.choice(HEADS).replace("%d", str(nasty.number(rng))).encode("latin-1", "replace") + b"\n"
    version = rng.choice((b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00", b"\xff\xff"))
    size = len(words).to_bytes(2 if version[0] == 1 else 4, "little")
    members[name] = b"\x93NUMPY" + version + size + words + content[128:]


def _raw(rng: Random, members: Members) -> None:
    name = _some(rng, members)
    others = [content for content in members.values() if content]
    members[name] = bytewise(rng, members.get(name, b""), others)


def _names(rng: Random, members: Members) -> None:
    """A member renamed, left out, or there once more under another name."""
    name = _some(rng, members)
    content = members.pop(name, b"")
    new = rng.choice(
        ("in0.npy", "in1.npy", "in0", "IN0.npy", "../in0.npy", "in0.npy.npy", f"{nasty.text(rng)[:900]}.npy")
    )
    if rng.random() < 0.8:
        members[new.replace("\0", "0").encode("utf-8", "replace").decode()] = content
    if rng.random() < 0.3:
        members[name] = content


DAMAGES: tuple[Callable[[Random, Members], None], ...] = (_array, _array, _array, _array, _header, _raw, _names)
