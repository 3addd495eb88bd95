"""The public calls on runs that are over: read one back, make pages, pictures and traces of it, compare several."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias, cast

from tilesim.api.arguments import checked
from tilesim.errors import InputError, kept, refuse
from tilesim.machines.options import silent
from tilesim.report.document import SavedRun, load_run, shown
from tilesim.run import Run
from tilesim.saving import all_or_nothing, writing
from tilesim.sim.trace.signals import Signals

if TYPE_CHECKING:  # what draws and writes is loaded when it is asked for
    from tilesim.report.comparison import ComparisonDocument

__all__ = [
    "SavedRun",
    "compare",
    "load_run",
    "save_comparison",
    "save_figures",
    "save_report",
    "save_trace",
]

AnyRun: TypeAlias = Run | SavedRun | Path | str
"""A run, one that was read back, or the folder that one was saved in."""

FAST = 4
"""How hard a file whose name ends in .gz is compressed."""


@checked
def save_report(run: AnyRun, path: Path | str) -> None:
    """Write the page of a run, one HTML file that needs nothing else: what every unit and every bus did when, and where
    the cycles went.

    Args:
        run: its timeline is on the page if it was traced.
        path: the file.

    Raises:
        InputError: the folder holds no run, or the file can't be written.
    """
    from tilesim.report.page.sections import report

    write_page(path, report(_saved(run)))


@checked
def save_figures(run: AnyRun, folder: Path | str, columns: int = 2, pdf: bool = False) -> list[Path]:
    """Draw every picture that a run has numbers for into ``folder``, each as PNG and SVG; their paths.

    Args:
        run: the timeline and the links over time take a trace.
        folder: made if it is not there.
        columns: how many of a paper's two columns they are wide.
        pdf: draw them as PDF, too, with their fonts inside.

    Raises:
        InputError: the folder of the run holds none, matplotlib is not installed, or the pictures can't be written.
    """
    from tilesim.report.figures.layout import FigureLayout
    from tilesim.report.figures.save import save_all

    return save_all(_saved(run), Path(folder), FigureLayout(columns, pdf))


@checked
def save_trace(run: AnyRun, path: Path | str, chrome: bool = False, say: Callable[[str], None] | None = None) -> int:
    """Write the trace of a run for a viewer such as https://ui.perfetto.dev; how many spans it has. Or its state log
    for a viewer of waveforms such as GTKWave; how many values that has.

    Args:
        run: a run that was simulated with ``trace=True``, or for waveforms with ``signals``, or the folder of one.
        path: the file; a name that ends in .vcd or .vcd.gz asks for waveforms.
        chrome: write the JSON format of Chrome's viewer, compressed if the path ends in .gz, rather than Perfetto's.
        say: is told how far it is.

    Raises:
        InputError: a run without a trace, or for waveforms without a state log, or a file that can't be written.
    """
    saved, path = _saved(run), Path(path)
    if is_waveform(path):
        if chrome:
            raise InputError(f"{path}: must end in .json or .json.gz for Chrome's viewer")
        if saved.signals is None:
            raise InputError(_lacks(run, "state log", "signals=range(...)", "signals.npz", "--signals FROM:TO"))
        return _save_waveform(saved, saved.signals, path, say or silent)
    if saved.trace is None:
        raise InputError(_lacks(run, "trace", "trace=True", "trace.npz", "--trace"))
    if chrome:
        from tilesim.report.chrome_file import write_chrome as write
    else:
        from tilesim.report.perfetto_file import write_perfetto as write
    spans, tell = len(saved.trace.track), say or silent
    with writing(path, "trace"), all_or_nothing(path.parent) as made, _opened(made / path.name) as file:
        write(saved.statistics, saved.trace, file, lambda n: tell(f"writing {path}: {n:,} of {spans:,} spans"))
    return spans


def is_waveform(path: Path) -> bool:
    """Whether the name of a file asks for a state log."""
    return path.name.lower().endswith((".vcd", ".vcd.gz"))


def _save_waveform(saved: SavedRun, signals: Signals, path: Path, say: Callable[[str], None]) -> int:
    from tilesim.report.vcd_file import write_vcd

    with writing(path, "state log"), all_or_nothing(path.parent) as made, _opened(made / path.name) as file:
        return write_vcd(saved.statistics, signals, saved.trace, file, lambda n: say(f"writing {path}: {n:,} values"))


def compare(runs: Iterable[AnyRun] | Mapping[str, AnyRun]) -> ComparisonDocument:
    """Put runs of one network side by side: which is how fast, and where the difference to the first comes from.

    Args:
        runs: two or more, or folders of saved ones; a mapping names them. Without, they are called after their chips or
            folders.

    Returns:
        Rows in plain values: ``pandas.DataFrame(compare(runs)["runs"])`` is a table of them. Page and pictures are made
        by :func:`save_comparison`.

    Raises:
        InputError: fewer than two runs, folders that hold none, or runs that can't be compared, all faults at once.
    """
    from tilesim.report.comparison import compared

    if isinstance(runs, Mapping):
        return compared(_all_saved(runs.values()), [str(name) for name in runs])
    return compared(_all_saved(runs))


def save_comparison(
    comparison: ComparisonDocument, path: Path | str, runs: Iterable[AnyRun] | Mapping[str, AnyRun] = ()
) -> None:
    """Write the page of runs that were put side by side, one HTML file that needs nothing else.

    Args:
        comparison: what :func:`compare` has made of them.
        path: the file.
        runs: the same runs as :func:`compare` was given: the first two are on one timeline if both were traced.

    Raises:
        InputError: it is no comparison, or not of these runs, or the file can't be written.
    """
    from tilesim.report.comparison import must_be_comparison
    from tilesim.report.page.compare import comparison_page

    must_be_comparison(comparison)
    given = runs.values() if isinstance(runs, Mapping) else runs
    write_page(path, comparison_page(comparison, _all_saved(given, first=2, with_trace=True)))


def _saved(run: AnyRun, with_trace: bool = True) -> SavedRun:
    """A run as if it had been read from a folder, which is called after its chip."""
    if isinstance(run, Run):
        return SavedRun(Path(run.statistics["topology"]), run.statistics, run.trace, run.signals)
    if isinstance(run, SavedRun):
        return run
    if not isinstance(run, str | Path):
        raise InputError(f"a run must be given as a Run, a SavedRun, or the folder of one, not as {shown(run)}")
    return load_run(Path(run), with_trace)


def _all_saved(runs: Iterable[AnyRun], first: int | None = None, with_trace: bool = False) -> list[SavedRun]:
    """All runs, or the first so many; or what is wrong with any."""
    if isinstance(runs, str | Path | Run | SavedRun) or not isinstance(runs, Iterable):
        raise InputError(f"a comparison must be of several runs in a list, or by their names, not of {shown(runs)}")
    saved: list[SavedRun] = []
    faults: list[str] = []
    for run in islice(runs, first):
        with kept(faults):
            saved.append(_saved(run, with_trace))
    refuse(faults)
    return saved


def _lacks(run: AnyRun, what: str, argument: str, file: str, option: str) -> str:
    """What a run was not asked for."""
    if isinstance(run, Run):
        return f"the run must have a {what}, which simulate(..., {argument}) records"
    folder = run.folder if isinstance(run, SavedRun) else run
    return f"{folder}: must hold a {file}, which tilesim run {option} --out {folder} writes"


@checked
def write_page(path: Path | str, text: str) -> None:
    """Write a page whole, or not at all."""
    path = Path(path)
    with writing(path, "page"), all_or_nothing(path.parent) as made:
        (made / path.name).write_text(text, encoding="utf-8", newline="\n")


def _opened(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.GzipFile(path, "wb", FAST, mtime=0))
    return path.open("wb")
