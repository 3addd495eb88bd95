"""What comes of one model: equal, refused or different, and on a chip as well."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tilesim
from scripts.differentials.case import Array, Case, Refusal
from scripts.differentials.formats import make, reference
from tilesim.errors import InputError, TilesimError
from tilesim.machines.topology import Topology
from tilesim.network.graph import Network

CHIPS = ("edge-1x2", "edge-2x2", "systolic-4", "systolic-32")


@dataclass(frozen=True)
class Job:
    """A model to be made and judged; ``chip`` is the one that also runs it, or ``""``."""

    family: str
    seed: int
    chip: str = ""


@dataclass(frozen=True)
class Outcome:
    """``verdict`` is ``equal``, ``refused`` or ``different``, and ``reason`` says why; likewise on the chip, where
    ``on_chip`` is ``""`` for a model that none ran.
    """

    job: Job
    verdict: str
    reason: str = ""
    on_chip: str = ""
    chip_reason: str = ""

    @property
    def wrong(self) -> bool:
        return "different" in {self.verdict, self.on_chip}


def judged(job: Job) -> Outcome:
    """Make a model and run it everywhere."""
    case = make(job.family, job.seed)
    try:
        network = loaded(case)
    except InputError as error:
        return Outcome(job, "refused", pattern(error.faults[0]))
    try:
        wanted = reference(case)
    except Refusal as refusal:
        return Outcome(job, "different", f"the runtime refuses what tilesim runs: {refusal}")
    if words := difference(golden(network, case), wanted):
        return Outcome(job, "different", words)
    return Outcome(job, "equal", "", *(on_chip(network, case, job.chip, wanted) if job.chip else ("", "")))


def loaded(case: Case) -> Network:
    """The network as tilesim reads it. Raises InputError."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"model{case.suffix}"
        path.write_bytes(case.model)
        return tilesim.load_network(path)


def golden(network: Network, case: Case) -> list[Array]:
    """The outputs of tilesim's golden operators, in the file's layout."""
    tensors = [network.tensors[index] for index in network.inputs]
    values = network.evaluate([tensor.from_model(case.inputs[tensor.name]) for tensor in tensors])
    return [network.tensors[index].to_model(values[index]) for index in network.outputs]


def on_chip(network: Network, case: Case, chip: str, wanted: list[Array]) -> tuple[str, str]:
    """The verdict of a run on a chip, and why."""
    inputs = [case.inputs[network.tensors[index].name] for index in network.inputs]
    try:
        run = tilesim.simulate(tilesim.compile(network, topology(chip)), inputs)
    except InputError as error:
        return "refused", pattern(error.faults[0])
    except TilesimError as error:
        return "different", f"{chip}: {error}"
    words = difference(run.outputs, wanted)
    return ("different", f"{chip}: {words}") if words else ("equal", "")


@cache
def topology(chip: str) -> Topology:
    return tilesim.load_topology(chip)


def difference(given: list[Array], wanted: list[Array]) -> str:
    """In how many elements outputs differ from those wanted, in words, or ``""``."""
    if len(given) != len(wanted):
        return f"{len(given)} outputs instead of {len(wanted)}"
    words = (_difference(k, *pair) for k, pair in enumerate(zip(given, wanted, strict=True)))
    return "; ".join(word for word in words if word)


def _difference(number: int, given: Array, wanted: Array) -> str:
    if (given.dtype, given.shape) != (wanted.dtype, wanted.shape):
        return f"output {number} is {given.dtype} {list(given.shape)} instead of {wanted.dtype} {list(wanted.shape)}"
    wrong = _bits(given) != _bits(wanted)
    if not wrong.any():
        return ""
    first = int(np.flatnonzero(wrong)[0])
    return (
        f"output {number} differs in {int(wrong.sum())} of {wrong.size}, first at {first}: "
        f"{given.reshape(-1)[first]} instead of {wanted.reshape(-1)[first]}"
    )


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")


def pattern(sentence: str) -> str:
    """A fault without the file, the tensors' names and the numbers that make each one different."""
    bare = re.sub(r"^.*?model(\.\w+)?: ", "", sentence)
    return re.sub(r"(?<![\w*.])-?\d+(\.\d+)?(e[+-]?\d+)?(?!\*)", "N", re.sub(r"\bt\d+\b", "T", bare))
