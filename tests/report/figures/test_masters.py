"""The picture of a trial."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tilesim.api.masters import try_masters
from tilesim.errors import InputError
from tilesim.report.figures.masters import draw
from tilesim.report.figures.save import save_trial_figure


def texts(path: Path) -> list[str]:
    """What is written in an SVG."""
    return [text for text in ET.parse(path).getroot().itertext() if text.strip()]  # noqa: S314  (made here)


def test_every_row_has_its_letter_at_every_node(tmp_path: Path) -> None:
    document = try_masters("pair-one-node-01").document
    save_trial_figure(document, tmp_path / "t.svg")
    written = texts(tmp_path / "t.svg")
    assert written.count("A") == len([each for each in document["picture"]["passages"] if each["transfer"] == "a"])
    assert {"source", "tile 3", "sink", "A: a from tile 0", "B: b from tile 1", "the rule is broken"} <= {*written}


def test_the_picture_is_the_same_each_time(tmp_path: Path) -> None:
    document = try_masters("pair-adjacent-01").document
    for name in ("one.png", "two.png"):
        save_trial_figure(document, tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_what_is_broken_is_framed_where_it_is() -> None:
    document = try_masters("pair-one-node-01").document
    [breach] = document["picture"]["breaches"]
    [axes] = draw(document).axes
    frames = [patch for patch in axes.patches if not patch.get_fill()]
    assert [(patch.get_x(), document["nodes"][int(patch.get_y())]) for patch in frames] == [
        (breach["cycle"], breach["stop"])
    ]


def test_a_long_run_has_no_letters(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text("tiles: 4\ntransfers: [{name: a, master: 0, to: 1, rows: 60}]\n")
    save_trial_figure(try_masters(path).document, tmp_path / "t.svg")
    assert "A" not in texts(tmp_path / "t.svg")


def test_a_picture_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the picture cannot be written there"):
        save_trial_figure(try_masters("pair-adjacent-01").document, tmp_path / "file" / "t.png")
