"""What hatchling asks when it makes a wheel: the compiled engine's library goes along, where there is a C compiler.

Without one the wheel is pure Python, for all systems, with one line that says so; its core is compiled at first use,
where there is a compiler then. ``TILESIM_CC`` names a compiler; ``ziglang`` has pip bring that package for the build,
``none`` leaves the library out. For a checkout (``pip install -e``) nothing is compiled before somebody asks for it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags


class CoreHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles ``tilesim/tiled/core``, if that is there."""

    _made_in: Path | None = None

    def dependencies(self) -> list[str]:
        """What the build takes besides."""
        return ["ziglang"] if os.environ.get("TILESIM_CC") == "ziglang" else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the library into the wheel, whose tag then names the system and no Python: ctypes loads it in any."""
        if version == "editable":
            return
        self._made_in = Path(tempfile.mkdtemp())
        if fault := self._build(self._made_in, build_data["force_include"]):
            self.app.display_warning(f"tilesim without its compiled engine, and slower: {fault}")
        else:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        del version, build_data, artifact_path
        if self._made_in:
            shutil.rmtree(self._made_in)

    def _build(self, folder: Path, included: dict[str, str]) -> str:
        """Why there is no library; empty if there is one."""
        sys.path.insert(0, self.root)
        try:
            from tilesim.tiled.core import build
            from tilesim.tiled.flat.missing import NoCompiler
        except ImportError:
            return "tilesim/tiled/core is not there"
        finally:
            sys.path.remove(self.root)
        if build.is_off():
            return "TILESIM_CC is none"
        library = folder / build.file_name()
        try:
            build.build(library)
        except (NoCompiler, OSError) as error:
            return str(error)
        included[str(library)] = f"tilesim/tiled/core/{library.name}"
        return ""


def _platform() -> str:
    """This system as a wheel's tag names it; of Linux, without a promise of how old its libraries may be."""
    names = (tag.platform for tag in sys_tags())
    return next(name for name in names if not name.startswith(("manylinux", "musllinux")))
