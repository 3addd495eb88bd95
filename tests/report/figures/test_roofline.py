"""The rooflines of a run as a figure."""

from __future__ import annotations

import matplotlib as mpl
import pytest
from matplotlib.text import Text

from tilesim.report.document import SavedRun
from tilesim.report.figures.layout import FigureLayout
from tilesim.report.figures.roofline import draw


@pytest.mark.parametrize("columns", [1, 2])
def test_the_note_below_is_as_wide_as_the_figure_at_most(digits_run: SavedRun, columns: int) -> None:
    with mpl.rc_context({"figure.figsize": (FigureLayout(columns).width_inches, 3.0)}):
        figure = draw(digits_run.statistics)
        assert figure is not None
        [note] = (text for text in figure.findobj(Text) if text.get_text().startswith("Numbers, where"))
        box = note.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
