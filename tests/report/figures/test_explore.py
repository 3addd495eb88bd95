"""The pictures of how networks scale."""

from __future__ import annotations

from pathlib import Path

from tests.report.exploration.rows import GRIDS, row
from tests.report.figures.test_save import PNG, names, texts
from tilesim.report.exploration.scaling import series
from tilesim.report.exploration.verdict import between
from tilesim.report.figures import explore
from tilesim.report.figures.explore import save_exploration_figures


def test_networks_share_pictures_of_scaling_and_energy_and_each_has_its_losses_and_layers(tmp_path: Path) -> None:
    rows = [row(name, grid, layers=7) for name in ("kws", "vww") for grid in GRIDS]
    made = save_exploration_figures(rows, tmp_path)
    expected = names("scaling", "energy", "losses-kws", "layers-kws", "losses-vww", "layers-vww")
    assert [path.name for path in made if path.name in expected] == expected
    assert all(path.read_bytes().startswith(PNG if path.suffix == ".png" else b"<?xml") for path in made)
    for words in ("kws", "vww", "ideal", "tiles (ring: knee)", "speed-up"):
        assert words in texts(tmp_path / "scaling.svg")
    assert "energy of a run, µJ" in texts(tmp_path / "energy.svg")
    one = series(rows)[0]
    step, shown = between(rows, one, one.knee, one.knee + 1), texts(tmp_path / "losses-kws.svg")
    for words in (f"{step.ideal:,.0f}", f"{step.parts['halo']:+,.0f}", f"{step.actual:,.0f}", "halo", "taken"):
        assert words in shown
    assert "no parts for more tiles" in texts(tmp_path / "layers-kws.svg")


def test_names_of_networks_become_names_of_files() -> None:
    found = list(explore._file_names(["a/b", "a?b", "..", "A-B", "$HOME/../x"]))
    assert found == ["a-b", "a-b-2", "3", "A-B-4", "HOME-..-x"]


def test_the_same_rows_make_the_same_files(tmp_path: Path) -> None:
    rows = [row(grid=grid) for grid in GRIDS[:2]]
    first, again = (save_exploration_figures(rows, tmp_path / folder) for folder in ("one", "two"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
