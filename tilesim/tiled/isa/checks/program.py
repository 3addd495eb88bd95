"""Static checks of a program: what no hardware could run, found before the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from operator import attrgetter

from tilesim.machines.program import where
from tilesim.printable import shown, unknown
from tilesim.tiled.isa.checks import buses
from tilesim.tiled.isa.checks.host_steps import step_faults
from tilesim.tiled.isa.checks.records import record_faults
from tilesim.tiled.isa.checks.tensorop import tensorop_faults
from tilesim.tiled.isa.checks.tensors import input_faults, output_faults, tensor_faults
from tilesim.tiled.isa.checks.values import bases_are_sound, differs_soundly, nest_faults, value_faults
from tilesim.tiled.isa.model import instructions as isa
from tilesim.tiled.isa.model.accesses import access_faults, accesses, transfer_faults
from tilesim.tiled.isa.model.fields import Watcher
from tilesim.tiled.isa.model.instructions import Infeed, Instruction, MeshIn, Outfeed, ScalarFence, program_bytes
from tilesim.tiled.isa.model.likeness import Kinds, shape
from tilesim.tiled.isa.model.program import HostTensor, MapCut, Program
from tilesim.tiled.topology import Topology

MOST_MACS = 1 << 50
"""Multiply-accumulates of a layer."""
SOURCES = ("host", "data", "ring")
SMALLEST = {
    "rows": 1,
    "transfers": 1,
    "turn": 0,
    "elements": 1,
    "elements_per_sender": 0,
    "output": 0,
    "increment": 0,
    "parts": 1,
    "count": 0,
    "fill": -128,
    "layer": -1,
}


PLAIN = frozenset({"int", "int | None", "str", "Channel", "MemoryName", "Side"})
"""Types of fields that have a value of their own, not operands, loops or watchers."""

_LEASTS = {
    kind: [(name, least) for name, least in SMALLEST.items() if name in kind.__dataclass_fields__]
    for kind in isa.INSTRUCTIONS
}


def faults(program: Program) -> list[str]:
    """Everything that is wrong with ``program``, one sentence each; empty when it is sound.

    A fault names the instruction by its label or its place (``load[3] ring_consume``) and the field. Waits that can
    never end are no faults: they are found, and explained, by running.
    """
    own, alike = _Own(program), _Alike(program.topology, program.once(Kinds))
    sentences = [
        f"{where(section, place, instruction)}: {sentence}"
        for section, instructions in (("load", program.load), ("run", program.run))
        for place, instruction in enumerate(instructions)
        for sentence in chain(own.faults(instruction), alike.faults(instruction))
    ]
    for check in (
        buses.broadcast_faults,
        record_faults,
        _request_faults,
        _host_tensor_faults,
        step_faults,
        _layer_faults,
        _region_faults,
        _label_faults,
        tensor_faults,
        _data_faults,
        _row_faults,
        _size_faults,
        buses.pair_faults,
    ):
        sentences += check(program)
    return sentences


def _own_faults(instruction: Instruction, program: Program) -> Iterator[str]:
    """What is wrong with an instruction in this program, on its tiles."""
    topology = program.topology
    yield from _number_faults(instruction, program)
    yield from _bitmap_faults(instruction, topology.tiles)
    yield from buses.stop_faults(instruction, topology.tiles)
    yield from buses.channel_faults(instruction, topology)
    if isinstance(instruction, MeshIn | isa.MeshOut):
        yield from buses.mesh_faults(instruction, topology)
    if isinstance(instruction, Infeed | Outfeed):
        yield from _host_faults(instruction, program)


_STANDING = {
    kind: attrgetter(*(each.name for each in fields(kind) if each.type in PLAIN and each.name != "label"))
    for kind in isa.INSTRUCTIONS
}


def _standing(instruction: Instruction) -> Hashable:
    """All that :func:`_own_faults` looks at."""
    watchers: tuple[Watcher, ...] = getattr(instruction, "wait", ())
    kind = type(instruction)
    return kind, _STANDING[kind](instruction), tuple(watcher.flag for watcher in watchers)


@dataclass(frozen=True)
class _Own:
    """What is wrong with instructions in a program, found out once for those that stand alike."""

    program: Program
    _sound: set[Hashable] = field(default_factory=set)

    def faults(self, instruction: Instruction) -> Sequence[str]:
        key = _standing(instruction)
        if key in self._sound:
            return ()
        sentences = tuple(_own_faults(instruction, self.program))
        if not sentences:
            self._sound.add(key)
        return sentences


@dataclass(frozen=True)
class _Alike:
    """What is wrong with instructions wherever they stand, found out once for those that are alike."""

    topology: Topology
    kinds: Kinds
    _known: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _sound: set[Hashable] = field(default_factory=set)
    """Shapes with which nothing is wrong, wherever operands begin."""

    def faults(self, instruction: Instruction) -> tuple[str, ...]:
        """Of what such instructions may differ in nothing would be told but faults."""
        if not differs_soundly(instruction):
            return tuple(_faults_anywhere(instruction, self.topology))
        key = self.kinds.number(instruction)
        if key not in self._known:
            self._known[key] = self._of_kind(instruction)
        return self._known[key]

    def _of_kind(self, instruction: Instruction) -> tuple[str, ...]:
        known = shape(instruction)
        if known in self._sound and bases_are_sound(instruction):
            return tuple(_address_faults(instruction, self.topology))
        sentences = tuple(_faults_anywhere(instruction, self.topology))
        if not sentences:
            self._sound.add(known)
        return sentences


def _faults_anywhere(instruction: Instruction, topology: Topology) -> Iterator[str]:
    if isinstance(instruction, isa.TensorOp):
        yield from tensorop_faults(instruction, topology)
    if isinstance(instruction, ScalarFence) and set(instruction.idle) - {"outfeed"}:
        yield f"idle must name the outfeed or nothing, not {','.join(instruction.idle)}"
    loops = list(nest_faults(instruction, topology))
    yield from loops
    if not loops:  # addresses mean nothing in an unsound nest
        yield from value_faults(instruction)
        yield from buses.ring_faults(instruction, topology)
        yield from _address_faults(instruction, topology)
        yield from transfer_faults(instruction, topology)


def _address_faults(instruction: Instruction, topology: Topology) -> Iterator[str]:
    for access in accesses(instruction, topology):
        yield from access_faults(access, topology)


def _number_faults(instruction: Instruction, program: Program) -> Iterator[str]:
    for name, least in _LEASTS[type(instruction)]:
        value = getattr(instruction, name)
        if isinstance(value, int) and value < least:
            yield f"{name} must be at least {least}, not {value}"
    if instruction.layer >= len(program.layers):
        yield f"layer must be below the number of layers {len(program.layers)}, not {instruction.layer}"
    if isinstance(instruction, MeshIn) and instruction.fill is not None and instruction.fill > 255:
        yield f"fill must be a byte, -128 to 255, not {instruction.fill}"


def _bitmap_faults(instruction: Instruction, tiles: int) -> Iterator[str]:
    given = vars(instruction)
    for name, width, what in (("tiles", tiles, "tiles"), ("to", tiles + 2, "tiles, classifier and sink")):
        bitmap = given.get(name)
        if bitmap is not None and not 0 < bitmap < 1 << width:
            stops = "none" if bitmap == 0 else f"{bitmap:#x}"
            yield f"{name} must name some of the {width} {what} (1 to {(1 << width) - 1:#x}), not {stops}"


def _host_faults(instruction: Infeed | Outfeed, program: Program) -> Iterator[str]:
    if isinstance(instruction, Outfeed):
        if instruction.output >= len(program.leaving):
            yield f"output must be below the number of outputs {len(program.leaving)}, not {instruction.output}"
        return
    if instruction.source not in SOURCES:
        yield f"source {unknown(instruction.source, SOURCES, 'where the rows are')}"
    size_bytes = program.topology.data_memory.size_bytes
    end = instruction.address + instruction.total_rows * program.topology.wide_memory.row_bytes
    if instruction.source == "data" and not 0 <= instruction.address <= end <= size_bytes:
        reach = f"{instruction.address:#x} to {end:#x}"
        yield f"address must stay inside the data memory of {size_bytes} bytes, not {reach}"


def _label_faults(program: Program) -> Iterator[str]:
    labels = Counter(instruction.label for instruction in (*program.load, *program.run) if instruction.label)
    for label, count in labels.items():
        if count > 1:
            yield f"{label}: a label must belong to one instruction, not to {count}"


def _data_faults(program: Program) -> Iterator[str]:
    size_bytes = program.topology.data_memory.size_bytes
    names = Counter(segment.name for segment in program.data)
    yield from (
        f"data: the name {shown(name)} must belong to one segment" for name, count in names.items() if count > 1
    )
    for segment in program.data:
        if str(segment.data.dtype) != "uint8" or segment.data.ndim != 1:
            yield (
                f"data {shown(segment.name)}: must be bytes (uint8), one after the other, not {segment.data.dtype} of "
                f"shape {segment.data.shape}"
            )
    end, before = 0, ""
    for segment in sorted(program.data, key=lambda segment: segment.address):
        last = segment.address + segment.data.size
        if segment.address < 0 or last > size_bytes:
            yield (
                f"data {shown(segment.name)}: address must keep it inside the data memory of {size_bytes} bytes, "
                f"not {segment.address:#x} to {last:#x}"
            )
        if before and segment.address < end:
            yield f"data {shown(segment.name)}: address must not lie in {shown(before)}, which ends at {end:#x}"
        end, before = max((end, before), (last, segment.name))


def _host_tensor_faults(program: Program) -> Iterator[str]:
    ways: tuple[tuple[str, Sequence[HostTensor], Callable[[HostTensor, int], Iterable[str]]], ...] = (
        ("input", program.inputs, input_faults),
        ("output", program.outputs, output_faults),
        ("given", program.given, input_faults),
        ("taken", program.taken, output_faults),
    )
    for way, tensors, faults_of in ways:
        for tensor in tensors:
            for sentence in faults_of(tensor, program.topology.wide_memory.row_bytes):
                yield f"{way} {shown(tensor.name)}: {sentence}"


def _row_faults(program: Program) -> Iterator[str]:
    """Rows that nobody takes; more rows taken than there are is a wait without an end, which the run explains."""
    for place, op in enumerate(program.load):
        if isinstance(op, Outfeed) or (isinstance(op, Infeed) and op.source == "host"):
            yield f"{where('load', place, op)}: rows of the host must pass in the run, not while parameters are loaded"
    given = sum(tensor.rows for tensor in program.sent)
    taken = sum(op.total_rows for op in program.run if isinstance(op, Infeed) and op.source == "host")
    if taken < given:
        yield f"run: the infeeds must take all {given} rows of the inputs from the host, not {taken}"
    for place, tensor in enumerate(program.leaving):
        rows = sum(op.rows for op in program.run if isinstance(op, Outfeed) and op.output == place)
        if rows != tensor.rows:
            yield f"run: the outfeeds of output {place} must pass on its {tensor.rows} rows, not {rows}"


def _layer_faults(program: Program) -> Iterator[str]:
    for place, layer in enumerate(program.layers):
        if not 0 <= layer.macs < MOST_MACS:
            yield f"layer {place} ({shown(layer.name)}): macs must be 0 to {MOST_MACS - 1}, not {layer.macs}"
        if layer.cut is not None:
            yield from (f"layer {place} ({shown(layer.name)}): {fault}" for fault in _cut_faults(layer.cut, program))


def _cut_faults(cut: MapCut, program: Program) -> Iterator[str]:
    grid, (height, width, channels) = program.topology.grid, cut.extent
    if min(cut.extent) < 1:
        yield f"cut must be of an extent of at least 1 x 1 x 1, not {height} x {width} x {channels}"
    if cut.block < 0 or (cut.block and (cut.rows or cut.columns)):
        yield f"cut must have a block of channels, or rows and columns, not block {cut.block} and both"
    if cut.block:
        return
    rows, columns = (grid.rows, grid.columns)
    if cut.order:
        rows, columns = len(cut.rows), len(cut.columns)
        if sorted(cut.order) != list(range(grid.rows * grid.columns)) or rows * columns != len(cut.order):
            yield f"cut must have an order of all tiles, one for each of {rows} x {columns} places, not {cut.order}"
    for axis, starts, parts, size in (("rows", cut.rows, rows, height), ("columns", cut.columns, columns, width)):
        if len(starts) != parts or [0, *starts, size] != sorted([0, *starts, size]):
            yield f"cut must have {parts} {axis} that rise from 0 to at most {size}, not {starts}"


def _region_faults(program: Program) -> Iterator[str]:
    topology = program.topology
    sizes = {"narrow": topology.narrow_memory.size_bytes, "wide": topology.wide_memory.size_bytes}
    for region in program.regions:
        where, end = f"region {shown(region.name)}", region.address + region.bytes
        if region.memory not in sizes:
            yield f"{where}: memory {unknown(region.memory, sizes, 'a memory of a tile')}"
        elif region.address < 0 or region.bytes < 1 or end > sizes[region.memory]:
            yield f"{where}: must lie in the {sizes[region.memory]} bytes of its memory, not {region.address} to {end}"
        if not 0 < region.tiles < 1 << topology.tiles:
            yield f"{where}: tiles must name some of the {topology.tiles} tiles, not {region.tiles:#x}"


def _size_faults(program: Program) -> Iterator[str]:
    need, have = program_bytes((*program.load, *program.run)), program.topology.instruction_memory.size_bytes
    if need > have:
        words = need // isa.WORD_BYTES
        yield f"program: its {words} words must fit in the instruction memory of {have} bytes, not take {need}"


def _request_faults(program: Program) -> Iterator[str]:
    """Requests that begin nowhere, or not one after the other, and outputs that are nobody's."""
    if not program.requests:
        return
    fences = [op.label for op in program.run if isinstance(op, ScalarFence) and op.label]
    begins = [request.begins for request in program.requests]
    known = [label for label in begins[1:] if label in fences]
    for k, label in enumerate(begins):
        if (label not in fences) if k else label:
            what = "name a scalar fence of the run" if k else "be left out: the first one begins with the run"
            yield f"request {k + 1}: begins must {what}, not {shown(label)}"
    if known != sorted(set(known), key=fences.index):
        yield "requests must begin one after the other, each behind a fence of its own"
    if any(request.loads not in (0, 1) for request in program.requests):
        yield "requests must have loads 0 or 1"
    claimed = [request.outputs for request in program.requests]
    if min(claimed) < 0 or sum(claimed) != len(program.outputs):
        yield f"requests must have all {len(program.outputs)} outputs among them, not {' + '.join(map(str, claimed))}"
