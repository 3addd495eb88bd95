"""What is asked of rows: which of them count, and which are the best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import isnan, nan
from typing import NamedTuple

import numpy as np

from tilesim.errors import InputError
from tilesim.explore.conditions.expression import Expression
from tilesim.explore.conditions.names import NAME, as_name, is_measure, measures_of
from tilesim.explore.conditions.terms import Values, nameless
from tilesim.explore.row import Row
from tilesim.explore.rows.export import Cell, flat
from tilesim.explore.rows.front import front


class Objective(NamedTuple):
    """A measure, and whether it is to be large."""

    measure: str
    maximise: bool = False


FASTEST = Objective("latency_us")
ANY_CAUSE = f"breakdown.{NAME}"


def named_values(row: Row) -> dict[str, Cell]:
    """What a row says, by the names that expressions have for it: ``breakdown.no_work``. What a run has lost no cycles
    to is 0.
    """
    nothing: dict[str, Cell] = dict.fromkeys(_causes(row["machine"]), 0.0) if row["measures"] else {}
    return nothing | {as_name(name): value for name, value in flat(row).items()}


@cache
def _causes(machine: str) -> tuple[str, ...]:
    return tuple(name for name in measures_of([machine]) if name.startswith("breakdown.") and name != ANY_CAUSE)


def narrowed(rows: Sequence[Row], conditions: Sequence[Expression]) -> list[Row]:
    """The rows for which all ``conditions`` hold, in their order. Where one asks for a measure, only what ran has it.

    Raises:
        InputError: a condition that asks for what no row has, nor any run on such a machine, or that can't be worked
            out of a row that ran.
    """
    if not conditions:
        return [*rows]
    values = [named_values(row) for row in rows]
    known = dict.fromkeys((*(name for each in values for name in each), *measures_of_rows(rows)))
    asked = {name for condition in conditions for name in condition.names}
    if any(row["measures"] for row in rows) and (strange := sorted(asked - known.keys())):
        raise InputError(f"where {nameless(name, known)}" for name in strange)
    absent: Mapping[str, Cell] = dict.fromkeys(asked)
    pairs = zip(rows, values, strict=True)
    return [row for row, own in pairs if _counts(row, conditions, {**absent, **own})]


def measures_of_rows(rows: Iterable[Row]) -> tuple[str, ...]:
    """What others on the machines of these rows may be asked for, too."""
    return measures_of(sorted({row["machine"] for row in rows if row["machine"]}))


def _counts(row: Row, conditions: Sequence[Expression], values: Values) -> bool:
    """Whether the conditions hold. The chip of a row that did not run may have words for numbers: then it counts."""
    try:
        return hold(conditions, values)
    except InputError:
        if row["measures"] is None:
            return True
        raise


def hold(conditions: Iterable[Expression], values: Values) -> bool:
    """Whether all of them hold. Raises InputError: one can't be worked out."""
    try:
        return all(condition.holds(values) for condition in conditions)
    except InputError as error:
        raise InputError(f"where {fault}" for fault in error.faults) from None


def score(row: Row, objective: Objective) -> float:
    """What the measure is, as what is to be small; NaN of a row that did not run, or does not have it."""
    value = named_values(row).get(objective.measure) if row["measures"] else None
    if not isinstance(value, int | float):
        return nan
    return -float(value) if objective.maximise else float(value)


class Judge(NamedTuple):
    """What says which of two rows is the better one."""

    objective: Objective = FASTEST
    conditions: Sequence[Expression] = ()
    """What must hold of a row for it to be good at all."""

    def prefers(self, row: Row, other: Row | None) -> bool:
        """Whether a row is better than another, or than none."""
        cost = score(row, self.objective)
        if isnan(cost) or (other is not None and cost >= score(other, self.objective)):
            return False
        absent: Values = {name: None for condition in self.conditions for name in condition.names}
        try:
            return hold(self.conditions, {**absent, **named_values(row)})
        except InputError:  # who asks for the rows will hear of it
            return False


def best(rows: Iterable[Row], objectives: Sequence[Objective]) -> list[Row]:
    """The rows that ran: of one objective all, the best first; of several those on the Pareto front, in the order of
    the first. Of equal ones the smaller chip comes first, then the first command of the alphabet.
    """
    given = [*rows]
    costs = np.array([[score(row, each) for each in objectives] for row in given]).reshape(-1, len(objectives))
    counts = front(costs) if len(objectives) > 1 else ~np.isnan(costs[:, 0])
    ranks = [
        (*cost, sum(row["area"].values()), row["command"]) for cost, row in zip(costs.tolist(), given, strict=True)
    ]
    return [given[place] for place in sorted(np.flatnonzero(counts).tolist(), key=ranks.__getitem__)]


def by_network(rows: Iterable[Row], objectives: Sequence[Objective]) -> dict[str, list[Row]]:
    """The :func:`best` of each network that has some."""
    of_network: dict[str, list[Row]] = {}
    for row in rows:
        of_network.setdefault(row["network"], []).append(row)
    found = {name: best(own, objectives) for name, own in of_network.items()}
    return {name: points for name, points in found.items() if points}


def early(conditions: Iterable[Expression]) -> list[Expression]:
    """Those that are known before a point runs, as they ask for no measure."""
    return [condition for condition in conditions if not any(map(is_measure, condition.names))]


def late(conditions: Iterable[Expression]) -> list[Expression]:
    """Those that ask for a measure."""
    return [condition for condition in conditions if any(map(is_measure, condition.names))]
