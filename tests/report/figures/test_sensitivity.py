"""The tornado in its files."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from matplotlib.text import Text

from tests.explore.stepped import MADE, row, sensitivity
from tilesim.report.figures.save import save_sensitivity_figure
from tilesim.report.figures.sensitivity import MOST_STEPS, draw
from tilesim.report.sensitivity import sensitivity_document


def texts(path: Path) -> list[str]:
    return [*ET.parse(path).getroot().itertext()]  # noqa: S314  (made here)


def test_each_step_has_its_values_and_what_it_changes(tmp_path: Path) -> None:
    made = save_sensitivity_figure(sensitivity_document(MADE), tmp_path)
    assert [path.name for path in made] == ["sensitivity.png", "sensitivity.svg"]
    words = texts(made[1])
    assert [word for word in words if "→" in word] == [
        *("tile.lanes   64 → 32", "clock_hz   1 MHz → 2 MHz", "ring.width   8 → 4", "8 → 16"),
        "mesh.words   short → long",
    ]
    changes = ("-50.0%", "+10.0%", "-5.0%", "-10.0%", "+20.0%", "+1.0%")
    assert [word for word in words if word in changes and words.count(word) < 3] == [
        *("-50.0%", "+10.0%", "-5.0%", "+10.0%", "-5.0%", "-10.0%", "+20.0%", "+1.0%")  # of time, cycles, energy
    ]
    assert made[0].read_bytes().startswith(b"\x89PNG")


def test_what_there_is_no_room_for_is_counted() -> None:
    rows = [(f"key{k}", 1, [(2, row(200 + k))]) for k in range(MOST_STEPS + 3)]
    words = [text.get_text() for text in draw(sensitivity_document(sensitivity(rows))).findobj(Text)]
    assert "and 3 keys of less effect" in words
    assert len({word for word in words if "→" in word}) == MOST_STEPS


def test_nothing_to_draw(tmp_path: Path) -> None:
    assert len(save_sensitivity_figure(sensitivity_document(sensitivity([])), tmp_path)) == 2
