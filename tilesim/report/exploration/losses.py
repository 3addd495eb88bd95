"""What is lost where a chip has more tiles: why it is not as many times as fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilesim.explore.row import MeasuredLayer, Measures
from tilesim.machines.description import Description, Lost


@dataclass(frozen=True)
class LossWords:
    """What cycles are lost to, for a chart and for its legend."""

    words: str
    meaning: str


LOSSES: Mapping[Lost, LossWords] = {
    "remainder": LossWords(
        "remainder of the cut",
        "MAC arrays compute longer for the same MACs: parts of maps are not alike, or fill the lanes less",
    ),
    "unused": LossWords("tiles left out", "as many tiles as the layer that is on the most has no part for"),
    "halo": LossWords("halo", "waits for borders between the parts of maps, which the mesh brings or fills"),
    "parameters": LossWords("parameters", "waits for rows in layers whose parameters come from elsewhere"),
    "bus": LossWords("bus", "waits for other rows, for the host's inputs and for instructions"),
    "ports": LossWords("memory ports", "waits for memory ports, and for outputs to be written"),
    "tile": LossWords("within the tile", "waits for other work of the same tile"),
    "serial": LossWords("serial layers", "no work: layers run on other tiles only, in between or as the last ones"),
    "idle": LossWords("idle", "no work for any other reason: nothing is left to do"),
    "other": LossWords("other", "what the machine does not tell of"),
}
"""In the order in which they are shown."""

Spent = Mapping[Lost, float]
"""Cycles of the average MAC array by what they would be lost to; together they are the run's."""


@dataclass(frozen=True)
class Waterfall:
    """From the cycles that a run would take were it faster by as much as it has more tiles, to those that it takes."""

    ideal: float
    parts: dict[Lost, float]
    """What adds up to the difference; what fewer cycles go into than ideal is negative."""
    actual: float

    @property
    def largest(self) -> list[tuple[Lost, float]]:
        """Those that cost cycles, the largest first."""
        return sorted(((name, part) for name, part in self.parts.items() if part > 0), key=lambda one: -one[1])


def waterfall(one: Measures, other: Measures, description: Description) -> Waterfall:
    """What was lost from a run to another of the same network, on a chip with more tiles of the same kind.

    With C cycles on T tiles, B(c) of which the average tile spends on c: the loss C₂ - C₁·T₁/T₂ is the sum of
    (B₂(c)·T₂ - B₁(c)·T₁)/T₂ over all c: what all tiles together spend more on c, by tiles.
    """
    ratio = one["tiles"] / other["tiles"]
    before, after = spent(one, description), spent(other, description)
    parts = {name: after[name] - before[name] * ratio for name in LOSSES}
    return Waterfall(one["cycles"] * ratio, parts, other["cycles"])


def spent(measures: Measures, description: Description) -> Spent:
    """The cycles of a run by what they would be lost to.

    Source: assumption: waits for rows in a layer some of whose parameters are sent are for these, and tiles
    without work behind the last of the widest layers wait for the narrower ones after it as long as these take.
    """
    found: dict[Lost, float] = dict.fromkeys(LOSSES, 0.0)
    outside = dict(measures["breakdown"])
    for layer in measures["layers"]:
        for cause, cycles in layer["breakdown"].items():
            outside[cause] = outside.get(cause, 0.0) - cycles
        for name, cycles in by_loss(layer, description).items():
            found[name] += cycles
    for cause, cycles in outside.items():
        name = _loss(cause, False, description)
        parts = _idle(measures, cycles, description) if name == "idle" else {name: cycles}
        for part, share in parts.items():
            found[part] += share
    return found


def by_loss(layer: MeasuredLayer, description: Description) -> dict[Lost, float]:
    """The cycles of a layer; those in which tiles have nothing to do go before it, into layers on other tiles."""
    sent = any(home in description.sent_parameters for home in layer["parameters"].split(" and "))
    found: dict[Lost, float] = {}
    for cause, cycles in layer["breakdown"].items():
        name = _loss(cause, sent, description)
        name = "serial" if name == "idle" else name
        found[name] = found.get(name, 0.0) + cycles
    return found


def _loss(cause: str, sent: bool, description: Description) -> Lost:
    told = description.causes.get(cause)
    if told is None:
        return "other"
    return told.lost_if_sent if sent and told.lost_if_sent else told.lost


def _idle(measures: Measures, cycles: float, description: Description) -> dict[Lost, float]:
    """The cycles without work that belong to no layer: those of tiles that the widest layer leaves out; those behind
    the last of the widest layers, as long as narrower ones run; and the rest.
    """
    tiles, layers = measures["tiles"], measures["layers"]
    widest = max((layer["tiles"] for layer in layers), default=tiles)
    unused = min(cycles, measures["cycles"] * (tiles - widest) / tiles)
    serial = min(cycles - unused, _others_wait(layers, widest, description))
    return {"unused": unused, "serial": serial, "idle": cycles - unused - serial}


def _others_wait(layers: list[MeasuredLayer], widest: int, description: Description) -> float:
    """Cycles of the average tile in which those of the widest layers wait for the narrower ones at the end."""
    last = max((k for k, layer in enumerate(layers) if layer["tiles"] == widest), default=0)
    at_end = [layer for layer in layers[last + 1 :] if layer["tiles"]]
    return sum(
        sum(worked(layer, description).values()) * (widest - layer["tiles"]) / layer["tiles"] for layer in at_end
    )


def worked(layer: MeasuredLayer, description: Description) -> dict[Lost, float]:
    """Cycles of the average MAC array of the chip that went into a layer, but for those without work."""
    return {name: cycles for name, cycles in by_loss(layer, description).items() if name != "serial"}


def bound_by(layer: MeasuredLayer, description: Description) -> str:
    """The cause that most of the cycles of :func:`worked` went into; there must be some."""
    breakdown = layer["breakdown"]
    causes = [cause for cause in breakdown if _loss(cause, False, description) != "idle"]
    return max(causes, key=lambda cause: breakdown[cause])
