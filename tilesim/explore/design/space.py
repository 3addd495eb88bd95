"""A design space: networks, chips, and axes along which chips and options vary; its points are all combinations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import prod
from typing import TypeVar, cast

from tilesim import api
from tilesim.budgets import MOST_POINTS
from tilesim.errors import InputError, kept, refuse
from tilesim.explore.conditions.expression import Expression, expression
from tilesim.explore.conditions.names import OPTIONS, measures_of
from tilesim.explore.design.values import GRID, values_of
from tilesim.explore.point import Point, PointOptions, Value
from tilesim.machines.machine import PlansBatches, PlansCache, Spreads
from tilesim.machines.topology import Topology, keys
from tilesim.printable import counted, short, unknown
from tilesim.registry import able, can

Made = TypeVar("Made")

NEEDED = {"partition": Spreads, "cache": PlansCache, "schedule": PlansBatches}
"""What the machine of a chip must be able to do for an option to mean anything."""
UNASKED = ("name", "description")
"""Keys that no condition asks for: a row calls its chip ``topology``."""
SIDES = ("grid.rows", "grid.columns")
"""The keys that ``grid`` is short for."""


@dataclass(frozen=True)
class Axis:
    """What varies: a key of the chip, ``grid``, or an option; and its values, in their order."""

    key: str
    values: tuple[Value, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """What it changes."""
        return SIDES if self.key == GRID else (self.key,)

    def changes(self, value: Value) -> dict[str, Value]:
        """What one of its values changes, by keys and options."""
        if self.key != GRID:
            return {self.key: value}
        return dict(zip(SIDES, map(int, str(value).split("x")), strict=True))


@dataclass(frozen=True)
class Space:
    """Every model on every chip, with every combination of the axes' values."""

    models: tuple[str, ...]
    """Files, or workloads' names."""
    chips: tuple[str, ...]
    """Files, or the names of chips that come with tilesim."""
    axes: tuple[Axis, ...] = ()
    settings: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """Keys that are changed in every point."""
    where: tuple[Expression, ...] = ()
    """What must hold of a point, or of its row."""

    @property
    def size(self) -> int:
        """How many points there are, whatever ``where`` leaves of them."""
        return prod((len(self.models), len(self.chips), *(len(axis.values) for axis in self.axes)))

    def points(self) -> Iterator[Point]:
        """Its points: models, chips and axes in the order in which they are given, of which the last varies fastest.

        Raises:
            InputError: there are more than :data:`tilesim.budgets.MOST_POINTS`.
        """
        self.must_have_at_most(MOST_POINTS, "a sweep")
        return (
            self.point(model, chip, values)
            for model in self.models
            for chip in self.chips
            for values in product(*(axis.values for axis in self.axes))
        )

    def must_have_at_most(self, most: int, whose: str) -> None:
        """Raises InputError, which names the product, for a space of more points."""
        if self.size > most:
            counts = [counted(len(self.models), "model"), counted(len(self.chips), "chip")]
            product_ = " x ".join([*counts, *(f"{axis.key} {len(axis.values):,}" for axis in self.axes)])
            raise InputError(f"{whose} must have at most {most:,} points, not {product_} = {self.size:,}")

    def point(self, model: str, chip: str, values: Sequence[Value]) -> Point:
        """The point with these values, one an axis."""
        changes: dict[str, Value] = {}
        for axis, value in zip(self.axes, values, strict=True):
            changes |= axis.changes(value)
        settings = {key: value for key, value in changes.items() if key not in OPTIONS}
        return Point(model, chip, {**self.settings, **settings}, _options(changes))


def axis(word: str) -> Axis:
    """An axis as ``--vary`` spells it: ``tile.lanes=2^4..2^8``, ``grid=squares:1..8``, ``cache=on,off``.

    Raises:
        InputError: faults in it, all at once.
    """
    key, equals, values = word.partition("=")
    if not (key and equals and values):
        raise InputError(f"vary {short(word)}: must be KEY=VALUES, such as tile.lanes=32,64 or grid=1x1,1x2")
    return _axis(key.strip(), values)


def space(
    models: Sequence[str],
    chips: Sequence[str],
    vary: Mapping[str, Value | Sequence[Value]] | Sequence[Axis] = (),
    settings: Mapping[str, Value] | None = None,
    where: Iterable[str] = (),
) -> Space:
    """The design space in these words.

    Args:
        models, chips: files, or names of what comes with tilesim.
        vary: the values of each key or option: a list, or a text such as ``2^4..2^8``; or axes that are made already.
        settings: keys of the chips that are changed in every point; ``grid`` is short for rows and columns.
        where: conditions over keys, options and measures.

    Raises:
        InputError: chips that can't be read, keys that they do not have, and all else that is wrong, at once.
    """
    counts = (*Counter(models).items(), *Counter(chips).items())
    faults = [f"{word}: must be given once, not {n} times" for word, n in counts if n > 1]
    faults += [f"a sweep must have a {noun}" for noun, words in (("model", models), ("chip", chips)) if not words]
    pairs = vary.items() if isinstance(vary, Mapping) else ()
    axes = _made(faults, (partial(_axis, *pair) for pair in pairs)) if pairs else [*cast("Sequence[Axis]", vary)]
    fixed = _made(faults, (partial(_setting, *pair) for pair in (settings or {}).items()))
    conditions = _made(faults, (partial(condition, text) for text in where))
    known = _made(faults, (partial(_named_chip, chip) for chip in dict.fromkeys(chips)))
    together = {key: value for changes in fixed for key, value in changes.items()}
    made = Space(tuple(models), tuple(chips), tuple(axes), together, tuple(conditions))
    refuse([*faults, *_twice(made), *(_unfitting(made, known) if known else ())])
    return made


def measures_on(chips: Iterable[str]) -> tuple[str, ...]:
    """What runs on these chips may be asked for; on one that can't be read, anything."""
    machines: set[str] = set()
    for chip in chips:
        try:
            machines.add(api.load_topology(chip).machine)
        except InputError:
            machines.add("")
    return measures_of(sorted(machines))


def _made(faults: list[str], makers: Iterable[Callable[[], Made]]) -> list[Made]:
    """What can be made; why the others can't joins the ``faults``."""
    made = []
    for make in makers:
        with kept(faults):
            made.append(make())
    return made


def _axis(key: str, given: Value | Sequence[Value]) -> Axis:
    return Axis(key, values_of(key, given))


def condition(text: str) -> Expression:
    """A condition as ``--where`` takes it. Raises InputError."""
    try:
        return expression(text)
    except InputError as error:
        raise InputError(f"where {fault}" for fault in error.faults) from None


def _named_chip(word: str) -> tuple[str, Topology]:
    return word, api.load_topology(word)


def _setting(key: str, value: Value) -> dict[str, Value]:
    if key != GRID:
        return {key: value}
    try:
        [size] = values_of(GRID, [value])
    except InputError as error:
        raise InputError(fault.replace("vary", "settings", 1) for fault in error.faults) from None
    return Axis(GRID, (size,)).changes(size)


def _twice(made: Space) -> Iterator[str]:
    """What is changed by two axes, or by an axis and for all points."""
    whose: dict[str, str] = dict.fromkeys(made.settings, "is set for all points")
    for one in made.axes:
        for key in one.keys:
            if key in whose:
                named = one.key if key == one.key else f"{one.key}, {key}"
                yield f"vary {named}: must be left out, as {key} {whose[key]}"
            whose.setdefault(key, "varies already")


def _unfitting(made: Space, chips: Sequence[tuple[str, Topology]]) -> Iterator[str]:
    """Keys and options that mean nothing to the chips, and names in conditions that mean nothing at all."""
    of_all: dict[str, Value] = {}
    for word, chip in chips:
        values = {key.key: key.value for key in keys(chip)}
        of_all |= {key: value for key, value in values.items() if key not in UNASKED}
        own = frozenset(values)
        for axis in made.axes:
            yield from (f"vary {short(axis.key)}: {fault}" for fault in unfitting_axis(axis, word, chip, own))
        if "machine" in made.settings:
            yield "settings machine: must be left out; name a chip of the other machine"
        for key in sorted({*made.settings} - own):
            yield f"settings {short(key)}: {unknown(key, own, f'a key of {word}')}"
    measures = measures_of(sorted({chip.machine for _, chip in chips}))
    for asked in made.where:
        yield from (f"where {fault}" for fault in asked.faults(of_all, measures))


def unfitting_axis(axis: Axis, word: str, chip: Topology, own: frozenset[str]) -> Iterator[str]:
    """Why an axis means nothing to a chip, which has its ``own`` keys."""
    if axis.key == "machine":
        yield "must be left out; name a chip of the other machine"
    elif axis.key in NEEDED and not can(chip, NEEDED[axis.key]):
        yield f"applies to chips that can {able(NEEDED[axis.key])}, not to {chip.name}"
    elif not own.issuperset(axis.keys) and axis.key not in OPTIONS:
        short = {GRID} if own.issuperset(SIDES) else set()
        yield unknown(axis.key, own.union(OPTIONS, short), f"a key of {word}")


def _options(changes: Mapping[str, Value]) -> PointOptions:
    given, default = {key: changes[key] for key in OPTIONS if key in changes}, PointOptions()
    return PointOptions(
        partition=str(given.get("partition", default.partition)),
        cache=bool(given.get("cache", default.cache)),
        inferences=int(given.get("inferences", default.inferences)),
        schedule=str(given.get("schedule", default.schedule)),
    )
