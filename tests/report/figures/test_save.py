"""Every picture in its files: the same each time, all or none."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from tests.report.batched import batched
from tests.report.made import saved
from tests.report.saved import made_up
from tilesim.errors import InputError
from tilesim.report.comparison import compared
from tilesim.report.document import SavedRun
from tilesim.report.figures.layout import FigureLayout
from tilesim.report.figures.save import save_all, save_comparison_figures

STEMS = ("timeline", "contention", "stalls", "layers", "roofline")
PNG = b"\x89PNG\r\n\x1a\n"


def names(*stems: str) -> list[str]:
    return [f"{stem}.{ending}" for stem in stems for ending in ("png", "svg")]


def texts(path: Path) -> str:
    """What is written in an SVG."""
    return "\n".join(ET.parse(path).getroot().itertext())  # noqa: S314  (made here)


@pytest.fixture(scope="module")
def made(digits_run: SavedRun, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return save_all(digits_run, tmp_path_factory.mktemp("figures"))


def test_all_pictures_of_a_run(made: list[Path]) -> None:
    folder = made[0].parent
    assert [path.name for path in made] == names(*STEMS)
    assert sorted(folder.iterdir()) == sorted(made)
    for path in made:
        assert path.read_bytes().startswith(PNG if path.suffix == ".png" else b"<?xml")
    assert "stem" in texts(folder / "layers.svg")
    assert "waits for a flag" in texts(folder / "timeline.svg")
    assert "tile 1" in texts(folder / "contention.svg")


@pytest.mark.parametrize(("columns", "inches"), [(1, 3.5), (2, 7.16)])
def test_pictures_are_as_wide_as_columns_of_a_paper_and_pdfs_hold_their_fonts(
    digits_run: SavedRun, tmp_path: Path, columns: int, inches: float
) -> None:
    made = save_all(replace(digits_run, trace=None), tmp_path, FigureLayout(columns, pdf=True))
    assert [path.name for path in made] == [
        f"{stem}.{ending}" for stem in ("stalls", "layers", "roofline") for ending in ("png", "svg", "pdf")
    ]
    for path in made:
        data = path.read_bytes()
        if path.suffix == ".png":
            assert int.from_bytes(data[16:20], "big") == int(300 * inches)
        if path.suffix == ".pdf":
            assert data.startswith(b"%PDF")
            assert b"/FontFile2" in data  # a TrueType font, whole
            assert b"/Type3" not in data
    assert "Numbers, where there is room: layers" in texts(tmp_path / "roofline.svg")


def test_no_picture_is_for_three_columns() -> None:
    with pytest.raises(InputError, match="pictures must be for 1 or 2 columns, not 3"):
        FigureLayout(3)


def test_the_same_run_makes_the_same_files(made: list[Path], digits_run: SavedRun, tmp_path: Path) -> None:
    without_layers = {**digits_run.statistics, "layers": [], "energy": None}  # the others are enough, and faster
    again = save_all(replace(digits_run, statistics=without_layers), tmp_path)
    first = {path.name: path.read_bytes() for path in made}
    assert [path.name for path in again] == names(*STEMS[:3])
    assert all(path.read_bytes() == first[path.name] for path in again)


def test_names_from_models_are_neither_markup_nor_formulas(digits_run: SavedRun, tmp_path: Path) -> None:
    name = "<script>alert(1)</script> $\\frac{1}$ 層\x1b"
    layers = [{**layer, "name": name} for layer in digits_run.statistics["layers"]]
    save_all(replace(digits_run, statistics={**digits_run.statistics, "layers": layers}, trace=None), tmp_path)
    shown = texts(tmp_path / "layers.svg")
    assert "script> $" in shown
    assert "<script" not in (tmp_path / "layers.svg").read_text(encoding="utf-8")


def test_a_run_without_trace_layers_and_macs_has_the_rest(tmp_path: Path) -> None:
    unit = {"track": "chip.infeed", "busy_cycles": 3, "stall_cycles": {"host": 90}, "idle_cycles": 7}
    made = save_all(made_up(None, units=[unit]), tmp_path)
    assert [path.name for path in made] == names("stalls")


def test_matplotlib_keeps_the_settings_of_the_user(tmp_path: Path) -> None:
    with mpl.rc_context({"font.size": 33}):
        save_all(made_up(None), tmp_path)
        assert mpl.rcParams["font.size"] == 33


def test_without_matplotlib_a_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install tilesim\[plot\]"):
        save_all(made_up(None), tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_a_comparison_has_a_bar_a_run(tmp_path: Path) -> None:
    runs = [saved("first"), saved("second", 4, cycles=25, breakdown={"macs": 80, "no work": 20})]
    made = save_comparison_figures(compared(runs), tmp_path / "figures")
    assert [path.name for path in made] == names("compare")
    assert made[0].read_bytes().startswith(PNG)
    shown = texts(made[1])
    for words in ("first", "second", "100, 1.00 ×", "25, 4.00 ×", "MAC array", "no work"):
        assert words in shown


def test_a_run_in_batches_has_its_footprint(tmp_path: Path) -> None:
    made = save_all(batched("demand"), tmp_path)
    assert [path.name for path in made] == names("stalls", "batching", "layers")
    shown = texts(tmp_path / "batching.svg")
    for words in ("in the unified buffer", "512 KiB", "0 stem", "5 last"):
        assert words in shown


def test_runs_in_batches_are_compared_by_weights_and_buffer(tmp_path: Path) -> None:
    made = save_comparison_figures(compared([batched("demand"), batched("lcm")]), tmp_path)
    assert [path.name for path in made] == names("compare", "compare-batching")
    shown = texts(tmp_path / "compare-batching.svg")
    for words in ("demand: 45 weight sets", "lcm: 6 weight sets", "weights fetched", "3 MiB"):
        assert words in shown


def test_a_run_without_steps_has_an_empty_picture(tmp_path: Path) -> None:
    run = batched("demand", steps=())
    assert "batching.svg" in [path.name for path in save_all(run, tmp_path)]
    assert "compare-batching.svg" in [path.name for path in save_comparison_figures(compared([run, run]), tmp_path)]
