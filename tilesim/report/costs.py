"""Where the time of a run went, as seen from the MAC arrays, the part that a chip is built around."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tilesim.registry import description_of
from tilesim.report.words import kind_words
from tilesim.statistics import LayerStatistics, RunStatistics, UnitStatistics


@dataclass(frozen=True)
class Cost:
    """``cycles`` of a run that its MAC arrays spent on one thing, on average."""

    cycles: int
    what: str


def mac_arrays(statistics: RunStatistics) -> list[UnitStatistics]:
    """The accounts of all MAC arrays; none of a machine that does not say which they are."""
    ending = description_of(statistics["machine"]).mac_arrays
    return [unit for unit in statistics["units"] if ending and unit["track"].endswith(ending)]


def working(statistics: RunStatistics) -> list[UnitStatistics]:
    """The accounts of the MAC arrays that have anything to do."""
    return [unit for unit in mac_arrays(statistics) if unit["busy_cycles"]]


def wait_words(cause: str, statistics: RunStatistics) -> str:
    """What MAC arrays wait for in the cycles that a ``cause`` has; nothing where they compute."""
    known = description_of(statistics["machine"]).causes.get(cause)
    return known.wait if known else f"waiting for {cause}"


def computes(cause: str, statistics: RunStatistics) -> bool:
    """Whether MAC arrays compute in the cycles that a ``cause`` has."""
    return not wait_words(cause, statistics)


def costs(statistics: RunStatistics) -> list[Cost]:
    """Everything that the cycles of the run went into, the largest first; together they are the run."""
    arrays, totals = mac_arrays(statistics), Counter[str]()
    for cause, cycles in statistics["breakdown"].items():
        if wait := wait_words(cause, statistics):
            totals[wait] += cycles
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
