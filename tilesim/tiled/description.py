"""The multi-tile chip in the words of a report."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import product

from tilesim.machines.description import AreaPart, Cause, Dependences, Description, PeakRate, Resource, Role
from tilesim.sim.core.unit import Reason
from tilesim.tiled.isa.model.sheet import CLIENTS

ROLES = (
    Role("ring.link*", "ring links", bus="ring"),
    Role("mesh.*", "mesh links", bus="mesh"),
    Role("instruction_bus.stop*", "instruction bus stops", bus="instruction bus"),
    Role("host.infeed", "host infeed", bus="host"),
    Role("host.outfeed", "host outfeed", bus="host"),
    Role("host.processor", "host processor"),
    Role("mac_array", "MAC arrays", apart=True),
    Role("tensor", "tensor controls"),
    Role("ring_consumer", "ring consumers"),
    Role("ring_consumer_b", "ring consumers B"),
    Role("ring_producer", "ring producers", sends_on="ring", moves=True),
    Role("narrow_to_wide", "narrow to wide", moves=True),
    Role("wide_to_narrow", "wide to narrow", moves=True),
    Role("mesh_in_*", "mesh in"),
    Role("mesh_out_*", "mesh out", moves=True),
    Role("infeed", "infeed", sends_on="ring", moves=True),
    Role("outfeed", "outfeed", moves=True),
    Role("classifier", "classifier", sends_on="ring"),
    Role("controller", "controller"),
)
GROUPS = {
    "host": "Host and controller",
    "controller": "Host and controller",
    "infeed": "Host and controller",
    "outfeed": "Host and controller",
    "classifier": "Classifier tile",
    "ring": "Ring bus",
    "mesh": "Mesh",
    "instruction_bus": "Instruction bus",
}
DEPENDENCES = Dependences(
    started_by={
        "ring.link#": ("ring.link#-1", "tile#-1.ring_producer", "infeed", "outfeed", "classifier"),
        "mesh.tile#.*": ("tile#.mesh_out_*",),
        "tile#.*": ("instruction_bus.stop#",),
        "instruction_bus.stop0": ("controller",),
        "instruction_bus.stop#": ("instruction_bus.stop#-1",),
        "classifier": ("instruction_bus.stop*",),
        "host.outfeed": ("outfeed",),
        "host.processor": ("host.outfeed",),
        "infeed": ("controller",),
        "outfeed": ("controller",),
    },
    taken_by={"ring.link#": ("tile#-1.ring_consumer", "tile#-1.ring_consumer_b")},
    freed_by={"instruction_bus.stop#": ("tile#.*", "classifier")},
    told_by={"tile#.tensor": ("tile#.mac_array",)},
)


def _ports() -> Iterator[Resource]:
    """For each two roles the ports of a tile's memories that both want."""
    endings = [role.ending for role in ROLES]
    wanted = {
        ending: [port for port, clients in CLIENTS.items() if any(fnmatchcase(engine, ending) for _, engine in clients)]
        for ending in endings
    }
    wanted["mac_array"] = wanted["tensor"]
    for one, other in product(endings, endings):
        both = [port.replace("_", " ") for port in wanted[one] if port in wanted[other]]
        if both:
            yield Resource(f"{' or '.join(both)} port", Reason.PORT, one, other)


RESOURCES = (
    *_ports(),
    Resource("a memory port, for reads of its own", Reason.PORT, "tensor", own=True),
    Resource("a memory port, for reads of its own", Reason.PORT, "mac_array", own=True),
    Resource("memory ports", Reason.PORT),
    Resource("flags", Reason.FLAG),
    Resource("output FIFO", Reason.FIFO, "mac_array", own=True),
    Resource("output FIFO", Reason.FIFO, "tensor", own=True),
    Resource("mesh", Reason.FIFO, "mesh_in_*"),
    Resource("mesh", Reason.CREDIT, "mesh_out_*"),
    Resource("mesh", Reason.CREDIT, "mesh.*"),
    Resource("instruction buffers", Reason.FIFO, "instruction_bus.stop*"),
    Resource("instruction bus", Reason.CREDIT, "instruction_bus.stop*"),
    Resource("instruction bus", Reason.CREDIT, "controller"),
    Resource("host", Reason.FIFO, "controller"),
    Resource("host", Reason.FIFO, "host.infeed"),
    Resource("host", Reason.HOST),
    Resource("ring", Reason.FIFO),
    Resource("ring", Reason.CREDIT),
    Resource("results of its own", Reason.HAZARD, own=True),
    Resource("first address", Reason.TRAVERSAL, own=True),
    Resource("no more work", Reason.WORK, own=True),
    Resource("held by the user", Reason.HOLD, own=True),
)
CAUSES = {
    "macs": Cause("the MAC array multiplies, or does the layer's other work", lost="remainder"),
    "output write": Cause(
        "the output FIFO is full or empties, or holds a result that is to be read again",
        "waiting for outputs to be written",
        lost="ports",
    ),
    "port": Cause("a memory port is denied, or reads parameters or sums", "waiting for a memory port", lost="ports"),
    "mesh": Cause(
        "borders come too late, which the mesh brings or fills",
        "waiting for borders, which the mesh brings or fills",
        lost="halo",
    ),
    "ring": Cause(
        "rows come too late over the ring",
        "waiting for rows that come over the ring",
        lost="bus",
        lost_if_sent="parameters",
    ),
    "host": Cause("inputs, or instructions, come too late from the host", "waiting for the host's inputs", lost="bus"),
    "instruction bus": Cause(
        "an instruction, or its first address, comes too late", "waiting for an instruction", lost="bus"
    ),
    "flags": Cause("other work of the tile is not done", "waiting for other work of the tile", lost="tile"),
    "no work": Cause(
        "the tile has nothing to do: layers run on other tiles only, or nothing is left",
        "without work: layers on other tiles only, or none left",
        lost="idle",
    ),
}
COLUMNS = {
    "cycles": (
        "Those of the average MAC array. Each tile accounts for the cycles from the end of its tensor operation before "
        "(or the start of the run) to the end of each of the layer's: so a cycle of a tile belongs to one layer at "
        "most, what the layer's inputs took to come is its own, and all rows together are the run's cycles."
    ),
    "lasted": (
        "From the first tile's first step to the last tile's last word; the start counts from the run's first cycle. "
        "Tiles go on to the next layer as soon as they can, so layers overlap. Of several inferences it is the sum, "
        "and the start is the first."
    ),
    "outside layers": (
        "Cycles of tiles behind their last tensor operation, or without any: while other tiles work, outputs are "
        "gathered in one tile, and rows leave over the ring, through the classifier tile and to the host."
    ),
    "bytes": (
        "What the layer's instructions put on each bus, counted once, where it enters: rows of the ring, words of the "
        "mesh, instructions, and what the host sends and gets. Headers are not counted. Outputs are gathered "
        "outside layers."
    ),
}
TILES = ("grid.rows", "grid.columns")
DESCRIPTION = Description(
    roles=ROLES,
    groups=GROUPS,
    dependences=DEPENDENCES,
    resources=RESOURCES,
    mac_arrays=".mac_array",
    causes=CAUSES,
    sent_parameters=("home tile", "home tiles", "streamed"),
    tile_keys=TILES,
    columns=COLUMNS,
    parameter_memory="data memory",
    peaks=(
        PeakRate("MAC arrays", (*TILES, "tile.lanes", "tile.inputs_per_cycle")),
        PeakRate("MAC arrays, byte by byte (depthwise)", (*TILES, "tile.vector_bytes")),
    ),
    bandwidths=(
        PeakRate(
            "read ports of all narrow memories", (*TILES, "narrow_memory.word_bytes"),
            byte="byte read from narrow memory", actions=("narrow_read",),
        ),
        PeakRate(
            "ring", ("ring.width_bytes",), byte="byte that enters the ring", bus="ring"
        ),
        PeakRate(
            "ports of all wide memories", (*TILES, "wide_memory.row_bytes", "wide_memory.ports"),
            byte="byte read from or written to wide memory", actions=("wide_read", "wide_write"),
        ),
        PeakRate(
            "all mesh links", ("mesh.width_bytes",), links="mesh",
            byte="byte that crosses the mesh", bus="mesh",
        ),
        PeakRate(
            "data memory", ("data_memory.bytes_per_cycle",),
            byte="byte read from data memory", actions=("data_memory_read",),
        ),
        PeakRate(
            "the host's link, one way", ("host.bytes_per_cycle",), byte="byte to or from the host", bus="host",
            rates=("host.to_chip_bytes_per_second", "host.from_chip_bytes_per_second"),
        ),
        PeakRate(
            "instruction bus", ("instruction_bus.width_bytes",), byte="byte of instructions", bus="instruction_bus"
        ),
    ),
    as_much_as={"ring.width_bytes": "wide_memory.row_bytes", "mesh.width_bytes": "narrow_memory.word_bytes"},
    buses=("ring", "mesh", "instruction_bus", "host"),
    memories=("narrow_memory", "wide_memory", "instruction_memory", "data_memory"),
    area=(
        AreaPart("MAC arrays", "mac", ("tiles", "macs_per_cycle")),
        AreaPart("narrow memories", "sram", ("tiles", "narrow_memory.size_bytes"), ports=2),  # one reads, one writes
        AreaPart("wide memories", "sram", ("tiles", "wide_memory.size_bytes"), ports="wide_memory.ports"),
        AreaPart("instruction memory", "sram", ("instruction_memory.size_bytes",)),
        AreaPart("ring", "link", ("ring_links", "ring.width_bytes")),
        AreaPart("mesh", "link", ("mesh_links", "mesh.width_bytes")),
        AreaPart("instruction bus", "link", ("instruction_bus_stops", "instruction_bus.width_bytes")),
        AreaPart("host", "link", ("host_link_bytes",)),
    ),
)  # fmt: skip
