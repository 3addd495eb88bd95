"""What each line of a table runs: a point, or two of which the difference is published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilesim import api
from tilesim.errors import ConfigError, InputError, kept, refuse
from tilesim.explore.calibration.table import TOPOLOGY, Fault, Published, read_table
from tilesim.explore.design.space import Axis, Space, space, unfitting_axis
from tilesim.explore.design.values import values_of
from tilesim.explore.point import Point, Value
from tilesim.machines.topology import Topology, keys
from tilesim.network.graph import Network
from tilesim.printable import alternatives, short

OVERRIDE = "override "
VARY = "vary "


@dataclass(frozen=True)
class Case:
    """A published point, and what is run for it."""

    published: Published
    points: tuple[Point, ...]
    """One a model."""
    base: Mapping[str, Value]
    """Keys that are changed of its chip whatever its condition says."""

    @property
    def chip(self) -> str:
        """A file, or the name of one that comes with tilesim."""
        return self.points[0].chip


@dataclass(frozen=True)
class Cases:
    """The points of a table that are compared."""

    table: Path
    every: tuple[Case, ...]
    networks: Mapping[str, Network]
    """By the words that name their models."""
    left_out: tuple[Published, ...] = ()
    """Those of other chips."""

    @property
    def chips(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(case.chip for case in self.every))

    def where(self, case: Case) -> str:
        """How a fault names it."""
        return f"{self.table}:{case.published.line}"


def read_cases(table: Path, chip: str = "", settings: Mapping[str, Value] | None = None) -> Cases:
    """The points of a table.

    Args:
        table: its file.
        chip: the chip of points that name none; of those that name another, none is compared. Empty: each names one.
        settings: keys of the chips that are changed in every point; what a point's condition says goes before.

    Raises:
        InputError: all faults of the table, of its chips and of its models, at once.
    """
    of_lines: list[Fault] = []
    of_chips: list[str] = []
    points = read_table(table, of_lines)
    chips = _Chips(settings or {}, of_chips)
    ours = [point for point in points if not chip or _names(point, chip, chips)]
    cases = []
    for point in ours:
        found: list[str] = []
        cases.append(_case(point, chip or point.condition.get(TOPOLOGY, ""), chips, found))
        of_lines += (Fault(point.line, fault) for fault in found)
    networks = _networks(ours, of_lines)
    if points and not ours:
        others = alternatives(list(dict.fromkeys(point.condition[TOPOLOGY] for point in points)))
        of_chips.append(f"{table}: must have a point of {chip}, not only of {others}")
    lines = sorted(of_lines, key=lambda fault: fault.line)
    refuse([*(f"{table}:{fault.line}: {fault.sentence}" for fault in lines), *of_chips])
    left_out = tuple(point for point in points if point not in ours)
    return Cases(table, tuple(filter(None, cases)), networks, left_out)


class _Chips:
    """The chips that points name, each read once, with what is set for all; faults of theirs are told once."""

    def __init__(self, settings: Mapping[str, Value], faults: list[str]) -> None:
        self._settings, self._faults = settings, faults
        self.named = cache(self._named)

    def _named(self, word: str) -> tuple[Topology, Space] | None:
        """A chip, and the space of it alone; None if there is no such chip."""
        try:
            base = space(["-"], [word], settings=self._settings)
            return api.load_topology(word, base.settings), base
        except InputError as error:
            self._faults += error.faults
            return None


def _names(point: Published, chip: str, chips: _Chips) -> bool:
    """Whether a point is one of the chip: it names none, or this one by its word or its name."""
    word, known = point.condition.get(TOPOLOGY, chip), chips.named(chip)
    return word == chip or (known is not None and word == known[0].name)


def _case(point: Published, word: str, chips: _Chips, faults: list[str]) -> Case | None:
    """What is run for a point on a chip; what is wrong with its condition joins the ``faults``."""
    if not word:
        faults.append(f"condition must have {TOPOLOGY}=CHIP, or --topology name one for all that have none")
    if not word or (known := chips.named(word)) is None:
        return None
    topology, base = known
    own = frozenset(key.key for key in keys(topology))
    conditions = {key: value for key, value in point.condition.items() if key != TOPOLOGY}
    axes = []
    for key, value in conditions.items():
        unfitting = [*unfitting_axis(Axis(key, ()), word, topology, own)]
        faults += (f"condition {short(key)}: {fault}" for fault in unfitting)
        if not unfitting:
            with kept(faults):
                axes.append(_axis(key, value))
    made = Space(point.models, (word,), tuple(axes), base.settings)
    points = tuple(made.point(model, word, [axis.values[0] for axis in axes]) for model in point.models)
    faults += _refused(points[0])
    return Case(point, points, base.settings)


def _axis(key: str, value: str) -> Axis:
    """The one value of a condition. Raises InputError."""
    try:
        values = values_of(key, [value])
    except InputError as error:
        raise InputError(f"condition {fault.removeprefix(VARY)}" for fault in error.faults) from None
    if len(values) != 1:
        raise InputError(f"condition {short(key)}: must have one value, not {len(values):,}")
    return Axis(key, values)


def _refused(point: Point) -> Iterator[str]:
    """Why there is no such chip."""
    try:
        api.load_topology(point.chip, point.settings)
    except ConfigError as error:
        yield from (f"condition {fault.removeprefix(OVERRIDE)}" for fault in error.faults)


def _networks(points: Sequence[Published], faults: list[Fault]) -> dict[str, Network]:
    """The networks by their words; why others can't be read joins the ``faults``, at the first line that names them."""
    networks: dict[str, Network] = {}
    lines: dict[str, int] = {}
    for point in points:
        for model in point.models:
            lines.setdefault(model, point.line)
    for model, line in lines.items():
        try:
            networks[model] = api.load_network(model)
        except InputError as error:
            faults += (Fault(line, fault) for fault in error.faults)
    return networks
