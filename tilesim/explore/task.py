"""Points that are ready to be run: each with its chip, and with the digests of what decides its row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache

from tilesim import api
from tilesim.errors import ConfigError
from tilesim.explore.digests import digest, network_digest, sources_digest
from tilesim.explore.point import Options, Point, Value
from tilesim.machines.machine import PlansBatches
from tilesim.machines.policies import AUTO
from tilesim.machines.topology import Topology, keys
from tilesim.network.graph import Network
from tilesim.registry import can, machine_of

OWN_COLUMNS = frozenset({"machine", "name", "description"})
"""Keys of a chip that a row has under other names, or that say nothing of what it does."""


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


def everything(_values: Mapping[str, Value]) -> bool:
    return True


def tasks(
    points: Iterable[Point],
    networks: Mapping[str, Network],
    where: Callable[[Mapping[str, Value]], bool] = everything,
) -> Iterator[Task]:
    """The points that are wanted, as tasks.

    Args:
        points: what to run.
        networks: the network of each model that they name.
        where: whether a point is wanted, by the values of its chip's keys and of its options, by their names. One whose
            chip can't be is asked for by the keys of its chip without its settings, and these.
    """
    network_of = cache(lambda model: network_digest(networks[model]))
    base = cache(_base)
    for point in points:
        topology, reason = _loaded(point)
        values = base(point.chip) | dict(point.settings) if topology is None else chip_values(topology)
        if where({**values, **asdict(point.options)}):
            yield _task(point, topology, reason, network_of(point.model))


def _task(point: Point, topology: Topology | None, reason: str, network: str) -> Task:
    options = asdict(point.options)
    if topology is None:
        key = digest(sources_digest(), network, point.chip, dict(point.settings), options)
        return Task(key, point, None, reason, key)
    chip = {"machine": topology.machine, "name": topology.name, **chip_values(topology)}
    unshared = frozenset() if _tries_out(point.options, topology) else machine_of(topology).run_time_keys
    compiled = {key: value for key, value in chip.items() if key not in unshared}
    key = digest(sources_digest(), network, chip, options)
    return Task(key, point, topology, "", digest(network, compiled, options))


def _tries_out(options: Options, topology: Topology) -> bool:
    """Whether a compiler looks at what runs take, so that its program depends on every key of the chip."""
    plans = can(topology, PlansBatches) and (options.inferences > 1 or bool(options.schedule))
    return options.partition == AUTO or plans


def _loaded(point: Point) -> tuple[Topology | None, str]:
    try:
        return api.load_topology(point.chip, point.settings), ""
    except ConfigError as error:
        return None, "\n".join(error.faults)


def _base(chip: str) -> dict[str, Value]:
    topology, _ = _loaded(Point("", chip))
    return {} if topology is None else chip_values(topology)
