"""Energy: what the units of a machine did, times a table of what each action costs.

The table, ``energy.json``, gives every entry its source. It is of dynamic energy: what leaks, and what the clock takes,
is not in it. (Every run reads it, and YAML takes sixty times as long to read.)

Source: "Horowitz" is M. Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014, its table of
rough energies; "Eyeriss" is Chen, Emer, Sze, ISCA 2016, Table IV, whose energies are relative to one MAC of the same
word.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from msgspec import Struct, json
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, create_model

from tilesim.config import ConfigSection, load
from tilesim.sim.core.action import Action
from tilesim.statistics import ActionEnergy, EnergyByAction, EnergyStatistics, EnergyTableRow, LayerEnergy, UnitEnergy

ORDER = {action: k for k, action in enumerate(Action)}
NOT_GIVEN = "not given"
DIGITS = 6
"""Of picojoules, behind the point: what is below is noise of floating point."""


class ActionCost(Struct, frozen=True):
    """What an action costs, in picojoules, ``per`` byte or the like; and who says so, of which technology."""

    pj: float
    per: str = ""
    technology: str = NOT_GIVEN
    source: str = NOT_GIVEN


UNITS: Mapping[Action, str] = {
    Action.MAC_8X8: "MAC",
    Action.MAC_8X16: "MAC",
    Action.MAC_16X16: "MAC",
    Action.MULTIPLY_32: "multiplication",
    Action.ADD_32: "addition",
    Action.ADD_8: "addition",
    Action.LOOKUP: "lookup",
}
"""What the energy of an action is per, unless it is a byte."""

Counts: TypeAlias = NDArray[np.int64]
Table = Mapping[Action, ActionCost]
"""What every action costs."""


def unit_of(action: Action) -> str:
    """What the energy of ``action`` is per."""
    return UNITS.get(action, "byte")


def _cost_of(action: Action, section: Any) -> object:
    """What the table may say of an action: nothing, or a cost, which is per its own unit."""

    def per_unit(cost: Any) -> Any:
        if cost.per not in ("", unit_of(action)):
            raise ValueError(f"must be per {unit_of(action)}, not per {cost.per!r}")
        return cost.model_copy(update={"per": unit_of(action)})

    return Annotated[section, AfterValidator(per_unit)] | None


def _section() -> type[ConfigSection]:
    """What a file may say of an action."""
    keys: dict[str, Any] = {
        "pj": (Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False, description="energy in picojoules")], ...),
        "per": (Annotated[str, Field(description="what it is the energy of, such as a byte")], ""),
        "technology": (Annotated[str, Field(description="process and voltage that it holds for")], NOT_GIVEN),
        "source": (Annotated[str, Field(description="who says so")], NOT_GIVEN),
    }
    return create_model("ActionCostSection", __base__=ConfigSection, **keys)


@cache  # which takes as long as all of a small run, and is for files of the user's
def entries_model() -> type[ConfigSection]:
    """Actions with what they cost; those that are not given cost what they did."""
    section = _section()
    costs: dict[str, Any] = {action: (_cost_of(action, section), None) for action in Action}
    return create_model("Entries", __base__=ConfigSection, **costs)


SHIPPED = Path(__file__).with_name("energy.json")


@cache
def default_table() -> Table:
    """The table that comes with tilesim."""
    costs = json.decode(SHIPPED.read_bytes(), type=dict[Action, ActionCost])
    return {action: costs[action] for action in Action}


def load_table(path: Path) -> Table:
    """The table that comes with tilesim, with the entries of the YAML file at ``path`` instead of its own.

    Raises:
        ConfigError: faults in the file, all at once.
    """
    entries = load(path, entries_model())
    given = {action: cost for action in Action if (cost := getattr(entries, action)) is not None}
    return {**default_table(), **{action: ActionCost(**cost.model_dump()) for action, cost in given.items()}}


class Tally(Struct, frozen=True):
    """How often each of the units ``tracks`` took an ``action``, and the bytes of that, which arithmetic has none of:
    int64 (units, layers + 1), the last column for no layer.
    """

    tracks: Sequence[str]
    action: Action
    counts: Counts
    sizes_bytes: Counts


Sums: TypeAlias = dict[Action, tuple[int, int]]
"""How often each action was taken, and on how many bytes."""


def document(tallies: Iterable[Tally], layers: int) -> EnergyStatistics:
    """What ``run.json`` holds of the energy of a run of so many ``layers``, by the table that comes with tilesim."""
    units: dict[str, Sums] = defaultdict(dict)
    by_action: dict[Action, Counts] = defaultdict(lambda: np.zeros((2, layers + 1), np.int64))
    for tally in tallies:
        numbers = np.stack([tally.counts, tally.sizes_bytes])
        by_action[tally.action] += numbers.sum(axis=1)
        for track, *sums in zip(tally.tracks, *numbers.sum(axis=2).tolist(), strict=True):
            _add(units[track], tally.action, *sums)
    of_layers: list[Sums] = [{} for _ in range(layers + 1)]
    total: Sums = {}
    for action, numbers in by_action.items():
        _add(total, action, *numbers.sum(axis=1).tolist())
        for of_layer, sums in zip(of_layers, numbers.T.tolist(), strict=True):
            _add(of_layer, action, *sums)
    return _document(sorted((track, sums) for track, sums in units.items() if sums), of_layers, total, default_table())


def _add(sums: Sums, action: Action, count: int, size_bytes: int) -> None:
    if count or size_bytes:
        before = sums.get(action, (0, 0))
        sums[action] = before[0] + count, before[1] + size_bytes


def priced(energy: EnergyStatistics, table: Table) -> EnergyStatistics:
    """An energy document with what its actions cost by another ``table``."""
    units = [(unit["track"], _sums(unit["actions"])) for unit in energy["units"]]
    layers = [_sums(layer["actions"]) for layer in (*energy["layers"], energy["outside_layers"])]
    return _document(units, layers, _sums(energy["actions"]), table)


def _sums(actions: EnergyByAction) -> Sums:
    return {Action(name): (action["count"], action["bytes"]) for name, action in actions.items()}


def _document(units: Iterable[tuple[str, Sums]], layers: Iterable[Sums], total: Sums, table: Table) -> EnergyStatistics:
    """``layers``: the last one is none."""
    *of_layers, outside = (_of_layer(sums, table) for sums in layers)
    actions = _priced(total, table)
    return {
        "table": {str(action): _row(table[action]) for action in Action if action in table},
        "units": [*_of_units(units, table)],
        "layers": of_layers,
        "outside_layers": outside,
        "actions": actions,
        "total_pj": _sum(actions),
    }


def _row(entry: ActionCost) -> EnergyTableRow:
    return {"pj": entry.pj, "per": entry.per, "technology": entry.technology, "source": entry.source}


def _of_units(units: Iterable[tuple[str, Sums]], table: Table) -> Iterator[UnitEnergy]:
    """Those that did the same, as most of a kind do, are worked out once."""
    known: dict[tuple[object, ...], tuple[EnergyByAction, float]] = {}
    for track, sums in units:
        did = tuple(sums.items())
        if did not in known:
            actions = _priced(sums, table)
            known[did] = actions, _sum(actions)
        actions, pj = known[did]
        yield {"track": track, "actions": {name: cost.copy() for name, cost in actions.items()}, "pj": pj}


def _of_layer(sums: Sums, table: Table) -> LayerEnergy:
    actions = _priced(sums, table)
    return {"actions": actions, "total_pj": _sum(actions)}


def _priced(sums: Sums, table: Table) -> EnergyByAction:
    """The actions in the order of :class:`~tilesim.sim.core.action.Action`."""
    return {str(action): _cost(*sums[action], table[action]) for action in sorted(sums, key=ORDER.__getitem__)}


def _cost(count: int, size_bytes: int, entry: ActionCost) -> ActionEnergy:
    amount = size_bytes if entry.per == "byte" else count
    return {"count": count, "bytes": size_bytes, "pj": round(entry.pj * amount, DIGITS)}


def _sum(actions: EnergyByAction) -> float:
    return round(float(sum([action["pj"] for action in actions.values()])), DIGITS)
