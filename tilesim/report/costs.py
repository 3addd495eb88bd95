"""Where the time of a run went, as seen from the MAC arrays, the part that a chip is built around."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tilesim.statistics import LayerStatistics, RunStatistics, UnitStatistics

KINDS = {
    "averagepool": "average pool",
    "depthwiseconvolution": "depthwise",
    "fullyconnected": "fully connected",
    "maxpool": "max pool",
    "resizenearest": "nearest resize",
}
"""Kinds of layers whose names in the statistics are not yet words."""
SHORT = {
    "averagepool": "avg pool",
    "concatenation": "concat",
    "convolution": "conv",
    "depthwiseconvolution": "dw conv",
    "dequantise": "dequant",
    "fullyconnected": "FC",
    "resizenearest": "resize",
}
"""Those whose words are too long for a column of a table."""

MACS = ("macs", "useful MACs", "unused MACs")
"""What the cycles of a busy MAC array are called; of a systolic one by how many of its cells work for a layer."""
ARRAYS = (".mac_array", ".matrix")
"""How the tracks of MAC arrays end: those of tiles, and a systolic one."""
WAITS = {
    "output write": "waiting for outputs to be written",
    "port": "waiting for a memory port",
    "mesh": "waiting for borders, which the mesh brings or fills",
    "ring": "waiting for rows that come over the ring",
    "host": "waiting for the host's inputs",
    "instruction bus": "waiting for an instruction",
    "flags": "waiting for other work of the tile",
    "no work": "without work: layers on other tiles only, or none left",
    "weight stall": "waiting for weights from weight memory",
    "weight shift": "waiting for weights to be shifted in",
    "RAW stall": "waiting for results of layers before",
    "input stall": "waiting for the host's inputs",
    "other": "without work: other units are at work, or instructions come",
}
"""What bounds a layer, beside its MACs, in words."""


@dataclass(frozen=True)
class Cost:
    """``cycles`` of a run that its MAC arrays spent on one thing, on average."""

    cycles: int
    what: str


def kind_words(kind: str) -> str:
    """A kind of layer in words: ``fullyconnected`` is ``fully connected``."""
    return KINDS.get(kind, kind)


def kind_word(kind: str) -> str:
    """A kind of layer for a column of a table: ``fullyconnected`` is ``FC``."""
    return SHORT.get(kind, kind_words(kind))


def cause_words(cause: str | None) -> str:
    """What bounds a layer, for a table."""
    return "MACs" if cause in MACS[:2] else cause or "-"


def mac_arrays(statistics: RunStatistics) -> list[UnitStatistics]:
    """The accounts of all MAC arrays."""
    return [unit for unit in statistics["units"] if unit["track"].endswith(ARRAYS)]


def working(statistics: RunStatistics) -> list[UnitStatistics]:
    """The accounts of the MAC arrays that have anything to do."""
    return [unit for unit in mac_arrays(statistics) if unit["busy_cycles"]]


def costs(statistics: RunStatistics) -> list[Cost]:
    """Everything that the cycles of the run went into, the largest first; together they are the run."""
    arrays = mac_arrays(statistics)
    waits = {cause: cycles for cause, cycles in statistics["breakdown"].items() if cause not in MACS}
    totals = Counter({WAITS.get(cause, f"waiting for {cause}"): cycles for cause, cycles in waits.items()})
    for what, busy in _computing(statistics["layers"]):
        totals[what] += busy
    means = (Cost(round(total / max(1, len(arrays))), what) for what, total in totals.items())
    return sorted((cost for cost in means if cost.cycles), key=lambda cost: (-cost.cycles, cost.what))


def _computing(layers: list[LayerStatistics]) -> Iterator[tuple[str, int]]:
    """For each kind of layer: words, and the cycles in which MAC arrays were busy with it."""
    for kind in dict.fromkeys(layer["kind"] for layer in layers):
        ours = [layer for layer in layers if layer["kind"] == kind and layer["mac_busy_cycles"]]
        busy = sum(layer["mac_busy_cycles"] for layer in ours)
        full = sum(layer["mac_utilisation"] * layer["cycles"] * layer["tiles"] for layer in ours)
        use = f", {full / busy:.0%} of the MACs in use" if full else ""
        yield f"computing {len(ours)} {kind_words(kind)} {'layer' if len(ours) == 1 else 'layers'}{use}", busy
