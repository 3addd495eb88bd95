"""Which layers stop scaling where: each layer of a network on the chips of a series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilesim.explore.row import MeasuredLayer, Measures, Row
from tilesim.machines.description import Description, Lost
from tilesim.registry import description_of
from tilesim.report.exploration.losses import LOSSES, bound_by, worked
from tilesim.report.exploration.scaling import Series, knee_of


@dataclass(frozen=True)
class LayerOnChip:
    """A layer in one run."""

    tiles: int
    """On how many it ran."""
    cycles: float
    """What the average one of these tiles spent on it, waits included, but not those for layers on other tiles only."""
    lost: Mapping[Lost, float]
    """What the average tile of the chip spent on it, by what that would be lost to."""
    bound_by: str
    """The cause that most of its cycles went into."""
    energy_pj: float


@dataclass(frozen=True)
class LayerScaling:
    """A layer on all chips of a series."""

    name: str
    kind: str
    chips: tuple[LayerOnChip | None, ...]
    """None where the run does not have it, or its tiles spent nothing on it."""
    knee: int
    """The place of the chip beyond which more tiles are not worth it for this layer, as
    :func:`tilesim.report.exploration.scaling.knee_of` says it.
    """
    held_by: Lost | None
    """What most is lost to from the knee to the next chip; None where there is none."""


def held_words(loss: Lost) -> str:
    """What holds a layer, in words."""
    return "no parts for more tiles" if loss == "serial" else LOSSES[loss].words


def layer_scaling(rows: Sequence[Row], series: Series) -> list[LayerScaling]:
    """The layers that tiles spend cycles on, in the order of the network.

    Layers are the same whose name and kind are, the k-th with the k-th of those.
    """
    description = description_of(series.machine)
    runs = [_numbered(measures, description) for one in series.rows if (measures := rows[one.row]["measures"])]
    keys = dict.fromkeys(key for run in runs for key in run)
    return [_layer(key, [run.get(key) for run in runs], description) for key in keys]


@dataclass(frozen=True)
class _Worked:
    """A layer that the tiles of a chip spend cycles on."""

    layer: MeasuredLayer
    all_tiles: int
    spent: Mapping[Lost, float]
    """Cycles of the average tile of the chip."""

    def own(self, cycles: float) -> float:
        """Cycles of the average tile of the chip as those of the average tile that the layer is on."""
        return cycles * self.all_tiles / self.layer["tiles"]

    @property
    def cycles(self) -> float:
        return self.own(sum(self.spent.values()))


def _numbered(measures: Measures, description: Description) -> dict[tuple[str, str, int], _Worked]:
    before: Counter[tuple[str, str]] = Counter()
    layers: dict[tuple[str, str, int], _Worked] = {}
    for layer in measures["layers"]:
        name = (layer["name"], layer["kind"])
        if layer["tiles"] and sum((spent := worked(layer, description)).values()) > 0:
            layers[*name, before[name]] = _Worked(layer, measures["tiles"], spent)
        before[name] += 1
    return layers


def _layer(key: tuple[str, str, int], runs: Sequence[_Worked | None], description: Description) -> LayerScaling:
    there = [(place, run) for place, run in enumerate(runs) if run]
    at_knee = knee_of([(run.all_tiles, run.cycles) for _, run in there])
    knee, beyond = there[at_knee], there[at_knee + 1 : at_knee + 2]
    chips = tuple(_on_chip(run, description) if run else None for run in runs)
    return LayerScaling(key[0], key[1], chips, knee[0], _held_by(knee[1], beyond[0][1]) if beyond else None)


def _on_chip(run: _Worked, description: Description) -> LayerOnChip:
    layer = run.layer
    return LayerOnChip(layer["tiles"], run.cycles, run.spent, bound_by(layer, description), layer["energy_pj"])


def _held_by(one: _Worked, other: _Worked) -> Lost:
    """What most of the cycles of a layer's own tiles are lost to; ``serial`` where they have no fewer MACs each because
    the layer has no parts for more tiles.
    """
    lost: dict[Lost, float] = dict.fromkeys((*one.spent, *other.spent), 0.0)
    for name, cycles in other.spent.items():
        lost[name] += other.own(cycles)
    for name, cycles in one.spent.items():
        lost[name] -= one.own(cycles) * one.all_tiles / other.all_tiles
    largest = max(lost, key=lambda name: lost[name])
    narrower = other.layer["tiles"] * one.all_tiles < one.layer["tiles"] * other.all_tiles
    return "serial" if largest == "remainder" and narrower else largest
