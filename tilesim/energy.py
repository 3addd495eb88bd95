"""Energy: what the units of a machine did, times a table of what each action costs.

The table, ``energy.yaml``, gives every entry its source. It is of dynamic energy: what leaks, and what the clock takes,
is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from tilesim.config import ConfigSection, load
from tilesim.sim.core.action import Action
from tilesim.statistics import (
    ActionEnergy,
    EnergyByAction,
    EnergyStatistics,
    EnergyTableRow,
    LayerEnergy,
    UnitEnergy,
)

NOT_GIVEN = "not given"
DIGITS = 6
"""Of picojoules, behind the point: what is below is noise of floating point."""


class ActionCost(ConfigSection):
    """What an action costs."""

    pj: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False, description="energy in picojoules")]
    per: Annotated[str, Field(description="what it is the energy of, such as a byte")] = ""
    technology: Annotated[str, Field(description="process and voltage that it holds for")] = NOT_GIVEN
    source: Annotated[str, Field(description="who says so")] = NOT_GIVEN


class Entries(ConfigSection):
    """Actions with what they cost; those that are not given cost what they did."""

    mac_8x8: ActionCost | None = None
    mac_8x16: ActionCost | None = None
    mac_16x16: ActionCost | None = None
    multiply_32: ActionCost | None = None
    add_32: ActionCost | None = None
    add_8: ActionCost | None = None
    lookup: ActionCost | None = None
    narrow_read: ActionCost | None = None
    narrow_write: ActionCost | None = None
    wide_read: ActionCost | None = None
    wide_write: ActionCost | None = None
    data_memory_read: ActionCost | None = None
    instruction_memory_read: ActionCost | None = None
    ring_hop: ActionCost | None = None
    mesh_hop: ActionCost | None = None
    instruction_hop: ActionCost | None = None
    host_transfer: ActionCost | None = None
    buffer_read: ActionCost | None = None
    buffer_write: ActionCost | None = None
    accumulator_read: ActionCost | None = None
    accumulator_write: ActionCost | None = None
    weight_memory_read: ActionCost | None = None
    cell_hop: ActionCost | None = None

    @field_validator("*")
    @classmethod
    def _unit_is_the_actions_own(cls, entry: ActionCost | None, info: ValidationInfo) -> ActionCost | None:
        unit = unit_of(Action(str(info.field_name)))
        if entry is not None and entry.per not in ("", unit):
            raise ValueError(f"must be per {unit}, not per {entry.per!r}")
        return entry

    @property
    def given(self) -> dict[Action, ActionCost]:
        return {action: entry for action in Action if (entry := getattr(self, action)) is not None}


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

Table = Mapping[Action, ActionCost]
"""What every action costs."""


def unit_of(action: Action) -> str:
    """What the energy of ``action`` is per."""
    return UNITS.get(action, "byte")


@lru_cache(maxsize=1)
def default_table() -> Table:
    """The table that comes with tilesim."""
    return load(Path(__file__).with_name("energy.yaml"), Entries).given


def load_table(path: Path) -> Table:
    """The table that comes with tilesim, with the entries of the YAML file at ``path`` instead of its own.

    Raises:
        ConfigError: faults in the file, all at once.
    """
    ours = {
        action: entry.model_copy(update={"per": unit_of(action)}) for action, entry in load(path, Entries).given.items()
    }
    return {**default_table(), **ours}


@dataclass(frozen=True)
class Tally:
    """``count`` times ``action``, by the unit ``track`` for the layer of that number (-1: none), on so many ``bytes``;
    of arithmetic, none.
    """

    track: str
    layer: int
    action: Action
    count: int
    bytes: int


def document(tallies: Iterable[Tally], layers: int) -> EnergyStatistics:
    """What ``run.json`` holds of the energy of a run of so many ``layers``, by the table that comes with tilesim; the
    loading before it is not in it.

    ``units`` and ``layers`` (in the order of the layers; ``outside_layers`` is of instructions that belong to none)
    have ``actions``: for each its ``count``, of accesses, rows, words or operations, the ``bytes`` of these, and its
    ``pj``. Either, and ``actions`` as well, sum up to the run: ``total_pj``. ``table`` says what the actions cost.
    """
    units: dict[str, EnergyByAction] = {}
    of_layers: dict[int, EnergyByAction] = {k: {} for k in range(-1, layers)}
    total: EnergyByAction = {}
    for tally in tallies:
        for where in (units.setdefault(tally.track, {}), of_layers[tally.layer], total):
            action = where.setdefault(str(tally.action), {"count": 0, "bytes": 0, "pj": 0.0})
            action["count"] += tally.count
            action["bytes"] += tally.bytes
    counted: EnergyStatistics = {
        "table": {},
        "units": [{"track": track, "actions": actions, "pj": 0.0} for track, actions in sorted(units.items())],
        "layers": [{"actions": of_layers[k], "total_pj": 0.0} for k in range(layers)],
        "outside_layers": {"actions": of_layers[-1], "total_pj": 0.0},
        "actions": total,
        "total_pj": 0.0,
    }
    return priced(counted, default_table())


def priced(energy: EnergyStatistics, table: Table) -> EnergyStatistics:
    """An energy document with what its actions cost by another ``table``."""
    actions = _priced(energy["actions"], table)
    return {
        "table": {str(action): _row(table[action]) for action in Action if action in table},
        "units": [_of_unit(unit, table) for unit in energy["units"]],
        "layers": [_of_layer(layer, table) for layer in energy["layers"]],
        "outside_layers": _of_layer(energy["outside_layers"], table),
        "actions": actions,
        "total_pj": _sum(actions),
    }


def _row(entry: ActionCost) -> EnergyTableRow:
    return {"pj": entry.pj, "per": entry.per, "technology": entry.technology, "source": entry.source}


def _of_unit(unit: UnitEnergy, table: Table) -> UnitEnergy:
    actions = _priced(unit["actions"], table)
    return {"track": unit["track"], "actions": actions, "pj": _sum(actions)}


def _of_layer(layer: LayerEnergy, table: Table) -> LayerEnergy:
    actions = _priced(layer["actions"], table)
    return {"actions": actions, "total_pj": _sum(actions)}


def _priced(actions: EnergyByAction, table: Table) -> EnergyByAction:
    """The actions in the order of :class:`~tilesim.sim.core.action.Action`."""
    return {str(action): _cost(actions[action], table[action]) for action in Action if action in actions}


def _cost(action: ActionEnergy, entry: ActionCost) -> ActionEnergy:
    amount = action["bytes" if entry.per == "byte" else "count"]
    return {"count": action["count"], "bytes": action["bytes"], "pj": round(entry.pj * amount, DIGITS)}


def _sum(actions: EnergyByAction) -> float:
    return round(float(sum(action["pj"] for action in actions.values())), DIGITS)
