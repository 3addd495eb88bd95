"""Making the core: warnings are errors, sanitizers find nothing, and without a compiler one line says so."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.soak import counts
from tests.tiled.dataflow.agreement import COMPILED
from tilesim.tiled.core import build
from tilesim.tiled.core.timing import loaded
from tilesim.tiled.flat.missing import NoCompiler
from tilesim.tiled.run import core

ROOT = Path(__file__).resolve().parents[3]
CC = shutil.which("cc")
WITH_CC = pytest.mark.skipif(not CC, reason="no cc is there")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Nothing is made yet, and no compiler is named."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("CC", build.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache" / "tilesim"


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(build, "ZIGLANG", "no_such_package")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name not in ("bin", "cache")]


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_one_line_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoCompiler, match=r"^no C compiler \(cc, gcc, clang, or the package \w+\)[^\n]*$"):
        build.build(tmp_path / "core.so")
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("name", [*build.COMPILERS, build.ZIGLANG])
def test_warnings_of_any_compiler_are_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setenv(build.VARIABLE, name)
    if not [*build.compilers()]:
        pytest.skip(f"{name} is not there")
    build.build(tmp_path / "core.so", *build.STRICT)
    assert loaded(tmp_path / "core.so").core_new
    assert "-Werror" not in build.FLAGS


@pytest.mark.skipif(os.name != "posix", reason="shell scripts stand for compilers")
def test_what_does_not_compile_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = script(tmp_path / "bin" / "broken", "echo 'In file x.c:' >&2; echo 'x.c:1: error: no' >&2; exit 1")
    monkeypatch.setenv(build.VARIABLE, str(broken))
    with pytest.raises(NoCompiler, match=r"^\S*broken could not compile tilesim/tiled/core: x\.c:1: error: no$"):
        build.build(tmp_path / "core.so")
    assert left_in(tmp_path) == []


@WITH_CC
def test_of_several_compilers_the_first_that_can_is_taken(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script(tmp_path / "bin" / "cc", "exit 1")
    script(tmp_path / "bin" / "gcc", f'PATH={os.environ["PATH"]} exec {CC} "$@"')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert build.library().parent == own_cache


@WITH_CC
def test_a_compiler_may_be_named_with_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(build.VARIABLE, f"{CC} -DAccount=nothing{{")
    with pytest.raises(NoCompiler, match=r"-DAccount=nothing\{ could not compile tilesim/tiled/core: [^\n]*error"):
        build.build(tmp_path / "core.so")


@pytest.mark.parametrize("what", ["library", "standing"])
def test_a_compiler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setenv(build.VARIABLE, "nobody")
    fault = "TILESIM_CC must be a C compiler, ziglang if that is installed, or none, not 'nobody'"
    if what == "standing":
        assert core.standing() == f"not there: {fault}"
        return
    with pytest.raises(NoCompiler, match=f"^{fault}$"):
        core.library()


def test_the_engine_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.VARIABLE, "none")
    with pytest.raises(NoCompiler, match=r"^TILESIM_CC is none$"):
        core.library()
    assert core.standing() == "not there: TILESIM_CC is none"


@WITH_CC
@pytest.mark.usefixtures("no_compiler")
def test_a_compiler_in_a_package_will_do(own_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package stands in for ziglang: ``python -m zig_stand_in cc`` calls the machine's compiler."""
    package = tmp_path / "cache" / "zig_stand_in"
    package.mkdir(parents=True)
    calls = (
        f"import os, sys\nassert sys.argv[1] == 'cc'\nos.environ['PATH'] = {os.environ['PATH'] + ':/usr/bin:/bin'!r}\n"
    )
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(f"{calls}os.execv({CC!r}, [{CC!r}, *sys.argv[2:]])\n", encoding="utf-8")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setattr(build, "ZIGLANG", "zig_stand_in")
    assert core.standing() == f"made at its first use, by {sys.executable} -m zig_stand_in cc"
    assert core.library() == own_cache / build.file_name()
    assert core.standing() == f"ready, {own_cache / build.file_name()}"


def test_a_place_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    if not [*build.compilers()]:
        pytest.skip("no compiler is there")
    with pytest.raises(NoCompiler, match=r"core-\w+\.so must be writable to keep the core in"):
        build.library()


def test_a_library_of_another_system_is_named(own_cache: Path) -> None:
    own_cache.mkdir(parents=True)
    (own_cache / build.file_name()).write_bytes(b"something else")
    with pytest.raises(NoCompiler, match=r"^the core can't be loaded: "):
        core.library()


@COMPILED
def test_a_library_is_made_once() -> None:
    made = build.library()
    before = made.stat().st_mtime_ns
    assert (build.library(), made.stat().st_mtime_ns) == (made, before)


@COMPILED
def test_several_processes_may_make_it_at_once(own_cache: Path) -> None:
    makes = "from tilesim.tiled.run.core import library; print(library())"
    workers = [
        subprocess.Popen([sys.executable, "-c", makes], cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = {worker.communicate()[0] for worker in workers}
    assert said == {f"{own_cache / build.file_name()}\n"}
    assert [path.name for path in own_cache.iterdir()] == [build.file_name()]


@COMPILED
@pytest.mark.skipif(sys.platform != "linux" or not CC, reason="libasan is preloaded as Linux does it")
@pytest.mark.parametrize("spoils", counts(600, 40_000))
def test_sanitizers_find_nothing(tmp_path: Path, spoils: int) -> None:
    """Not with the tables of programs, nor with those that have a wrong number in them and are not refused."""
    library = tmp_path / "core.so"
    build.build(library, *build.STRICT, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    asan = subprocess.run([str(CC), "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout
    env = {**os.environ, "LD_PRELOAD": asan.strip(), "ASAN_OPTIONS": "detect_leaks=0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.tiled.core.sanitized", str(library), "120", str(spoils)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    whole, spoiled = (set(line.split()[1:]) for line in done.stdout.splitlines())
    assert whole >= {"ended", "hung"}
    assert spoiled >= {"ended", "hung", "endless", "refused"}


def test_the_core_is_small() -> None:
    sources = [*build.SOURCES.glob("*.c"), *build.SOURCES.glob("*.h")]
    assert sum(len(source.read_text(encoding="utf-8").splitlines()) for source in sources) <= 1500


def test_all_c_is_small() -> None:
    """Less blank lines and comments."""
    code = (re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL) for path in build.sources())
    assert sum(bool(line.strip()) for text in code for line in text.splitlines()) <= 1500


def test_no_runtime_of_a_compiler_is_asked_what_the_machine_can_do() -> None:
    """That of ziglang does not know, and then the library can't be made."""
    assert not [path for path in build.sources() if re.search(r"__builtin_cpu_\w+\(", path.read_text(encoding="utf-8"))]
