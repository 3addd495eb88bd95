"""Making the core: warnings are errors, sanitizers find nothing, and without a compiler one line says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiled.core.test_timing import COMPILED
from tilesim.tiled.core import build

RUNS = """
from pathlib import Path
from tests.tiled.corpus.programs import random_program
from tilesim.machines.frame import named
from tilesim.tiled.core.timing import timed
from tilesim.tiled.flat.coverage import uncovered
programs = [program for program in map(random_program, range(120)) if not uncovered(program)]
print({timed(named(program), Path(%r)).outcome for program in programs} >= {"ended", "hung"})
"""


def test_without_a_compiler_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(build.NoCompiler, match=r"^no C compiler \(cc, gcc, clang, or the package ziglang\)[^\n]*$"):
        build.build(tmp_path / "core.so")
    assert [*tmp_path.iterdir()] == []


@COMPILED
def test_what_does_not_compile_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(build.NoCompiler, match="could not compile tilesim/tiled/core"):
        build.build(tmp_path / "core.so", "-DAccount=nothing{")
    assert [*tmp_path.iterdir()] == []


def test_a_place_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(build.NoCompiler, match=r"core-\w+\.so must be writable to keep the core in"):
        build.library()


@COMPILED
def test_a_library_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = build.library()
    before = made.stat().st_mtime_ns
    assert (build.library(), made.stat().st_mtime_ns) == (made, before)


@COMPILED
@pytest.mark.skipif(sys.platform != "linux", reason="libasan is preloaded as Linux does it")
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    core = tmp_path / "core.so"
    build.build(core, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    asan = subprocess.run(
        ["/usr/bin/env", "cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout
    env = {**os.environ, "LD_PRELOAD": asan.strip(), "ASAN_OPTIONS": "detect_leaks=0", "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(
        [sys.executable, "-c", RUNS % str(core)], env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr[-2000:]


def test_the_core_is_small() -> None:
    sources = [*build.SOURCES.glob("*.c"), *build.SOURCES.glob("*.h")]
    assert sum(len(source.read_text(encoding="utf-8").splitlines()) for source in sources) <= 1500
