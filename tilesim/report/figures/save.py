"""Every picture of a run into files."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilesim.errors import InputError
from tilesim.report.comparison import ComparisonDocument
from tilesim.report.document import SavedRun
from tilesim.report.figures.layout import PLAIN, FigureLayout
from tilesim.report.figures.style import SETTINGS, TALLEST_INCHES
from tilesim.saving import all_or_nothing, writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tilesim.machines.trial import TrialDocument
    from tilesim.report.sensitivity import SensitivityDocument

FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 300, "metadata": {"Software": None}, "pil_kwargs": {"compress_level": 3}},
    "svg": {"dpi": 300, "metadata": {"Date": None, "Creator": None}},
    "pdf": {"dpi": 300, "metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}
"""What makes files of a format that are the same each time."""


def save_all(run: SavedRun, folder: Path, layout: FigureLayout = PLAIN) -> list[Path]:
    """Write every picture that the run has numbers for into ``folder``, each as PNG and SVG: all of them or none.

    A run without a trace has no timeline and no links over time; one without layers has none of those.

    Raises:
        InputError: matplotlib is not there, or the folder cannot be made or written.
    """
    return save_each(_figures(run), folder, layout)


def save_comparison_figures(document: ComparisonDocument, folder: Path, layout: FigureLayout = PLAIN) -> list[Path]:
    """Write the pictures of a comparison of runs; as :func:`save_all`."""
    return save_each(_comparison_figures(document), folder, layout)


def save_sensitivity_figure(document: SensitivityDocument, folder: Path, layout: FigureLayout = PLAIN) -> list[Path]:
    """Write the picture of what each key is worth; as :func:`save_all`."""
    return save_each(_sensitivity_figure(document), folder, layout)


def save_trial_figure(document: TrialDocument, path: Path) -> None:
    """Write the picture of bare transfers that were tried into one file; its ending is one of :data:`FORMATS`. Raises
    InputError as :func:`save_all`.
    """
    must_have_matplotlib()
    from tilesim.report.figures import masters

    with writing(path, "picture"), all_or_nothing(path.parent) as made, _style(PLAIN):
        masters.draw(document).savefig(made / path.name, **FORMATS[path.suffix.removeprefix(".")])


def must_have_matplotlib() -> None:
    """Raises InputError where it is not installed."""
    if find_spec("matplotlib") is None:
        raise InputError("pictures are drawn by matplotlib, which is not installed: pip install tilesim[plot]")


def save_each(figures: Iterator[tuple[str, Figure]], folder: Path, layout: FigureLayout = PLAIN) -> list[Path]:
    """Write pictures by the names of their files, as :func:`save_all`."""
    must_have_matplotlib()
    with writing(folder, "pictures"), all_or_nothing(folder) as made, _style(layout):
        names = [name for stem, figure in figures for name in _save(figure, made, stem, layout.formats)]
    return [folder / name for name in names]


@contextmanager
def _style(layout: FigureLayout) -> Iterator[None]:
    """Figures are drawn in our style in here, whatever the user's."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the font may lack letters of a layer's name
        mpl.rcdefaults()
        mpl.rcParams.update({**SETTINGS, "figure.figsize": (layout.width_inches, TALLEST_INCHES)})
        yield


def _figures(run: SavedRun) -> Iterator[tuple[str, Figure]]:
    """The pictures by the names of their files, which are of :data:`tilesim.run.PICTURES`."""
    from tilesim.report.figures import bars, batching, contention, roofline, timeline

    statistics, trace = run.statistics, run.trace
    if trace is not None:
        yield "timeline", timeline.draw(statistics, trace)
        if links := contention.draw(statistics, trace):
            yield "contention", links
    yield "stalls", bars.draw_stalls(statistics)
    if batches := statistics.get("batching"):
        yield "batching", batching.draw(statistics, batches)
    if statistics["layers"]:
        yield "layers", bars.draw_layers(statistics)
    if roofs := roofline.draw(statistics):
        yield "roofline", roofs


def _comparison_figures(document: ComparisonDocument) -> Iterator[tuple[str, Figure]]:
    from tilesim.report.figures import bars, batching

    yield "compare", bars.draw_comparison(document)
    if any(run["batching"] for run in document["runs"]):
        yield "compare-batching", batching.draw_comparison(document["runs"])


def _sensitivity_figure(document: SensitivityDocument) -> Iterator[tuple[str, Figure]]:
    from tilesim.report.figures import sensitivity

    yield "sensitivity", sensitivity.draw(document)


def _save(figure: Figure, folder: Path, stem: str, formats: Iterable[str]) -> Iterator[str]:
    for ending in formats:
        name = f"{stem}.{ending}"
        figure.savefig(folder / name, **FORMATS[ending])
        figure.set_layout_engine("none")  # everything has its place now
        yield name
