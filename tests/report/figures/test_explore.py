"""The pictures of how networks scale."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.exploration.rows import GRIDS, row
from tests.report.figures.test_save import PNG, names, texts
from tilesim.report.exploration.scaling import series
from tilesim.report.exploration.verdict import between
from tilesim.report.figures import explore
from tilesim.report.figures.explore import save_exploration_figures

ROWS = [row("kws", grid, layers=7) for grid in GRIDS]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return save_exploration_figures(ROWS, tmp_path_factory.mktemp("figures"))


def test_networks_share_pictures_of_scaling_and_energy_and_each_has_its_losses_and_layers(made: list[Path]) -> None:
    folder, expected = made[0].parent, names("scaling", "energy", "losses-kws", "layers-kws")
    assert [path.name for path in made if path.name in expected] == expected
    assert all(path.read_bytes().startswith(PNG if path.suffix == ".png" else b"<?xml") for path in made)
    for words in ("kws", "ideal", "tiles (ring: knee)", "speed-up"):
        assert words in texts(folder / "scaling.svg")
    assert "energy of a run, µJ" in texts(folder / "energy.svg")
    one = series(ROWS)[0]
    step, shown = between(ROWS, one, one.knee, one.knee + 1), texts(folder / "losses-kws.svg")
    for words in (f"{step.ideal:,.0f}", f"{step.parts['halo']:+,.0f}", f"{step.actual:,.0f}", "halo", "taken"):
        assert words in shown
    assert "no parts for more tiles" in texts(folder / "layers-kws.svg")


def test_names_of_networks_become_names_of_files() -> None:
    found = list(explore._file_names(["a/b", "a?b", "..", "A-B", "$HOME/../x"]))
    assert found == ["a-b", "a-b-2", "3", "A-B-4", "HOME-..-x"]


def test_the_same_rows_make_the_same_files(made: list[Path], tmp_path: Path) -> None:
    again = save_exploration_figures(ROWS[::-1], tmp_path)
    assert {path.name: path.read_bytes() for path in again} == {path.name: path.read_bytes() for path in made}
