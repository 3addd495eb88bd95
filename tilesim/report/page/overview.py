"""The run in a few figures."""

from __future__ import annotations

from typing import NamedTuple

from tilesim.report.costs import costs
from tilesim.report.document import SavedRun
from tilesim.report.page.build import Section
from tilesim.units import format_seconds


class Figure(NamedTuple):
    """A number with its name and what it means."""

    name: str
    value: str
    meaning: str


def overview(run: SavedRun) -> Section:
    """The section of the figures that every run has."""
    return Section("overview", "Overview", [figure._asdict() for figure in figures(run)])


def figures(run: SavedRun) -> list[Figure]:
    """Cycles, time, rate, use of the MACs, and the largest cost."""
    run_ = run.statistics
    whose = "one inference" if run_["inferences"] == 1 else f"the first of {run_['inferences']:,} inferences"
    shown = [
        Figure("cycles", f"{run_['cycles']:,}", "from the first activation in to the last output out"),
        Figure("latency", format_seconds(run_["latency_us"] / 1e6), f"{whose} at {run_['clock_hz'] / 1e6:,g} MHz"),
        Figure("loading", f"{run_['load_cycles']:,}", "cycles that bring the parameters to the chip, once, before"),
        Figure(
            "MACs in use",
            f"{run_['mac_utilisation']:.1%}",
            f"{run_['macs']:,} useful ones; with all arrays full, 100 %",
        ),
    ]
    if largest := costs(run_)[:1]:
        share = largest[0].cycles / max(1, run_["cycles"])
        shown.append(Figure("largest cost", f"{share:.0%}", f"of the MAC arrays' cycles: {largest[0].what}"))
    return shown
