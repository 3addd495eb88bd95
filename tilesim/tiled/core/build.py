"""Makes the core with a C compiler, once for each state of its sources: what has to do with time, which is here, and
with data, ``tilesim/tiled/dataflow/product.c``.

A wheel brings the library along (``scripts/build_hook.py``); elsewhere it is made when it is first asked for. Either
takes Python and a compiler, and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tilesim.tiled.flat.columns import header_text
from tilesim.tiled.flat.missing import NoCompiler, SwitchedOff

SOURCES = Path(__file__).parent
FLAGS = ("-O3", "-std=c11", "-shared", "-fPIC")
STRICT = ("-Wall", "-Wextra", "-Wshadow", "-Wvla", "-Werror")
"""What the tests compile with besides. Not users: a compiler that is newer than this has warnings of its own."""
COMPILERS = ("cc", "gcc", "clang")
ZIGLANG = "ziglang"
"""A package of PyPI that has a C compiler in it."""
VARIABLE = "TILESIM_CC"
"""Names a compiler, with its options; ``ziglang``; or ``none``, with which there is no core at all."""


def library() -> Path:
    """The shared library: the one that came along, or else in the user's cache, made if there is none yet.

    Raises:
        NoCompiler: in one line, why it can't be had.
    """
    if is_off():
        raise SwitchedOff(f"{VARIABLE} is none")
    if (made := found()) is None:
        made = _cache() / file_name()
        try:
            build(made)
        except OSError as error:
            raise NoCompiler(f"{made} must be writable to keep the core in: {error}") from None
    return made


def found() -> Path | None:
    """The library, if there is one already."""
    places = (folder / file_name() for folder in (SOURCES, _cache()))
    return next((place for place in places if place.exists()), None)


def is_off() -> bool:
    """Whether nobody wants a core."""
    return os.environ.get(VARIABLE) == "none"


def build(target: Path, *flags: str) -> None:
    """Compile the core into ``target``, with the first compiler that can; it is there whole or not at all, however many
    processes do so at once.

    Raises:
        NoCompiler: in one line, why there is none.
        OSError: there is no place for it.
    """
    faults = []
    for compiler in compilers():
        fault = _compile(compiler, target, flags)
        if not fault:
            return
        faults.append(f"{' '.join(compiler)} could not compile tilesim/tiled/core: {fault}")
    raise NoCompiler(faults[0] if faults else nobody())


def _compile(compiler: Sequence[str], target: Path, flags: Sequence[str]) -> str:
    """What went wrong, in a line; empty if nothing did."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        (Path(folder) / "columns.h").write_text(header_text(), encoding="utf-8")
        part = Path(folder) / target.name
        units = [str(SOURCES / "core.c"), str(_data() / "product.c")]
        command = [*compiler, *FLAGS, *flags, "-I", folder, "-o", str(part), *units]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            return next((line for line in lines if "error" in line), lines[0])
        part.replace(target)
    return ""


def sources() -> list[Path]:
    """All that is C."""
    return sorted(path for folder in (SOURCES, _data()) for path in folder.iterdir() if path.suffix in (".c", ".h"))


def _data() -> Path:
    return SOURCES.parent / "dataflow"


def compilers() -> Iterator[list[str]]:
    """How to call each C compiler that there is, in the order in which they are tried."""
    wanted = os.environ.get(VARIABLE, "")
    names = (wanted,) if wanted else (os.environ.get("CC", ""), *COMPILERS)
    for name, *options in filter(None, map(shlex.split, names)):
        if path := shutil.which(name):
            yield [path, *options]
    if wanted in ("", ZIGLANG) and _has_ziglang():
        yield [sys.executable, "-m", ZIGLANG, "cc"]


def _has_ziglang() -> bool:
    return find_spec(ZIGLANG) is not None


def nobody() -> str:
    """Why there is no compiler."""
    if wanted := os.environ.get(VARIABLE):
        return f"{VARIABLE} must be a C compiler, {ZIGLANG} if that is installed, or none, not '{wanted}'"
    return f"no C compiler ({', '.join(COMPILERS)}, or the package {ZIGLANG}) is there to make the core"


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilesim"


@cache
def file_name() -> str:
    """What a library is called that was made of these sources, with these flags, for this system."""
    made_with = " ".join([sys.platform, platform.machine(), *FLAGS])
    parts = [path.read_bytes() for path in sources()]
    digest = hashlib.sha256(b"\0".join([header_text().encode(), made_with.encode(), *parts])).hexdigest()
    return f"core-{digest[:16]}.so"
