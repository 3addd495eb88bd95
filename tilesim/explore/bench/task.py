"""Points that are ready to be run: each with its chip, and with the digests of what decides its row."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache

from tilesim import api
from tilesim.errors import ConfigError, InputError
from tilesim.explore.bench.digests import digest, machine_digest, network_digest, sources_digest
from tilesim.explore.point import Point, PointOptions, Value
from tilesim.machines.machine import PlansBatches
from tilesim.machines.policies import AUTO
from tilesim.machines.topology import Topology, keys
from tilesim.network.graph import Network
from tilesim.registry import can, machine_of

OWN_COLUMNS = frozenset({"machine", "name", "description"})
"""Keys of a chip that a row has under other names, or that say nothing of what it does."""

Values = Mapping[str, Value]
"""Of keys of a chip and of options, by their names."""


@dataclass(frozen=True)
class Task:
    """A point that is to be run, or, where its chip can't be, the reason."""

    key: str
    """Digest of its row: of network, chip, options and tilesim's own sources."""
    point: Point
    topology: Topology | None
    reason: str
    """Why there is no such chip; empty if there is one."""
    program: str
    """Digest of what is compiled: tasks with the same one share a program, but for its chip."""


def chip_values(topology: Topology) -> dict[str, Value]:
    """Every key of a chip but :data:`OWN_COLUMNS`, dotted."""
    return {key.key: key.value for key in keys(topology) if key.key not in OWN_COLUMNS}


def everything(_values: Values) -> bool:
    """Every point is wanted."""
    return True


def tasks(
    points: Iterable[Point], networks: Mapping[str, Network], where: Callable[[Values], bool] = everything
) -> Iterator[Task]:
    """The points that are wanted, as tasks.

    Args:
        points: what to run.
        networks: the network of each model that they name.
        where: whether a point is wanted, by its chip's keys, its options, and ``network``, ``topology`` and
            ``machine``. One whose chip can't be is asked for by the chip without its settings, and these laid over it;
            it is wanted where that raises an InputError.

    Raises:
        InputError: as ``where`` does of a chip that can be.
    """
    made = map(task_maker(networks, where), points)
    return (task for task in made if task is not None)


def task_maker(
    networks: Mapping[str, Network], where: Callable[[Values], bool] = everything
) -> Callable[[Point], Task | None]:
    """What makes a task of one point, as :func:`tasks` does of many; none of a point that is not wanted."""
    network_of = cache(lambda model: network_digest(networks[model]))
    unchanged = cache(_unchanged)

    def made(point: Point) -> Task | None:
        try:
            topology, reason = api.load_topology(point.chip, point.settings), ""
        except ConfigError as error:
            topology, reason = None, "\n".join(map(_in_words, error.faults))
        values = {**unchanged(point.chip), **point.settings} if topology is None else chip_values(topology)
        own = {} if topology is None else {"topology": topology.name, "machine": topology.machine}
        own["network"] = networks[point.model].name
        wanted = _is_wanted(where, {**values, **own, **asdict(point.options)}, topology)
        return _task(point, topology, reason, network_of(point.model)) if wanted else None

    return made


def _in_words(fault: str) -> str:
    """A fault of a setting, in the words of the command that runs the point."""
    return re.sub(r"^override (?=\S+=)", "--set ", fault)


def _unchanged(chip: str) -> Values:
    """The keys of a chip as its file has them; none, if not even that can be."""
    try:
        return chip_values(api.load_topology(chip))
    except ConfigError:
        return {}


def _is_wanted(where: Callable[[Values], bool], values: Values, topology: Topology | None) -> bool:
    try:
        return where(values)
    except InputError:
        if topology is None:
            return True
        raise


def _task(point: Point, topology: Topology | None, reason: str, network: str) -> Task:
    options = asdict(point.options)
    if topology is None:
        key = digest(sources_digest(), network, point.chip, dict(point.settings), options, reason)
        return Task(key, point, None, reason, key)
    chip = {"machine": topology.machine, "name": topology.name, **chip_values(topology)}
    key = digest(sources_digest(), machine_digest(topology.machine), network, chip, options)
    return Task(key, point, topology, "", digest(network, *_compiled(chip, point.options, topology)))


def _compiled(chip: Values, options: PointOptions, topology: Topology) -> tuple[Values, Values]:
    """What a program depends on: keys of its chip, and options. One that is chosen by what runs take, or by how fast
    weights come, depends on all.
    """
    plans = can(topology, PlansBatches) and (options.inferences > 1 or bool(options.schedule))
    if plans or options.partition == AUTO:
        return chip, asdict(options)
    at_run_time = machine_of(topology).keys_at_run_time(topology)
    kept = {key: value for key, value in chip.items() if key not in at_run_time}
    return kept, {key: value for key, value in asdict(options).items() if key != "inferences"}
