"""The statistics of a run, key by key: what ``run.json`` holds, whatever the machine.

The reference page is made from the strings below the keys, and a saved run is checked against the types.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict  # of typing's own, pydantic reads that of Python 3.12 and later only

from tilesim.findings import Finding

SCHEMA = "tilesim.run/1"
"""The version of the document; it grows keys, and changes when one changes its meaning."""

Count: TypeAlias = Annotated[int, Field(ge=0)]
CyclesByCause: TypeAlias = Annotated[dict[str, Count], Field(max_length=1000)]
"""Cycles by what they went into; the causes are few."""


class BusBytes(TypedDict):
    """What went over one bus."""

    entered: Count
    """Bytes, counted once, where they enter the bus."""
    carried: Count
    """Bytes, counted on each link that they pass."""


BytesByBus: TypeAlias = Annotated[dict[str, BusBytes], Field(max_length=1000)]
"""By the name of the bus: ``ring``, ``mesh``, ``weight_memory`` …"""


class UnitStatistics(TypedDict):
    """The account of a unit: every cycle of the run exactly once."""

    track: str
    """The unit's name, as in the trace."""
    busy_cycles: Count
    """Cycles in which it works."""
    stall_cycles: CyclesByCause
    """Cycles in which it has work and must wait, by what it waits for."""
    idle_cycles: Count
    """Cycles in which it has nothing to do."""


class LinkStatistics(UnitStatistics):
    """The account of a link or a stop of a bus."""

    bytes: Count
    """Bytes of all rows, words or instructions that it carried, headers not counted."""


class ActionEnergy(TypedDict):
    """One kind of action."""

    count: Count
    """How many accesses, rows, words or operations."""
    bytes: Count
    """Their bytes; of arithmetic, none."""
    pj: float
    """Their energy in picojoules."""


EnergyByAction: TypeAlias = dict[str, ActionEnergy]


class EnergyTableRow(TypedDict):
    """What one action costs."""

    pj: float
    """Energy in picojoules."""
    per: str
    """What it is the energy of, such as a byte."""
    technology: str
    """Process and voltage that it holds for."""
    source: str
    """Who says so."""


class UnitEnergy(TypedDict):
    """What a unit did that costs energy."""

    track: str
    """The unit's name, as in the trace."""
    actions: EnergyByAction
    """What it did."""
    pj: float
    """The sum of its actions."""


class LayerEnergy(TypedDict):
    """What was done for a layer that costs energy."""

    actions: EnergyByAction
    """What was done."""
    total_pj: float
    """The sum of the actions."""


class EnergyStatistics(TypedDict):
    """Dynamic energy of the run, the load before it not counted. Units, layers and actions each sum up to the total."""

    table: dict[str, EnergyTableRow]
    """What each action costs."""
    units: list[UnitEnergy]
    """By unit, in the order of their names."""
    layers: list[LayerEnergy]
    """By layer, in the order of ``layers`` of the run."""
    outside_layers: LayerEnergy
    """Of instructions that belong to no layer."""
    actions: EnergyByAction
    """By action, of the whole run."""
    total_pj: float
    """Energy of the run in picojoules."""


class MatrixShape(TypedDict):
    """What a layer gives a systolic array."""

    vectors: Count
    """Input vectors of an inference: rows of the left matrix."""
    inputs: Count
    """Length of a vector: rows of weights."""
    outputs: Count
    """Sums of a vector: columns of weights."""
    groups: Count
    """How many such products, side by side."""


class LayerStatistics(TypedDict):
    """A layer: what it is, and how long it took."""

    network: str
    """Whose layer it is."""
    name: str
    """What the model calls it: by its node in ONNX, if that has a name of its own, else by its output."""
    kind: str
    """Its operator."""
    place: NotRequired[str]
    """Which part of the machine, or the host, computes it."""
    bands: NotRequired[int]
    """In how many bands of rows it is made, one after the other, inside the tiles or from the host. Tiled machine."""
    parameters: NotRequired[str]
    """Where its parameters live: ``copy`` (in every tile that needs them), ``partition`` (in each tile its own),
    ``home tile`` (in one tile, which sends them), ``streamed`` (in data memory), or several of these; empty if it has
    none, and on other machines."""
    macs: Count
    """Multiply-accumulates that the model asks for, of all inferences."""
    tiles: Count
    """On how many tiles it runs; of another machine 1, or 0 if the host computes it."""
    start_cycle: int
    """When its first step began; 0 of a layer that the host computes."""
    cycles: Count
    """From its first step to its last result; of several inferences the sum. Layers may overlap."""
    mac_utilisation: float
    """``macs`` by those that its tiles' arrays could do in ``cycles``."""
    mac_busy_cycles: Count
    """Cycles in which MAC arrays worked for it, summed over the tiles."""
    bytes: BytesByBus
    """What its instructions put on each bus."""
    bound_by: str | None
    """The cause that most of its MAC arrays' cycles went into; None if they had none."""
    breakdown: CyclesByCause
    """What its MAC arrays' cycles went into, largest first, summed over the tiles."""
    matrix: NotRequired[MatrixShape | None]
    """The matrix product that it is. Systolic machine, layers on the array."""


class HostStepStatistics(TypedDict):
    """A layer that the host computed itself, as the chip has no unit for it; or bands of rows that it cut for a layer,
    or put together, as maps don't fit the tiles. Tiled machine.
    """

    layer: Count
    """The layer's place in ``layers``."""
    name: str
    """What the model calls it."""
    kind: str
    """The operator: the layer's, or ``slice`` and ``concatenation`` for bands."""
    from_chip_bytes: Count
    """Bytes that left the chip for it, and for no step before it."""
    to_chip_bytes: Count
    """Bytes that it made for the chip."""
    bytes: Count
    """Bytes of the tensors that it read and made, constants included."""
    start_cycle: Count
    """When it began: all that it reads had come, and the step before it was over."""
    cycles: Count
    """How long the host took for it."""


class RequestStatistics(TypedDict):
    """One inference."""

    network: str
    """Of which network."""
    loaded: NotRequired[bool]
    """Whether its parameters were loaded for it, rather than found on the chip."""
    start_cycle: Count
    """When it began: its first instruction is issued (tiled), its first byte leaves the host (systolic), or the run
    begins (rotating).
    """
    end_cycle: Count
    """When its last byte is at the host."""
    latency_cycles: Count
    """``end_cycle`` less ``start_cycle``."""
    outputs: NotRequired[list[int]]
    """Which of the run's outputs are its own."""


class MapPartition(TypedDict):
    """Which tile makes which part of a layer's map."""

    extent: Annotated[list[Count], Field(min_length=3, max_length=3)]
    """Height, width and channels of the map."""
    rows: list[Count]
    """The first row of the map that each row of the grid makes; it makes those to before the next one's, the last to
    the end. Empty where tiles make channels."""
    columns: list[Count]
    """Columns, likewise."""
    block: Count
    """How many channels each tile makes, the first tile the first; 0 where tiles make rows and columns."""
    order: NotRequired[list[Count]]
    """The tile at each place of the grid over which rows and columns are cut, row by row, if it is not the chip's."""


class LayerPartition(TypedDict):
    """How one layer is spread over the tiles."""

    layer: int
    """Its place in ``layers``."""
    choice: str
    """``spatial``, by rows and columns of its map, or ``channel``, by output channels."""
    reason: str
    """Why."""
    map: NotRequired[MapPartition]
    """Which tile makes which part of what it makes; missing where the program does not say, as older ones don't."""


class PartitionCandidate(TypedDict):
    """One way to spread the layers that was tried."""

    name: str
    """What it was."""
    cycles: int
    """Cycles that it took; -1 if there can be no such program."""
    reason: str
    """Why there can't."""
    network: NotRequired[str]
    """Of which network, where several share the chip."""


class PartitionStatistics(TypedDict):
    """How layers are spread over the tiles. Tiled machine."""

    asked: str
    """What was asked for: ``mixed``, ``spatial``, ``channel`` or ``auto``."""
    layers: list[LayerPartition]
    """What became of each layer that can be spread."""
    candidates: list[PartitionCandidate]
    """What was tried to find out."""


class BatchStep(TypedDict):
    """Some inferences of one layer, computed in a row."""

    layer: Count
    """The layer's place in ``layers``."""
    first: Count
    """The first of its inferences."""
    count: Count
    """How many inferences."""
    start_cycle: Count
    """When the first of its instructions began."""
    end_cycle: Count
    """When the last of them had retired."""
    buffer_bytes: Count
    """Bytes of the unified buffer that then hold what waits between layers."""


class BatchCosts(TypedDict):
    """What batches cost."""

    schedule: str
    """How batches were chosen: ``none``, ``demand``, ``lcm``."""
    weight_set_loads: Count
    """How many steps began with weights that were not in the array."""
    weight_bytes: Count
    """Bytes that weight memory sent."""
    peak_buffer_bytes: Count
    """The most bytes that waited between layers."""
    latency_first_cycles: Count
    """Latency of the first inference."""
    latency_last_cycles: Count
    """Latency of the last inference."""


class BatchingStatistics(BatchCosts):
    """Batches as they ran. Systolic machine, programs of several inferences."""

    predicted_cycles: NotRequired[dict[str, int] | None]
    """Cycles of each schedule that this one was chosen from."""
    weight_reuse: NotRequired[float]
    """How often a weight was to be used."""
    batches: NotRequired[list[int]]
    """The batch of each layer with weights."""
    steps: list[BatchStep]
    """The steps as they ran."""


class ArrayShape(TypedDict):
    """``array`` of ``chip``, where layers are matrix products. Systolic machine."""

    rows: Annotated[int, Field(gt=0)]
    """Rows of cells."""
    columns: Annotated[int, Field(gt=0)]
    """Columns of cells."""
    weights: Literal["columns", "rows"]
    """Whether the weights of one output lie in a column or in a row."""


class EndStatistics(TypedDict):
    """How a run ended that did not come to its end."""

    kind: Literal["hang", "collision", "access"]
    """``hang``: nothing could go on, or rows go round the ring for ever; ``collision``: transfers broke the rule for
    masters; ``access``: an address that a memory does not have."""
    section: str
    """In which section of the program: ``load`` or ``run``."""
    cycle: Count
    """When, from the start of that section."""
    report: list[str]
    """Why, in sentences: what the command has printed."""


class RunStatistics(TypedDict):
    """A run: plain numbers, strings, lists and objects, no times of day and no paths."""

    schema: str
    """``tilesim.run/1``."""
    machine: str
    """The kind of machine: ``tiled``, ``systolic``, ``rotating``."""
    network: str
    """Name of the network, or of the program."""
    topology: str
    """Name of the chip."""
    cycles: Count
    """From the first word in to the last word out, of all inferences."""
    load_cycles: Count
    """Cycles of the load program, which brings parameters before the run."""
    clock_hz: Annotated[int, Field(gt=0)]
    """Cycles a second."""
    latency_us: float
    """Latency of the first inference in microseconds."""
    macs: Count
    """Multiply-accumulates that the models ask for, of all inferences."""
    mac_utilisation: float
    """``macs`` by those that the machine could do in ``cycles``."""
    streamed_bytes: NotRequired[Count]
    """Parameter bytes that leave data memory (tiled), weight memory (systolic) or the host (rotating) while the program
    runs."""
    bytes: BytesByBus
    """What went over each bus."""
    energy: NotRequired[EnergyStatistics | None]
    """What was done that costs energy."""
    bound_by: str | None
    """The cause that most cycles of the MAC arrays went into."""
    breakdown: CyclesByCause
    """What the MAC arrays' cycles went into, largest first; it adds up to cycles × arrays."""
    units: list[UnitStatistics]
    """The account of each unit."""
    layers: list[LayerStatistics]
    """The layers in the order of the program."""
    links: list[LinkStatistics]
    """The account of each link and of each stop of the instruction bus."""
    partition: NotRequired[PartitionStatistics | None]
    """How layers are spread over the tiles."""
    findings: NotRequired[list[Finding]]
    """What the run noticed: transfers that met, rows that mixed, accesses that nothing orders."""
    host_steps: NotRequired[list[HostStepStatistics]]
    """What the host computed itself, if it did."""
    instant: NotRequired[list[str]]
    """The labels of transfers that took no time, if the user had some do so: then this is no run of the chip."""
    inferences: Count
    """How many inferences the run is of."""
    end: NotRequired[EndStatistics]
    """Of a run that did not come to its end: how it ended. All else is then up to where it stood, and there are no
    outputs; if it ended in the load program, ``cycles``, units and links are those of the load."""
    requests: list[RequestStatistics]
    """The inferences, in order."""
    interval_cycles: NotRequired[float | None]
    """Mean cycles between the ends of inferences; None for one."""
    throughput_per_second: NotRequired[float]
    """Inferences a second."""
    batching: NotRequired[BatchingStatistics | None]
    """Batches, if the program was made for a plan of them."""
    trace_sha256: NotRequired[str | None]
    """Hash of the trace, if one was recorded."""
    chip: dict[str, Any]
    """Every key of the chip."""
