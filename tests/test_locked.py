"""requirements.lock has a hash of every file, and scripts/setup installs no more of it than is asked for."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from tests.scripts import ROOT, script

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
EXTRAS: dict[str, list[str]] = tomllib.loads(PROJECT)["project"]["optional-dependencies"]
PYPROJECT = """
[project]
dependencies = ["Plain_Name>=1"]
[project.optional-dependencies]
more = ["other; python_version < '3.15'"]
[dependency-groups]
setup = []
"""
ENTRIES = """\
# How this was made.
dot.ted==1 \\
    --hash=sha256:00
    # via other, plain-name
nobody==1 \\
    --hash=sha256:01
    # via unheard-of
other==2 ; python_version < '3.15' \\
    --hash=sha256:02 \\
    --hash=sha256:03
    # via project (pyproject.toml)
plain-name==1 \\
    --hash=sha256:04
    # via project (pyproject.toml)
under==1 \\
    --hash=sha256:05
    # via dot-ted
"""


def names(entries: Any) -> list[str]:
    return [entry.split("==")[0] for entry in entries]


def test_what_is_needed_is_found_by_whose_it_is() -> None:
    locked = script("locked").locked
    assert names(locked(PYPROJECT, ENTRIES, [])) == ["dot.ted", "plain-name", "under"]
    found = [*locked(PYPROJECT, ENTRIES, ["more"])]
    assert names(found) == ["dot.ted", "other", "plain-name", "under"]
    assert found[1] == ENTRIES[ENTRIES.index("other==") : ENTRIES.index("\nplain-name==")]
    with pytest.raises(KeyError, match="none"):
        locked(PYPROJECT, ENTRIES, ["none"])


def test_every_release_is_exact_and_has_hashes() -> None:
    entries = re.findall(
        r"^\S+==\S+(?: ; .*)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+    # via ", LOCK, re.MULTILINE
    )
    assert len(entries) == len(re.findall(r"^[^\s#]", LOCK, re.MULTILINE)) > 50


def test_everything_the_project_asks_for_is_there() -> None:
    module = script("locked")
    assert {*module.needed(PROJECT, [*EXTRAS])} <= {*names(module.locked(PROJECT, LOCK, [*EXTRAS]))}


def test_a_plain_setup_installs_nothing_heavy() -> None:
    found = {*names(script("locked").locked(PROJECT, LOCK, []))}
    assert found >= {"numpy", "onnx", "pydantic", "hatchling"}
    assert found.isdisjoint({"matplotlib", "onnxruntime", "pytest", "mypy", "dask", "scikit-learn", "scipy"})
