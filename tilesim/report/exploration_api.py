"""The public calls on many runs: what each key of a chip is worth, and the pages of that and of sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from tilesim.api import load_topology
from tilesim.api.arguments import checked
from tilesim.errors import InputError, refuse
from tilesim.explore.row import Row
from tilesim.explore.rows.store import Store
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network
from tilesim.report.api import write_page
from tilesim.report.document import invalid
from tilesim.report.sensitivity import SensitivityDocument, must_be_sensitivity, sensitivity_document

__all__ = ["save_sensitivity", "save_sweep_report", "sensitivity"]

MOST_FAULTS = 20
"""Of rows that are none, for a message."""


@checked
def sensitivity(
    model: Network | Path | str,
    topology: Topology | Path | str,
    keys: Sequence[str] = ("*",),
    inferences: int = 1,
    store: Path | str | None = None,
    workers: int | None = None,
) -> SensitivityDocument:
    """Run a network on a chip, and again with every key of the chip a step lower and a step higher, one at a time.

    Args:
        model: a network, a .tflite, .onnx or .yaml file, or a shipped workload's name.
        topology: a chip, its file, or a shipped one's name.
        keys: names of keys, and of the options ``partition`` and ``cache``, or patterns such as ``tile.*``.
        inferences: how many run, one after the other or in batches.
        store: a file in which rows are kept, so that nothing runs twice; None: nowhere.
        workers: how many processes run them; None: one a core.

    Returns:
        Rows in plain values: ``pandas.DataFrame(sensitivity(...)["steps"])`` is a table of them. Page and pictures are
        made by :func:`save_sensitivity`.

    Raises:
        InputError: no such network, chip or key, or a network that the chip can't run as it is; a store that is none.
        RunError: the run on the chip as it is can't go on, or the store can't be written.
    """
    from tilesim.explore.api import Crew, opened
    from tilesim.explore.bench.measure import Bench
    from tilesim.explore.design.given import chip_words, network_words
    from tilesim.explore.point import Point, PointOptions
    from tilesim.explore.sensitivity import factors, measured, sweeping

    if workers is not None and workers < 1:
        raise InputError(f"the workers must be at least 1, not {workers}")
    word, network = network_words(model)
    chip, settings = chip_words(topology)
    base, networks = Point(word, chip, settings, PointOptions(inferences=inferences)), {word: network}
    stepped = factors(load_topology(chip, settings), base.options, keys)
    with opened(None if store is None else Path(store)) as rows:
        run = sweeping(rows, Bench(networks), Crew(workers).runner(networks))
        return sensitivity_document(measured(base, stepped, networks, run))


def save_sensitivity(sensitivity: SensitivityDocument, path: Path | str) -> None:
    """Write the page of what each key of a chip is worth, one HTML file that needs nothing else.

    Args:
        sensitivity: what :func:`sensitivity` has found.
        path: the file.

    Raises:
        InputError: it is no such document, or the file can't be written.
    """
    from tilesim.report.page.sensitivity import sensitivity_page

    must_be_sensitivity(sensitivity)
    write_page(path, sensitivity_page(sensitivity))


def save_sweep_report(rows: Sequence[Row] | Path | str, path: Path | str) -> None:
    """Write the page of a sweep, one HTML file that needs nothing else: how networks scale over tiles and what is lost
    on the way, maps of two keys, Pareto fronts, and every point with its command.

    Args:
        rows: the file of a sweep's store, or rows of one.
        path: the file.

    Raises:
        InputError: the store can't be read, what is given are no rows, or the file can't be written.
    """
    from tilesim.report.page.explore import exploration_page

    found = _rows(rows)
    networks = dict.fromkeys(row["network"] for row in found)
    write_page(path, exploration_page(found, f"Sweep of {', '.join(networks)}"))


def _rows(rows: Sequence[Row] | Path | str) -> Sequence[Row]:
    """Those of a store, or the given ones if they are some."""
    if isinstance(rows, str | Path):
        with Store(Path(rows), reading=True) as store:
            return store.rows()
    given = [*rows] if isinstance(rows, Sequence) else rows
    refuse(islice(invalid(list[Row], given, "rows"), MOST_FAULTS))
    return rows
