"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A machine may be slow, and what is merged must not depend on luck: there the examples are the same each time.
settings.register_profile("tilesim", deadline=None, derandomize=bool(os.environ.get("TILESIM_CI")))
settings.load_profile("tilesim")

WITHOUT_MODELS = "without-models"
"""What TILESIM_CI is where tests of other people's models are to skip."""

ROOT = Path(__file__).resolve().parent.parent

OF_THE_CORE = (
    "test_wheel.py",
    "test_without_core.py",
    "tiled/core",
    "tiled/dataflow/test_carry_out.py",
    "tiled/dataflow/test_host.py",
    "tiled/dataflow/test_moved.py",
    "tiled/run/test_noted.py",
    "tiled/run/test_wakers.py",
)
collect_ignore = () if (ROOT / "tilesim" / "tiled" / "core").is_dir() else OF_THE_CORE
"""A tilesim whose C was deleted passes all other tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--soak", action="store_true", help="run the large counts instead: tests marked soak, and no others"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The ordinary suite leaves out what is marked soak; ``--soak`` runs nothing else."""
    soak = config.getoption("--soak")
    left_out = [item for item in items if bool(item.get_closest_marker("soak")) != soak]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if bool(item.get_closest_marker("soak")) == soak]


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of real models, which are test data and no part of the project."""
    folder = Path(os.environ.get("TILESIM_MODELS") or ROOT.parent / "shared" / "models")
    if (folder / "MANIFEST.json").is_file():
        return folder
    reason = f"no models in {folder}: set TILESIM_MODELS to the folder that holds their MANIFEST.json"
    if os.environ.get("TILESIM_CI", WITHOUT_MODELS) != WITHOUT_MODELS:
        pytest.fail(reason)
    pytest.skip(reason)
