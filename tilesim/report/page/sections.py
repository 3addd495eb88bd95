"""The sections of a run's page, in the order in which they stand there; the long ones are modules beside this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from operator import itemgetter
from typing import Any

import numpy as np

from tilesim.errors import InputError
from tilesim.report.analysis import batching, stall_free
from tilesim.report.analysis.bottleneck import verdict
from tilesim.report.analysis.layers import beside, causes, computes, costs, definitions, layers, short_cause, total
from tilesim.report.analysis.roofline import DEFINITION, Roofline, rooflines
from tilesim.report.document import RUN_FILE, SavedRun
from tilesim.report.page.build import PageSection, page
from tilesim.report.page.contention import contention
from tilesim.report.page.findings import findings
from tilesim.report.page.floorplan import floorplan
from tilesim.report.page.instructions import instructions
from tilesim.report.page.matrix import matrix
from tilesim.report.page.path import path
from tilesim.report.page.rotation import rotation
from tilesim.report.page.timeline import timeline
from tilesim.report.words import cause_words, end_words, instant_words
from tilesim.statistics import RunStatistics
from tilesim.units import format_bytes, format_hertz, format_seconds

NO_LAYERS = "This program has no layers: nobody compiled it from a network."
NO_MACS = "There is no roofline: no layer of this program does MACs."
NO_ROOFS = "There is no roofline: the {} machine names no peak rates of its chips."
BATCH_SCRIPTS = ("batching_plot.js", "batching.js")
BATCH_COLUMNS = ("layer", "first", "count", "start_cycle", "end_cycle", "buffer_bytes")


def report(run: SavedRun) -> str:
    """The whole page of a run, as HTML.

    Raises:
        InputError: statistics that a section can make nothing of.
    """
    statistics = run.statistics
    title = f"{statistics['network']} on {statistics['topology']}"
    instant = f"; {words}" if (words := instant_words(statistics)) else ""
    ended = f"; the run {end_words(statistics['end'])}" if "end" in statistics else ""
    cycles = f"{statistics['cycles']:,} cycles at {format_hertz(statistics['clock_hz'])}"
    subtitle = f"{cycles}, as tilesim simulated them{instant}{ended}"
    try:
        return page(title, subtitle, sections(run))
    except InputError as error:
        raise InputError(f"{run.folder / RUN_FILE}: {fault}" for fault in error.faults) from None


def sections(run: SavedRun) -> list[PageSection]:
    """All that have anything to say of the run."""
    made = [section(run) for section in SECTIONS]
    return [section for section in made if section is not None]


def overview(run: SavedRun) -> PageSection:
    """What the run is bound by, and the figures that every run has, each with its name and what it means."""
    figures = [{"name": name, "value": value, "meaning": meaning} for name, value, meaning in _figures(run.statistics)]
    found = verdict(run.statistics, run.path)
    bottleneck = found and {
        "sentences": found.sentences, "from": found.cycles.start, "to": found.cycles.stop, "track": found.track,
    }  # fmt: skip
    return PageSection("overview", "Overview", {"verdict": bottleneck, "figures": figures})


def _figures(run: RunStatistics) -> Iterator[tuple[str, str, str]]:
    """Cycles, time, rate, use of the MACs, and the largest cost."""
    whose = "one inference" if run["inferences"] == 1 else f"the first of {run['inferences']:,} inferences"
    if "end" in run:
        yield "cycles", f"{run['cycles']:,}", f"up to where the run stood: it {end_words(run['end'])}"
        return
    yield "cycles", f"{run['cycles']:,}", "from the first activation in to the last output out"
    yield "latency", format_seconds(run["latency_us"] / 1e6), f"{whose} at {format_hertz(run['clock_hz'])}"
    yield "loading", f"{run['load_cycles']:,}", "cycles that bring the parameters to the chip, once, before"
    if not run["macs"] and not run["layers"] and not any(computes(cause, run) for cause in run["breakdown"]):
        return  # of bare transfers there is nothing to say of MACs
    useful = f"{run['macs']:,} useful ones; with all arrays full, 100 %"
    yield "MACs in use", f"{run['mac_utilisation']:.1%}", useful
    for cycles, what in costs(run)[:1]:
        yield "largest cost", f"{cycles / max(1, run['cycles']):.0%}", f"of the MAC arrays' cycles: {what}"


def batches(run: SavedRun) -> PageSection | None:
    """What lies in the unified buffer over time, and which layer runs when, of a run that has batches."""
    statistics = run.statistics
    of_run = statistics.get("batching")
    if not of_run:
        return None
    weights = f"{of_run['weight_set_loads']:,}, {format_bytes(of_run['weight_bytes'])}"
    figures = {
        "schedule": batching.schedule_words(of_run["schedule"]),
        "batches": f"{len(of_run['steps']):,}",
        "weight sets": weights,
        "largest footprint": format_bytes(of_run["peak_buffer_bytes"]),
        "latency of the first": f"{of_run['latency_first_cycles']:,} cycles",
        "latency of the last": f"{of_run['latency_last_cycles']:,} cycles",
    }
    data = {
        "cycles": statistics["cycles"],
        "figures": [{"name": name, "value": value} for name, value in figures.items()],
        "lanes": [lane._asdict() for lane in batching.batch_lanes(statistics["layers"], of_run["steps"])],
        "definition": batching.DEFINITION,
    }
    points = np.array(batching.footprint(of_run["steps"]), np.int64).reshape(-1, 2)
    steps = np.array([*map(itemgetter(*BATCH_COLUMNS), of_run["steps"])], np.int64).reshape(-1, len(BATCH_COLUMNS))
    columns = {**dict(zip(BATCH_COLUMNS, steps.T, strict=True)), "cycle": points[:, 0], "bytes": points[:, 1]}
    return PageSection("batching", "Batches", data, columns, BATCH_SCRIPTS)


def layer_table(run: SavedRun) -> PageSection:
    """The layers, a row each; with what is beside them, they add up to the run."""
    statistics = run.statistics
    of_layers = layers(statistics)
    rest, whole = beside(statistics, of_layers), total(statistics)
    data = {
        "layers": [asdict(layer) for layer in of_layers],
        "beside": asdict(rest),
        "run": asdict(whole),
        "buses": list(whole.entered),
        "networks": len({layer.network for layer in of_layers}),
        "causes": [_cause(cause, meaning, statistics) for cause, meaning in causes(statistics).items()],
        "definitions": definitions(statistics),
        "note": "" if of_layers else NO_LAYERS,
    }
    return PageSection("layers", "Layers", data)


def roofline(run: SavedRun) -> PageSection:
    """The rooflines with the layers on them, one for each intensity that any layer has."""
    lines, meanings = rooflines(run.statistics, layers(run.statistics)), causes(run.statistics)
    bounds = dict.fromkeys(dot.layer.bound_by or "" for line in lines[:1] for dot in line.dots)
    data = {
        "rooflines": [_roofline(line) for line in lines],
        "causes": [_cause(cause, meanings.get(cause, cause_words(cause)), run.statistics) for cause in bounds],
        "definition": DEFINITION,
        "note": "" if lines else NO_ROOFS.format(run.statistics["machine"]) if run.statistics["macs"] else NO_MACS,
    }
    return PageSection("roofline", "Roofline", data)


def _roofline(line: Roofline) -> dict[str, Any]:
    return {
        "words": line.words,
        "peaks": [asdict(peak) for peak in line.peaks],
        "roof": asdict(line.roof),
        "dots": [
            {
                "index": dot.layer.index, "name": dot.layer.name, "kind": dot.layer.kind, "macs": dot.layer.macs,
                "bytes": dot.bytes, "start": dot.layer.start_cycle,
                "cycles": dot.layer.cycles, "bound_by": dot.layer.bound_by or "",
                "bound_words": dot.layer.bound_words, "intensity": dot.intensity,
                "achieved": dot.achieved,
                "attainable": None if dot.intensity is None else line.attainable(dot.intensity),
            }
            for dot in line.dots
        ],
    }  # fmt: skip


def _cause(cause: str, meaning: str, statistics: RunStatistics) -> dict[str, str]:
    return {"name": cause, "words": short_cause(cause, statistics), "sentence": meaning}


def stall_free_table(run: SavedRun) -> PageSection | None:
    """A systolic run's layers beside SCALE-Sim's count; none where no dense layer ran on a systolic array."""
    rows = [{**asdict(row), "ours": row.ours, "stall_free": row.stall_free} for row in stall_free.rows(run.statistics)]
    data = {"rows": rows, "definitions": stall_free.DEFINITIONS, "note": stall_free.NOTE}
    return PageSection("stall_free", "Beside a stall-free count", data) if rows else None


SECTIONS: tuple[Callable[[SavedRun], PageSection | None], ...] = (
    findings,
    overview,
    timeline,
    path,
    floorplan,
    rotation,
    instructions,
    matrix,
    contention,
    batches,
    layer_table,
    roofline,
    stall_free_table,
)
"""Each makes a section out of a run, if it has anything to say of it."""
