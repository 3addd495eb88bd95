"""The systolic machine in the words of a report."""

from __future__ import annotations

from tilesim.machines.description import AreaPart, Cause, Dependences, Description, PeakRate, Resource, Role
from tilesim.sim.core.unit import Reason
from tilesim.systolic.topology import SUM_BYTES

ROLES = (
    Role("host.infeed", "host infeed", bus="host"),
    Role("host.outfeed", "host outfeed", bus="host"),
    Role("host.instructions", "host instructions", bus="instructions"),
    Role("weight_memory", "weight memory", bus="weight memory"),
    Role("matrix", "matrix unit"),
    Role("vector", "vector unit"),
    Role("weight_path", "weight path"),
    Role("weight_fetcher", "weight fetcher", moves=True),
    Role("dma_in", "DMA in", sends_on="host", moves=True),
    Role("dma_out", "DMA out", sends_on="host", moves=True),
    Role("sequencer", "sequencer"),
)
GROUPS = {
    "host": "Host and sequencer",
    "sequencer": "Host and sequencer",
    "dma_in": "Host and sequencer",
    "dma_out": "Host and sequencer",
    "weight_memory": "Weights",
    "weight_fetcher": "Weights",
    "weight_path": "Weights",
    "matrix": "Array and vector unit",
    "vector": "Array and vector unit",
}
DEPENDENCES = Dependences(
    started_by={
        "sequencer": ("host.instructions",),
        "host.infeed": ("dma_in",),
        "host.outfeed": ("dma_out",),
        "weight_memory": ("weight_fetcher",),
        "weight_path": ("weight_fetcher",),
        "dma_in": ("sequencer",),
        "dma_out": ("sequencer",),
        "weight_fetcher": ("sequencer",),
        "matrix": ("sequencer",),
        "vector": ("sequencer",),
    }
)
RESOURCES = (
    Resource("issue queues", Reason.FIFO, "sequencer"),
    Resource("weight FIFO", Reason.FIFO, "weight_fetcher"),
    Resource("array, for weights", Reason.FIFO, "weight_path"),
    Resource("weights", Reason.WEIGHTS),
    Resource("weights", Reason.SHIFT),
    Resource("unified buffer or accumulators", Reason.RAW),
    Resource("host", Reason.INPUT),
    Resource("no more work", Reason.WORK, own=True),
    Resource("held by the user", Reason.HOLD, own=True),
)
CAUSES = {
    "useful MACs": Cause(
        "the systolic array is active: the share of its cells that hold weights of the layer", lost="remainder"
    ),
    "unused MACs": Cause("the systolic array is active: the share of its cells that hold none", lost="remainder"),
    "weight stall": Cause(
        "the next tile of weights has not come from weight memory",
        "waiting for weights from weight memory",
        lost="parameters",
    ),
    "weight shift": Cause(
        "the next tile of weights is on its way into the array, which has nothing else to do",
        "waiting for weights to be shifted in",
        lost="parameters",
    ),
    "RAW stall": Cause(
        "activations that the array would read are not written yet", "waiting for results of layers before", lost="tile"
    ),
    "input stall": Cause(
        "the host's inputs are not there yet, or a queue full of them keeps instructions back",
        "waiting for the host's inputs",
        lost="bus",
    ),
    "other": Cause(
        "the array has nothing to do: other units are at work, or instructions are on their way",
        "without work: other units are at work, or instructions come",
        lost="idle",
        short="other units",
    ),
}
COLUMNS = {
    "cycles": (
        "Those of the matrix unit, from the end of its work for other layers to the end of its last instruction for "
        "this one; a layer of the vector unit alone has the cycles in which the matrix unit waits for it. So all rows "
        "together are the run's cycles."
    ),
    "in use": "MACs divided by what all cells of the array could do in its cycles.",
    "lasted": "The same for each layer; of several inferences it is the sum, and the start is the first.",
    "outside layers": "Cycles behind the last instruction of the matrix unit, in which outputs leave.",
    "bytes": (
        "What the layer's instructions put on each link: what the host sends and gets, weights that leave weight "
        "memory, and the instructions themselves."
    ),
}
DESCRIPTION = Description(
    roles=ROLES,
    groups=GROUPS,
    dependences=DEPENDENCES,
    resources=RESOURCES,
    mac_arrays=".matrix",
    causes=CAUSES,
    columns=COLUMNS,
    parameter_memory="weight memory",
    peaks=(PeakRate("all cells of the array", ("array.rows", "array.columns")),),
    bandwidths=(
        PeakRate(
            "weight memory", ("weight_memory.channels", "weight_memory.channel_bytes"), clock="weight_memory.clock_hz",
            byte="byte of weights fetched", actions=("weight_memory_read",),
        ),
        PeakRate(
            "value loaders, a vector a cycle", ("array.rows",),
            byte="byte read from the unified buffer", actions=("buffer_read",),
        ),
        PeakRate(
            "the host's link, one way", ("host.bytes_per_cycle",), byte="byte to or from the host", bus="host"
        ),
        PeakRate(
            "the host's instructions", ("host.instruction_bytes_per_cycle",),
            byte="byte of instructions", bus="instructions",
        ),
    ),
    buses=("host", "weight_memory", "instructions"),
    memories=("unified_buffer", "weight_memory", "accumulators"),
    area=(
        AreaPart("array", "mac", ("macs_per_cycle",)),
        AreaPart("unified buffer", "sram", ("unified_buffer.size_bytes",), ports=2),
        AreaPart("accumulators", "sram", ("accumulators.entries", "array.outputs"), times=SUM_BYTES, ports=2),
        AreaPart("weight FIFO", "sram", ("weight_fifo.tiles", "weight_tile_bytes"), ports=2),
        AreaPart("weight memory's link", "link", ("weight_memory.transfer_bytes",)),
        AreaPart("host", "link", ("host.bytes_per_cycle",), times=2),
        AreaPart("instructions", "link", ("host.instruction_bytes_per_cycle",)),
    ),
)  # fmt: skip
