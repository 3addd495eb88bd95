"""The sections of a sweep's page on how networks scale: speed-up, what is lost, layers, energy.

Columns come in four lengths: of series; of their chips, series by series; of their layers, likewise; and of these on
chips, layer by layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesim.explore.row import Row
from tilesim.printable import printable
from tilesim.registry import description_of
from tilesim.report.exploration.layers import LayerOnChip, LayerScaling, held_words, layer_scaling
from tilesim.report.exploration.losses import LOSSES, spent
from tilesim.report.exploration.points import VariedKey, distinct, varied
from tilesim.report.exploration.scaling import KNEE, ScaledRow, Series, series
from tilesim.report.exploration.verdict import verdict
from tilesim.report.page.build import PageSection
from tilesim.report.words import cause_words, kind_words, short_name

Columns = Mapping[str, NDArray[Any]]
SHARED = ("explore_axes.js", "explore_series.js", "explore_layers_of.js")
NONE = -1


def series_sections(rows: Sequence[Row]) -> list[PageSection]:
    """How the networks scale; only that they do not, where no two points differ in nothing but tiles."""
    found = series(rows)
    if not found:
        note = "No two points that ran differ in nothing but the number of tiles, so there is no scaling to show."
        return [PageSection("explore_scaling", "Scaling", {"note": note}, scripts=(*SHARED, "explore_scaling.js"))]
    layers = [layer_scaling(rows, one) for one in found]
    return [
        _section("explore_scaling", "Scaling", _scaling(rows, found), _scaling_columns(found)),
        _section("explore_losses", "What more tiles lose", _losses(), _losses_columns(rows, found)),
        _section("explore_layers", "Layers", _layers(layers), _layers_columns(found, layers)),
        _section("explore_energy", "Energy", None, _energy_columns(rows, found, layers)),
    ]


def _section(name: str, title: str, data: Any, columns: Columns) -> PageSection:
    return PageSection(name, title, data, columns, (*SHARED, f"{name}.js"))


def _chips(found: Sequence[Series]) -> list[ScaledRow]:
    return [chip for one in found for chip in one.rows]


def _codes(values: Iterable[str], known: Sequence[str]) -> NDArray[np.int64]:
    place = {value: code for code, value in enumerate(known)}
    return np.array([place.get(value, NONE) for value in values], np.int64)


# ---- speed-up and efficiency


def _scaling(rows: Sequence[Row], found: Sequence[Series]) -> dict[str, Any]:
    chips = _chips(found)
    return {
        "definition": KNEE,
        "axes": [{"name": axis.key, "values": [printable(word) for word in axis.words]} for axis in _axes(found)],
        "networks": [printable(one.network) for one in found],
        "verdicts": [verdict(rows, one) for one in found],
        "shapes": distinct(chip.shape for chip in chips),
        "causes": distinct(cause_words(chip.bound_by) for chip in chips),
    }


def _axes(found: Sequence[Series]) -> list[VariedKey]:
    """In what the series differ: the network, and settings."""
    return varied([{"network": one.network, **one.settings} for one in found])


def _scaling_columns(found: Sequence[Series]) -> Columns:
    """``axis.<k>``: of each series the place of its value in the axis's values (-1: it has none)."""
    chips = _chips(found)
    return {
        **{f"axis.{k}": axis.codes for k, axis in enumerate(_axes(found))},
        "first": np.array([0, *accumulate(len(one.rows) for one in found)]),
        "knee": np.array([one.knee for one in found]),
        "tiles": np.array([chip.tiles for chip in chips]),
        "cycles": np.array([chip.cycles for chip in chips]),
        "time_us": np.array([chip.time_us for chip in chips]),
        "speed_up": np.array([chip.speed_up for chip in chips]),
        "efficiency": np.array([chip.efficiency for chip in chips]),
        "elasticity": np.array([np.nan if chip.elasticity is None else chip.elasticity for chip in chips]),
        "shape": _codes((chip.shape for chip in chips), distinct(chip.shape for chip in chips)),
        "bound_by": _codes(
            (cause_words(chip.bound_by) for chip in chips), distinct(cause_words(chip.bound_by) for chip in chips)
        ),
    }


# ---- what is lost


def _losses() -> list[dict[str, str]]:
    return [{"name": name, "words": loss.words, "meaning": loss.meaning} for name, loss in LOSSES.items()]


def _losses_columns(rows: Sequence[Row], found: Sequence[Series]) -> Columns:
    """A column for each loss: what of each chip's cycles would be lost to it."""
    parts = [
        spent(measures, description_of(one.machine))
        for one in found
        for chip in one.rows
        if (measures := rows[chip.row]["measures"])
    ]
    return {name: np.array([part[name] for part in parts]) for name in LOSSES}


# ---- layers


def _layers(found: Sequence[Sequence[LayerScaling]]) -> dict[str, Any]:
    every = [layer for layers in found for layer in layers]
    return {
        "losses": [{"name": name, "words": held_words(name)} for name in LOSSES],
        "names": distinct(layer.name for layer in every),
        "short": [short_name(name) for name in distinct(layer.name for layer in every)],
        "kinds": distinct(kind_words(layer.kind) for layer in every),
        "causes": distinct(cause_words(chip.bound_by) for chip in _on_chips(found) if chip),
    }


def _on_chips(found: Sequence[Sequence[LayerScaling]]) -> Iterator[LayerOnChip | None]:
    """All layers on all chips: series by series, layer by layer."""
    return (chip for layers in found for layer in layers for chip in layer.chips)


def _layers_columns(series: Sequence[Series], found: Sequence[Sequence[LayerScaling]]) -> Columns:
    """``layer``: where the layers of each series begin; the columns of those on chips begin as ``on_chip`` says."""
    every = [layer for layers in found for layer in layers]
    chips, told = list(_on_chips(found)), _layers(found)
    lost = dict.fromkeys(name for chip in chips if chip for name in chip.lost)
    sizes = (len(layers) * len(one.rows) for one, layers in zip(series, found, strict=True))
    return {
        "layer": np.array([0, *accumulate(map(len, found))]),
        "on_chip": np.array([0, *accumulate(sizes)]),
        "name": _codes((layer.name for layer in every), told["names"]),
        "kind": _codes((kind_words(layer.kind) for layer in every), told["kinds"]),
        "knee": np.array([layer.knee for layer in every]),
        "held_by": _codes((layer.held_by or "" for layer in every), list(LOSSES)),
        "tiles": np.array([chip.tiles if chip else 0 for chip in chips]),
        "cycles": np.array([chip.cycles if chip else np.nan for chip in chips], np.float32),
        "bound_by": _codes((cause_words(chip.bound_by) if chip else "" for chip in chips), told["causes"]),
        **{
            f"lost.{name}": np.array([chip.lost.get(name, 0.0) if chip else 0.0 for chip in chips], np.float32)
            for name in lost
        },
    }


# ---- energy


def _energy_columns(rows: Sequence[Row], found: Sequence[Series], layers: Sequence[Sequence[LayerScaling]]) -> Columns:
    """``run`` by chip; ``layer`` as the columns of layers on chips."""
    runs = [measures["energy_pj"] for chip in _chips(found) if (measures := rows[chip.row]["measures"])]
    of_layers = [chip.energy_pj if chip else np.nan for chip in _on_chips(layers)]
    return {"run": np.array(runs, np.float64), "layer": np.array(of_layers, np.float32)}
