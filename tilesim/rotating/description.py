"""The rotating machine in the words of a report."""

from __future__ import annotations

from tilesim.machines.description import AreaPart, Cause, Dependences, Description, PeakRate, Resource, Role
from tilesim.sim.core.unit import Reason

ROLES = (
    Role("host.in", "host infeed", bus="host"),
    Role("host.out", "host outfeed", bus="host"),
    Role("array", "array"),
    Role("output", "output unit"),
    Role("parameters", "parameter fetcher"),
    Role("dma_in", "DMA in", sends_on="host"),
    Role("dma_out", "DMA out", sends_on="host"),
)
GROUPS = {
    "host": "Host and DMA",
    "dma_in": "Host and DMA",
    "dma_out": "Host and DMA",
    "array": "Array and output unit",
    "output": "Array and output unit",
    "parameters": "Array and output unit",
}
DEPENDENCES = Dependences(
    started_by={
        "host.in": ("dma_in",),
        "host.out": ("dma_out",),
        "output": ("array",),
        "parameters": ("array",),
    }
)
RESOURCES = (
    Resource("ports of the RAMs", Reason.PORT),
    Resource("buffers of the output unit", Reason.FIFO, "array"),
    Resource("host's link", Reason.FIFO, "dma_out"),
    Resource("host's link", Reason.HOST, "dma_in"),
    Resource("parameters", Reason.WEIGHTS),
    Resource("rows that are being written", Reason.RAW),
    Resource("host", Reason.INPUT),
    Resource("no more work", Reason.WORK, own=True),
    Resource("held by the user", Reason.HOLD, own=True),
)
CAUSES = {
    "useful MACs": Cause("units multiply: the share of those products that the layer needs", lost="remainder"),
    "unused blocks": Cause(
        "units multiply: the share of those in blocks that have no part in the layer", lost="unused"
    ),
    "words without an output": Cause(
        "units multiply: the share of those whose word of a block belongs to no output", lost="remainder"
    ),
    "padding channels": Cause("units multiply by zero: no channel of the layer is there", lost="remainder"),
    "rotation": Cause(
        "words move on, and nothing is multiplied: channels come to the blocks that need them",
        "rotating words to where they are needed",
        lost="tile",
    ),
    "element-wise": Cause("units add, compare or copy words", "adding, comparing or copying words", lost="tile"),
    "capture": Cause(
        "the output unit takes the accumulators, or control registers are set for it",
        "handing sums to the output unit",
        lost="tile",
    ),
    "input stall": Cause("the host's rows are not there yet", "waiting for the host's rows", lost="bus"),
    "parameter stall": Cause(
        "biases, multipliers or a table are still to be fetched", "waiting for parameters", lost="parameters"
    ),
    "output stall": Cause("the output unit has no buffer free", "waiting for the output unit", lost="tile"),
    "RAW stall": Cause("a row that it would read is not written yet", "waiting for results", lost="tile"),
    "port stall": Cause("another unit has the port of a RAM", "waiting for the port of a RAM", lost="ports"),
    "no work": Cause(
        "the array has nothing to do: outputs leave, or it is held back", "without work: outputs leave", lost="idle"
    ),
}
COLUMNS = {
    "cycles": "Those of the array, for which an instruction of the layer was issued or waited.",
    "in use": "MACs divided by what all units could do in its cycles.",
    "lasted": "The same for each layer.",
    "outside layers": "Cycles behind the last instruction of the array, in which outputs leave.",
    "bytes": "What the layer's instructions put on the host's link, whole rows.",
}
DESCRIPTION = Description(
    roles=ROLES,
    groups=GROUPS,
    dependences=DEPENDENCES,
    resources=RESOURCES,
    mac_arrays=".array",
    causes=CAUSES,
    columns=COLUMNS,
    parameter_memory="the host",
    peaks=(PeakRate("all units", ("units.count",)),),
    bandwidths=(
        PeakRate(
            "a row a cycle of either RAM", ("units.count", "units.word_bits"), per=4,
            byte="byte read from the RAMs", actions=("buffer_read",),
        ),
        PeakRate("the host's link, one way", ("host.bytes_per_cycle",), byte="byte to or from the host", bus="host"),
    ),
    buses=("host",),
    memories=("data_ram", "weight_ram"),
    area=(
        AreaPart("units", "mac", ("units.count",)),
        AreaPart("data RAM", "sram", ("data_ram.rows", "row_bytes")),
        AreaPart("weight RAM", "sram", ("weight_ram.rows", "row_bytes")),
        AreaPart("host", "link", ("host.bytes_per_cycle",), times=2),
    ),
)  # fmt: skip
