"""What of a chip of tiles is where, and what run.json alone says of it; findings at their stops of the ring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilesim.findings import Finding, sentence
from tilesim.report.analysis.spans import Words
from tilesim.report.tracks import accounts_of, master_hue, masters_of, stacked
from tilesim.sim.core.unit import BUSY
from tilesim.sim.trace.trace import Trace
from tilesim.statistics import RunStatistics, UnitStatistics

MOST_TILES = 1024
"""Of more tiles nothing would be seen in a picture of a page's width."""
MEMORY_PORTS = ("narrow_read", "narrow_write", "wide_read", "wide_write")
"""The actions that are accesses to a tile's memories."""


@dataclass(frozen=True)
class Grid:
    """Tiles in rows and columns, numbered row by row."""

    rows: int
    columns: int

    @property
    def tiles(self) -> int:
        return self.rows * self.columns


def grid_of(statistics: RunStatistics) -> Grid | None:
    """The grid of a chip that has tiles on a ring and on a mesh, few enough to draw; None of any other."""
    grid = statistics["chip"].get("grid")
    sides = [grid.get(key) for key in ("rows", "columns")] if isinstance(grid, dict) else []
    counted = [side for side in sides if type(side) is int and side > 0]
    on_ring = any(link["track"].startswith("chip.ring.") for link in statistics["links"])
    if not on_ring or len(counted) != 2 or counted[0] * counted[1] > MOST_TILES:
        return None
    return Grid(*counted)


def ring_nodes(grid: Grid) -> list[str]:
    """The nodes of the ring in its order, as findings name them; link k leads from node k to the next."""
    return ["source", *(f"tile {tile}" for tile in range(grid.tiles)), "classifier", "sink"]


def bytes_a_cycle(statistics: RunStatistics) -> dict[str, float]:
    """The most bytes that a link of each bus can carry in a cycle; of buses of which the chip does not say it, none. Of
    the host's link, of which a way may have so many a second, that of the faster way.
    """
    keys = {
        "ring": ("ring.width_bytes", "wide_memory.row_bytes"),  # the latter in runs of earlier versions
        "mesh": ("mesh.width_bytes", "narrow_memory.word_bytes"),
        "instruction_bus": ("instruction_bus.width_bytes",),
        "host": ("host.bytes_per_cycle",),
    }
    given = {bus: (count_of(statistics["chip"], key) for key in either) for bus, either in keys.items()}
    found: dict[str, float] = {bus: next(filter(None, values), 0) for bus, values in given.items()}
    ways = [count_of(statistics["chip"], f"host.{way}_chip_bytes_per_second") for way in ("to", "from")]
    if any(ways):
        found["host"] = max(way / statistics["clock_hz"] or found["host"] for way in ways)
    return {bus: value for bus, value in found.items() if value}


def count_of(chip: Mapping[str, Any], key: str) -> int:
    """The number under a chip's key, such as ``host.bytes_per_cycle``; 0 where there is none."""
    section, name = key.split(".")
    inner = chip.get(section)
    value = inner.get(name) if isinstance(inner, dict) else None
    return value if type(value) is int else 0


def memory_accesses(statistics: RunStatistics, grid: Grid) -> Words | None:
    """How often each port of each tile's memories was used in the whole run, (tile, port of ``MEMORY_PORTS``); None
    where the run has not counted it.
    """
    energy = statistics.get("energy")
    if not energy:
        return None
    counts = np.zeros((grid.tiles, len(MEMORY_PORTS)), np.int64)
    tiles = {f"tile{tile}": tile for tile in range(grid.tiles)}
    for unit in energy["units"]:
        tile = tiles.get(([*unit["track"].split("."), ""])[1])
        if tile is not None:
            counts[tile] += [unit["actions"].get(port, {"count": 0})["count"] for port in MEMORY_PORTS]
    return counts


# ---- units by run.json, where no trace tells of them


@dataclass(frozen=True)
class Accounts:
    """The account of every unit and link of a run: ``cycles`` is (kind, track); ``bytes`` are those that links carried,
    -1 of units, of which run.json does not say it.
    """

    tracks: tuple[str, ...]
    kinds: tuple[str, ...]
    cycles: Words
    bytes: Words


def unit_accounts(statistics: RunStatistics) -> Accounts:
    """All of a run."""
    units = accounts_of(statistics)
    kinds = stacked({BUSY, *(f"stall:{reason}" for unit in units for reason in unit["stall_cycles"])})
    cycles = [[_cycles(unit, kind) for unit in units] for kind in kinds]
    carried = {link["track"]: link["bytes"] for link in statistics["links"]}
    tracks = tuple(unit["track"] for unit in units)
    moved = np.array([carried.get(track, -1) for track in tracks], np.int64)
    return Accounts(tracks, tuple(kinds), np.array(cycles, np.int64).reshape(len(kinds), len(units)), moved)


def _cycles(unit: UnitStatistics, kind: str) -> int:
    return unit["busy_cycles"] if kind == BUSY else unit["stall_cycles"].get(kind.removeprefix("stall:"), 0)


def is_complete(statistics: RunStatistics, trace: Trace) -> bool:
    """Whether a trace has every cycle of every unit in which it did something or waited."""
    begin = np.maximum(trace.start_cycle - trace.start, 0)
    end = np.minimum(trace.start_cycle - trace.start + trace.cycles, statistics["cycles"])
    sums = np.bincount(trace.track, np.maximum(end - begin, 0), len(trace.tracks))
    traced = dict(zip(trace.tracks, sums.tolist(), strict=True))
    return all(
        traced.get(unit["track"], 0) == unit["busy_cycles"] + sum(unit["stall_cycles"].values())
        for unit in accounts_of(statistics)
    )


# ---- findings


@dataclass(frozen=True)
class PlacedFinding:
    """A finding as the ring shows it: at the node ``stop``; ``occupied`` are the nodes of each of its ``masters``."""

    kind: str
    sentence: str
    section: str
    cycle: int
    stop: int
    masters: tuple[str, ...]
    instructions: tuple[str, ...]
    occupied: tuple[tuple[int, ...], ...]


def placed_findings(statistics: RunStatistics, grid: Grid) -> list[PlacedFinding]:
    """The findings that have a stop of the ring, in the order of the run."""
    nodes = {name: node for node, name in enumerate(ring_nodes(grid))}
    return [_placed(finding, nodes) for finding in statistics.get("findings", []) if finding.get("stop") in nodes]


def masters(statistics: RunStatistics, grid: Grid) -> dict[str, str]:
    """The colours of the nodes that may send, by the names that findings and packets have for them."""
    numbers = masters_of(statistics)
    units = {name: "infeed" if name == "source" else name for name in ring_nodes(grid)}
    return {name: master_hue(numbers[unit]) for name, unit in units.items() if unit in numbers}


def _placed(finding: Finding, nodes: Mapping[str, int]) -> PlacedFinding:
    return PlacedFinding(
        finding["kind"],
        sentence(finding),
        finding.get("section", "run"),
        finding.get("cycle", -1),
        nodes[finding["stop"]],
        tuple(_masters(finding)),
        tuple(finding.get("instructions") or ([finding["instruction"]] if "instruction" in finding else [])),
        tuple(tuple(nodes[name] for name in names if name in nodes) for names in finding.get("nodes", [])),
    )


def _masters(finding: Finding) -> Iterator[str]:
    yield from finding.get("masters", [])
    if "master" in finding:
        yield finding["master"]
    yield from (part["master"] for part in finding.get("rows", []))
