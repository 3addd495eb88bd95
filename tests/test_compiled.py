"""Compiled loops are taken where numba is, and can do without a place to keep them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tilesim.compiled import compiled, wanted

STEPS = "from tilesim.compiled import compiled, wanted; import sys; print(wanted(), 'numba' in sys.modules)"
IMPORT = "import sys, tilesim; print('numba' in sys.modules)"


def told(code: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code], check=False, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_nobody_asks_for_numba_in_vain() -> None:
    assert told(STEPS, TILESIM_NUMBA="0") == "False False"
    assert told(IMPORT) == "False"


@pytest.mark.skipif(not wanted(), reason="needs numba")
def test_small_runs_do_not_load_it_unless_told() -> None:
    steps = "import sys; from tilesim.compiled import pays; print(pays(100), 'numba' in sys.modules, pays(10_000))"
    assert told(steps, TILESIM_NUMBA="") == "False False True"
    assert told(steps, TILESIM_NUMBA="1") == "True True True"
    assert told(steps, TILESIM_NUMBA="0") == "False False False"
    assert told("import tilesim.sim.kernel; " + steps, TILESIM_NUMBA="") == "True True True"


def test_without_a_numba_that_can_be_imported_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.0 or less')")
    steps = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from tilesim.compiled import pays; print(pays(10_000))"
    assert told(steps, TILESIM_NUMBA="1") == "False"


@pytest.mark.skipif(not wanted(), reason="needs numba")
def test_without_a_cache_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    njit = numba.njit

    def nowhere(*found: object, **options: object) -> object:
        if options:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*found)

    monkeypatch.setattr(numba, "njit", nowhere)
    assert compiled(_twice)(21) == 42


@pytest.mark.skipif(not wanted(), reason="needs numba")
@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert compiled(_twice)(21) == 42
    [path] = tmp_path.rglob(f"*{ending}")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert compiled(_twice)(21) == 42
    [again] = tmp_path.rglob(f"*{ending}")
    assert len(again.read_bytes()) == len(whole)
    found: Any = compiled(_twice)
    assert found(21) == 42
    assert sum(found.stats.cache_hits.values()) == 1


@pytest.mark.skipif(not wanted(), reason="needs numba")
def test_a_cache_that_takes_nothing_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    found = compiled(_twice)
    for folder in [*tmp_path.iterdir()]:
        folder.rmdir()
        folder.touch()
    assert found(21) == 42


def _twice(number: int) -> int:
    return 2 * number
