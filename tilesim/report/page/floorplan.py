"""The floorplan's section: the chip's tiles, buses and memories where they are, and who makes what of each layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tilesim.report.analysis.floorplan import (
    MEMORY_PORTS,
    Grid,
    bytes_a_cycle,
    count_of,
    grid_of,
    is_complete,
    masters,
    memory_accesses,
    placed_findings,
    ring_nodes,
    unit_accounts,
)
from tilesim.report.analysis.ownership import layer_maps
from tilesim.report.document import SavedRun
from tilesim.report.page.build import PageSection
from tilesim.report.page.floorplan_play import played
from tilesim.report.tracks import kind_of, stacked
from tilesim.report.words import kind_words, short_name
from tilesim.statistics import RunStatistics

PARTS = ("places", "numbers", "paint", "owners", "findings", "log", "play")
SCRIPTS = (*(f"floorplan_{part}.js" for part in PARTS), "floorplan.js")
MOST_FINDINGS = 100
"""That are listed."""
UNTRACED = (
    "This run was not traced, so that only the whole run can be chosen, and not what comes over the mesh by layer."
)
UNMAPPED = "The program of this run does not say who makes which rows: compile it again with this tilesim."
NO_LAYERS = "No layer of this program is spread over tiles."


def floorplan(run: SavedRun) -> PageSection | None:
    """The section of a chip of tiles; None of another one."""
    statistics = run.statistics
    grid = grid_of(statistics)
    if grid is None:
        return None
    known, found = unit_accounts(statistics), placed_findings(statistics, grid)
    data: dict[str, Any] = {
        **asdict(grid),
        "nodes": ring_nodes(grid),
        "cycles": statistics["cycles"],
        "kinds": [{"name": kind, **kind_of(kind)._asdict()} for kind in _kinds(run, known.kinds)],
        "bytes_a_cycle": bytes_a_cycle(statistics),
        "memory_ports": list(MEMORY_PORTS),
        "wide_ports": count_of(statistics["chip"], "wide_memory.ports") or 1,
        "masters": masters(statistics, grid),
        "findings": [asdict(finding) for finding in found[:MOST_FINDINGS]],
        "found": len(found),
        "layers": list(_layers(statistics, grid)),
        "traced": run.trace is not None,
        "note": "" if run.trace else UNTRACED,
    }
    data["unmapped"] = _without_maps(data["layers"])
    data["log"], columns = played(run.signals, grid.tiles)
    accesses = memory_accesses(statistics, grid)
    if accesses is not None:
        columns["accesses"] = accesses.ravel()
    if run.trace is None or not is_complete(statistics, run.trace):
        data["tracks"] = known.tracks
        data["accounts"] = known.kinds
        columns |= {"account_cycles": known.cycles.ravel(), "account_bytes": known.bytes}
    return PageSection("floorplan", "Floorplan", data, columns, SCRIPTS)


def _kinds(run: SavedRun, known: tuple[str, ...]) -> list[str]:
    return stacked({*known, *(run.trace.kinds if run.trace else ())})


def _layers(statistics: RunStatistics, grid: Grid) -> Iterator[dict[str, Any]]:
    """The layers that the compiler has spread over tiles, with what each makes where."""
    partition, maps = statistics.get("partition"), {cut.layer: cut for cut in layer_maps(statistics, grid)}
    several = len({layer["network"] for layer in statistics["layers"]}) > 1
    for spread in partition["layers"] if partition else []:
        place = spread["layer"]
        if place >= len(statistics["layers"]):
            continue
        layer = statistics["layers"][place]
        yield {
            "place": place,
            "network": layer["network"] if several else "",
            "short": short_name(layer["name"]),
            "kind": kind_words(layer["kind"]),
            "spread": spread["choice"],
            "reason": spread["reason"],
            "bands": layer.get("bands", 1),
            "mesh": layer["bytes"].get("mesh", {"entered": 0})["entered"],
            "start": layer["start_cycle"],
            "cycles": layer["cycles"],
            "map": asdict(maps[place]) if place in maps else None,
        }


def _without_maps(layers: list[dict[str, Any]]) -> str:
    if not layers:
        return NO_LAYERS
    return "" if any(layer["map"] for layer in layers) else UNMAPPED
