"""Makes the core with the machine's C compiler, once for each state of its sources."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tilesim.tiled.flat.columns import header_text

SOURCES = Path(__file__).parent
FLAGS = ("-O2", "-std=c11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")
COMPILERS = ("cc", "gcc", "clang")


class NoCompiler(Exception):
    """There is no core, and nothing to make it with."""


def library() -> Path:
    """The shared library, made if there is none yet.

    Raises:
        NoCompiler: in one line, why it can't be made.
    """
    made = _cache() / f"core-{_digest()}.so"
    try:
        if not made.exists():
            build(made)
    except OSError as error:
        raise NoCompiler(f"{made} must be writable to keep the core in: {error}") from None
    return made


def build(target: Path, *flags: str) -> None:
    """Compile the core into ``target``; it is there whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        (Path(folder) / "columns.h").write_text(header_text(), encoding="utf-8")
        part = Path(folder) / target.name
        command = [*_compiler(), *FLAGS, *flags, "-I", folder, "-o", str(part), str(SOURCES / "core.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise NoCompiler(f"{command[0]} could not compile tilesim/tiled/core: {done.stderr.strip()[:2000]}")
        part.replace(target)


def _compiler() -> list[str]:
    named = os.environ.get("CC", "")
    if found := next((path for name in (named, *COMPILERS) if name and (path := shutil.which(name))), None):
        return [found]
    try:
        import ziglang  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        raise NoCompiler("no C compiler (cc, gcc, clang, or the package ziglang) is there to make the core") from None
    return [sys.executable, "-m", "ziglang", "cc"]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilesim"


def _digest() -> str:
    parts = [path.read_bytes() for path in sorted(SOURCES.glob("*.[ch]"))]
    return hashlib.sha256(b"\0".join([header_text().encode(), " ".join(FLAGS).encode(), *parts])).hexdigest()[:16]
