"""What a machine brings to the house."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray
from pydantic import BaseModel

from tilesim.batching import Plan
from tilesim.network.graph import Network
from tilesim.run import Look, Run
from tilesim.sim.trace.recorder import Recording
from tilesim.tiled.caching.policy import CACHE, CachePolicy
from tilesim.tiled.partition_policy import PartitionPolicy

Say = Callable[[str], None]
SPATIALLY = PartitionPolicy()


@dataclass(frozen=True)
class Options:
    """How a network is to be compiled; each machine refuses those that mean nothing to it.

    ``partition`` and ``cache`` are about tiles, ``batches`` about those of a systolic machine.
    """

    partition: PartitionPolicy = SPATIALLY
    cache: CachePolicy = CACHE
    batches: Plan | None = None


class Compile(Protocol):
    """The first verb of a machine, for networks that share a chip."""

    def __call__(self, networks: Sequence[Network], topology: Any, options: Options, say: Say) -> list[Any]: ...


class Simulate(Protocol):
    """The second verb of a machine."""

    def __call__(
        self,
        program: Any,
        inputs: Sequence[NDArray[Any]],
        keep_tensors: bool,
        trace: bool | Recording,
        rules: str,
        not_before: Mapping[str, int] | None,
        on_start: Callable[[Look], None],
        masters: str,
    ) -> Run: ...


class SimulateRequests(Protocol):
    """The second verb for several inferences, one after the other."""

    def __call__(
        self,
        programs: Sequence[Any],
        order: Sequence[int],
        inputs: Sequence[Sequence[NDArray[Any]]],
        trace: bool | Recording,
        rules: str,
        not_before: Mapping[str, int] | None,
        on_start: Callable[[Look], None],
        masters: str,
    ) -> Run: ...


class Save(Protocol):
    """Writes a program into a folder, under a name whose ending says in which form."""

    def __call__(self, program: Any, folder: Path, name: str) -> object: ...


@dataclass(frozen=True)
class Machine:
    """The schema of its topologies, the class of its programs, its verbs, and how programs are kept.

    ``faults`` are what keeps a program from running; ``tells`` whether the file of a program is one of its own.
    """

    schema: type[BaseModel]
    program: type
    compile: Compile
    simulate: Simulate
    simulate_requests: SimulateRequests
    save: Save
    load: Callable[[Path], Any]
    faults: Callable[[Any], Sequence[str]]
    tells: Callable[[Path], bool]
