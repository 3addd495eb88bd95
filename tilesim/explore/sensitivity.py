"""One at a time: every key of a chip a step up and a step down, all else as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple, TypeAlias

from pydantic import ValidationError

from tilesim.errors import CapacityError, InputError, RunError, refuse
from tilesim.explore.bench.measure import Bench
from tilesim.explore.bench.task import Task, tasks
from tilesim.explore.design.space import NEEDED
from tilesim.explore.point import Point, PointOptions, Value
from tilesim.explore.row import Row, Status
from tilesim.explore.rows.store import Store
from tilesim.explore.running.sweeping import Progress, alone, silent, sweep
from tilesim.explore.running.sweeping import Runner as SweepRunner
from tilesim.machines.policies import CHOICES
from tilesim.machines.topology import Key, Topology, keys
from tilesim.network.graph import Network
from tilesim.printable import short, unknown
from tilesim.registry import can

NAMING = ("machine", "name", "description")
"""Keys that say nothing of how a chip works."""
MOST_FROM_ZERO = 1 << 20
"""The largest value that a key at 0 is raised to."""


Runner: TypeAlias = Callable[[Sequence[Task]], Iterable[Row]]
"""Gives the rows of tasks, in any order."""
_ERRORS: Mapping[Status, type[InputError | RunError]] = {"refused": CapacityError, "failed": RunError}


class Factor(NamedTuple):
    """What is stepped: a key of the chip, or an option."""

    key: str
    value: Value
    """Its own."""
    meaning: str
    values: tuple[Value, ...]
    """What it is set to instead, one after the other: numbers from the smallest on."""
    unstepped: str = ""
    """Why there is no step, or one only."""


class StepRow(NamedTuple):
    """A factor set otherwise, and what came of it."""

    key: str
    value: Value
    row: Row


@dataclass(frozen=True)
class Sensitivity:
    """A base and its steps, as rows."""

    base: Row
    factors: Sequence[Factor]
    steps: Sequence[StepRow]
    """Those of each factor, in the order of the factors and of their values."""


def factors(chip: Topology, options: PointOptions, patterns: Sequence[str] = ("*",)) -> list[Factor]:
    """What of a chip, and of the options that mean something to it, can be stepped, as far as its name is like one of
    the ``patterns``, such as ``tile.*``.

    Numbers are halved, where that gives a whole one, and doubled; a number at 0 is raised to the smallest power of two
    that the chip takes; what is on or off is switched; a word gives way to each of the others.

    Raises:
        InputError: a pattern that is like none of them.
    """
    every = [*(_of_key(key, chip) for key in keys(chip) if key.key not in NAMING), *_of_options(chip, options)]
    names = [factor.key for factor in every]
    what = "a key of the chip or an option, or a pattern such as tile.*"
    refuse(
        f"keys {short(pattern)}: {unknown(pattern, names, what)}"
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in names)
    )
    return [factor for factor in every if any(fnmatchcase(factor.key, pattern) for pattern in patterns)]


def steps(base: Point, stepped: Iterable[Factor]) -> Iterator[tuple[str, Value, Point]]:
    """The points that differ from the ``base`` in one factor, each with the factor's name and its value there."""
    for factor in stepped:
        for value in factor.values:
            yield factor.key, value, _stepped(base, factor.key, value)


def measured(base: Point, stepped: Sequence[Factor], networks: Mapping[str, Network], run: Runner) -> Sensitivity:
    """Run the ``base`` and, if that can be, each of its steps.

    Args:
        base, stepped: as for :func:`steps`.
        networks: the network of the model that the base names.
        run: who runs them; it is called for the base alone, then for all others.

    Raises:
        InputError: the base can't be.
        RunError: the base's run can't go on.
    """
    [row] = run([*tasks([base], networks)])
    if row["measures"] is None:
        raise _ERRORS[row["status"]](row["reason"].splitlines())
    every = [*steps(base, stepped)]
    wanted = [*tasks((point for _, _, point in every), networks)]
    rows = {row["key"]: row for row in run(wanted)}
    pairs = zip(every, wanted, strict=True)
    return Sensitivity(row, stepped, [StepRow(key, value, rows[task.key]) for (key, value, _), task in pairs])


def sweeping(store: Store, bench: Bench, crew: SweepRunner, on_progress: Callable[[Progress], None] = silent) -> Runner:
    """Runs only what has no row in ``store`` yet, and keeps the rows of all there: one task alone in this process, with
    the ``bench``, several with the ``crew``.
    """

    def run(wanted: Sequence[Task]) -> list[Row]:
        sizes = Counter(task.program for task in wanted)
        largest_first = sorted(wanted, key=lambda task: (-sizes[task.program], task.program))
        who, told = (crew, on_progress) if len(wanted) > 1 else (partial(alone, bench=bench), silent)
        sweep(largest_first, store, who, told, len(wanted))
        return store.rows([task.key for task in wanted])

    return run


def _stepped(base: Point, key: str, value: Value) -> Point:
    if key == "partition":
        return replace(base, options=replace(base.options, partition=str(value)))
    if key == "cache":
        return replace(base, options=replace(base.options, cache=bool(value)))
    return replace(base, settings={**base.settings, key: value})


def _of_key(key: Key, chip: Topology) -> Factor:
    if key.value == 0 and key.key.endswith("_per_second"):
        return Factor(*key[:3], (), "it is not given")
    if key.value == 0 and not isinstance(key.value, bool):
        powers = (1 << k for k in range(MOST_FROM_ZERO.bit_length()))
        smallest = tuple([power for power in powers if takes(chip, key.key, power)][:1])
        return Factor(*key[:3], smallest, "" if smallest else f"nothing from 1 to {MOST_FROM_ZERO:,} will do instead")
    values = _values(key)
    return Factor(*key[:3], values, _why(key, values))


def _of_options(chip: Topology, options: PointOptions) -> Iterator[Factor]:
    if can(chip, NEEDED["partition"]):
        others = tuple(choice for choice in CHOICES if choice != options.partition)
        yield Factor("partition", options.partition, f"how layers are spread: {' or '.join(CHOICES)}", others)
    if can(chip, NEEDED["cache"]):
        yield Factor("cache", options.cache, "whether parameters stay in the tiles", (not options.cache,))


def _values(key: Key) -> tuple[Value, ...]:
    """What a key is set to that is not at 0."""
    value = key.value
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, str):
        return tuple(choice for choice in key.choices if choice != value)
    if isinstance(value, float):
        return tuple(sorted((value / 2, value * 2)))
    return tuple(sorted([value * 2] if value % 2 else [value // 2, value * 2]))


def _why(key: Key, values: tuple[Value, ...]) -> str:
    if not values:
        return "there is nothing else to choose"
    whole = isinstance(key.value, int) and not isinstance(key.value, bool)
    return f"{key.value} has no half that is whole" if whole and len(values) == 1 else ""


def takes(chip: Topology, key: str, value: Value) -> bool:
    """Whether a chip may have that value there."""
    data = section = chip.model_dump()
    *sections, name = key.split(".")
    for word in sections:
        section = section[word]
    section[name] = value
    try:
        type(chip).model_validate(data)
    except ValidationError:
        return False
    return True
