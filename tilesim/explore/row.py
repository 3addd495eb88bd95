"""A row of a sweep: a point, and what came of it. The store keeps rows, reports read them."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict  # of typing's own, pydantic reads that of Python 3.12 and later only

from tilesim.explore.point import Value

Status = Literal["ran", "refused", "failed"]
"""It ran; its network, chip or options can't be; its run could not go on, or killed those who ran it."""


FINITE = ConfigDict(allow_inf_nan=False)
"""Of what is read back: a run gives nothing else."""


@with_config(FINITE)
class LayerRow(TypedDict):
    """A layer of a run. Cycles are those of the average MAC array."""

    name: str
    """What the model calls it: by its node in ONNX, if that has a name of its own, else by its output."""
    kind: str
    """Its operator."""
    tiles: int
    """On how many tiles it ran."""
    parameters: str
    """Where its parameters lived, as in run.json."""
    breakdown: dict[str, float]
    """Cycles by cause."""
    energy_pj: float
    """Its dynamic energy."""


@with_config(FINITE)
class Measures(TypedDict):
    """What a run gave. Cycles by cause are those of the average MAC array: together they are ``cycles``."""

    tiles: int
    """MAC arrays of the chip."""
    macs: int
    """Multiply-accumulates that the network asks for, of all inferences."""
    cycles: int
    """From the first word in to the last word out, of all inferences."""
    load_cycles: int
    """Cycles that bring parameters before the run."""
    latency_us: float
    """Latency of the first inference in microseconds."""
    throughput_per_second: float
    """Inferences a second."""
    energy_pj: float
    """Dynamic energy of the run in picojoules."""
    mac_utilisation: float
    """``macs`` by those that the chip could do in ``cycles``."""
    bound_by: str | None
    """The cause that most cycles of the MAC arrays went into."""
    breakdown: dict[str, float]
    """Cycles by cause, those outside all layers too."""
    bytes: dict[str, int]
    """By bus, counted on each link that they pass."""
    peak_bytes: dict[str, int]
    """By memory, called as among the keys of the chip: the most bytes of one of them that the program uses."""
    outputs_sha256: str
    """Digest of the outputs: dtype, shape and bytes of each."""
    layers: list[LayerRow]
    """The layers, in the order of the program."""


class Row(TypedDict):
    """A point, and what came of it."""

    key: str
    """Digest of network, chip, options and of tilesim's own sources: the same key has the same measures."""
    sources: str
    """Digest of tilesim's own sources, as far as they can decide a result."""
    network: str
    """Name of the network."""
    topology: str
    """Name of the chip."""
    machine: str
    """The kind of machine; empty where the chip can't be."""
    chip: dict[str, Value]
    """Every key of the chip but its names, dotted; where it can't be, only those that were changed."""
    options: dict[str, Value]
    """The options, by their names."""
    area: dict[str, float]
    """Square millimetres by part of the chip: a proxy; empty where its machine does not say what takes area."""
    command: str
    """What runs this point alone."""
    status: Status
    reason: str
    """Why it did not run; empty if it did."""
    measures: Measures | None
    """What the run gave; None if it did not end."""
