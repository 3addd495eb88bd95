"""Which word is in which mux-register when, from the program and the cycles in which the array issued its slots."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tilesim.machines.motion import NONE, Hops, Motion, MovingOp, MovingSlots, Numbers
from tilesim.machines.program import where
from tilesim.rotating.datapath.conversion import targets
from tilesim.rotating.isa.model import instructions as isa
from tilesim.rotating.isa.model.program import Program
from tilesim.rotating.isa.walk import walk
from tilesim.rotating.layout import rows_in_words
from tilesim.rotating.row_contents import RowContents
from tilesim.rotating.topology import Topology
from tilesim.sim.trace.trace import Trace

ARRAY, BUSY = "nnu.array", "busy"
SLOT_FIELDS = ("slots", "op", "row", "moved", "weight", "weight_shift", "mask")


def motion(program: Program, trace: Trace | None) -> Motion:
    """As :class:`~tilesim.machines.machine.MovesWords` has it."""
    topology, issued = program.topology, Issued(program)
    for place, op, counters in walk(program.run):
        issued.add(place, op, counters)
    slots, shown = issued.slots(), ops(program)
    numbers = shown[1][slots.op]
    masks = list(issued.masks)
    named = np.zeros((len(masks), topology.units.count), bool)
    for k, mask in enumerate(masks):
        named[k, targets(mask, None, topology.units.count)[0]] = True
    frames = [(mask.offset, mask.block, mask.blocks) if mask.count else (0, 0, 0) for mask in masks]
    return Motion(
        rings=rings(topology),
        distances=topology.rotation.reach,
        ops=shown[0],
        slots=in_time(MovingSlots(**{**vars(slots), "op": numbers}), shown[0], topology, trace),
        rows=issued.contents.rows(),
        masks=named,
        mask_frames=np.array(frames, np.int64).reshape(-1, 3),
        weights=weights(program),
        hops=issued.hops.table(),
        is_timed=trace is not None,
    )


def rings(topology: Topology) -> Numbers:
    """The units of each ring, in the order in which words go on."""
    units = np.arange(topology.units.count)
    if topology.units.segment_shift == "quarter":
        units = np.roll(units, -(units.size // 4))
    of_rings = units.reshape(topology.units.segments, -1)
    return of_rings if topology.rotation.direction == "up" else of_rings[:, ::-1].copy()


def ops(program: Program) -> tuple[tuple[MovingOp, ...], Numbers]:
    """The instructions of ``run`` that issue slots; and of each of all, its place among these."""
    places = [
        k
        for k, op in enumerate(program.run)
        if isinstance(op, isa.Step | isa.Out | isa.Set | isa.Mask | isa.Parameters)
    ]
    numbers = np.full(len(program.run), NONE, np.int64)
    numbers[places] = np.arange(len(places))
    return tuple(_op(k, program.run[k]) for k in places), numbers


def _op(place: int, op: isa.Instruction) -> MovingOp:
    label = where("run", place, op).rpartition(" ")[0]
    if not isinstance(op, isa.Step):
        return MovingOp(label, op.mnemonic, op.layer, isinstance(op, isa.Out) and op.data is not None)
    work = "" if op.alu is isa.Alu.NONE else str(op.alu)
    step = op.weights.step if op.weights else 0
    return MovingOp(label, op.mnemonic, op.layer, op.data is not None, op.rotate, work, op.weights is not None, step)


def weights(program: Program) -> Numbers:
    """The program's data as rows of registers; half rows stand in both halves of the units."""
    topology = program.topology
    if not program.data:
        return np.zeros((0, topology.units.count), np.int64)
    data = np.concatenate([segment.data for segment in program.data]).reshape(-1, topology.row_bytes)
    words = rows_in_words(data, topology)
    parts = _parts(topology)
    return np.tile(words.reshape(-1, words.shape[1] // parts), parts).astype(np.int64)


def _parts(topology: Topology) -> int:
    """Rows that a step can name, in one of the weight RAM."""
    return 2 if topology.weight_ram.shape == "half_rows" else 1


class Issued:
    """What the array has issued so far, in program order."""

    def __init__(self, program: Program) -> None:
        self.contents = RowContents(program)
        self.hops = HopCount()
        self.masks: dict[isa.Mask, int] = {}
        self._program = program
        self._ring = program.topology.units.count // program.topology.units.segments
        self._parts = _parts(program.topology)
        self._elements: list[tuple[int, ...]] = []
        self._of_mask: list[tuple[int, int]] = []
        """The element behind each out, and the number of its mask."""
        self._mask = isa.Mask()
        self._row, self._moved, self._weight, self._shift = NONE, 0, NONE, 0

    def add(self, place: int, op: isa.Instruction, counters: tuple[int, ...]) -> None:
        if isinstance(op, isa.Sync):
            if op.until is isa.Counter.DMA_IN:
                strides = zip(op.strides, counters, strict=False)
                self.contents.await_rows(op.count + sum(stride * counter for stride, counter in strides))
        elif isinstance(op, isa.Step):
            self.hops.add(op)
            self._step(place, op, counters)
        elif isinstance(op, isa.Out):
            self.hops.add(op)
            self._out(place, op, counters)
        elif isinstance(op, isa.Mask | isa.Set | isa.Parameters):
            self._mask = op if isinstance(op, isa.Mask) else self._mask
            self._issue(place, 1)

    def slots(self) -> MovingSlots:
        """All of them, each element's cycle as if none had waited."""
        columns = np.array(self._elements, np.int64).reshape(-1, len(SLOT_FIELDS) - 1).T
        behind = np.searchsorted([end for end, _ in self._of_mask], np.arange(len(self._elements)), side="right")
        numbers = np.array([*(number for _, number in self._of_mask), NONE], np.int64)
        fields = dict(zip(SLOT_FIELDS, (*columns, numbers[behind]), strict=True))
        return MovingSlots(cycle=np.cumsum(fields["slots"]) - fields["slots"], **fields)

    def _issue(self, place: int, slots: int) -> None:
        self._elements.append((slots, place, self._row, self._moved, self._weight, self._shift))

    def _load(self, rows: isa.Rows, counters: tuple[int, ...], repetition: int = 0) -> None:
        self._row, self._moved = self.contents.data(rows.address(counters, repetition)), 0

    def _step(self, place: int, op: isa.Step, counters: tuple[int, ...]) -> None:
        for first, slots, weight, shift in self._pieces(op, counters):
            if op.data is not None:
                self._load(op.data, counters, first)
            self._moved = (self._moved + op.rotate) % self._ring
            self._weight, self._shift = weight, shift
            self._issue(place, slots)
            self._moved = (self._moved + op.rotate * (slots - 1)) % self._ring
            self._weight += op.weights.step * (slots - 1) if op.weights else 0

    def _pieces(self, op: isa.Step, counters: tuple[int, ...]) -> Iterator[tuple[int, int, int, int]]:
        """Repetitions whose weights stand one behind the other in the program's data, too: the first, how many, the
        first one's row of weights and how far that is from there. Each repetition that loads words stands alone.
        """
        if op.weights is None:
            for first, slots in ((k, 1) for k in range(op.repeat)) if op.data else ((0, op.repeat),):
                yield first, slots, self._weight, self._shift
            return
        rows = [op.weights.address(counters, k) for k in range(op.repeat)]
        shifts = [self._shift_of(row) for row in rows]
        first = 0
        for k in range(1, op.repeat + 1):
            if k == op.repeat or op.data or shifts[k] != shifts[first]:
                yield first, k - first, rows[first], shifts[first]
                first = k

    def _shift_of(self, row: int) -> int:
        stands, part = divmod(row, self._parts)
        known = self.contents.weights(stands)
        return -row - 1 if known == NONE else known * self._parts + part - row

    def _out(self, place: int, op: isa.Out, counters: tuple[int, ...]) -> None:
        if op.data is not None:
            self._load(op.data, counters)
        self._issue(place, 1)
        self._of_mask.append((len(self._elements), self.masks.setdefault(_words_of(self._mask), len(self.masks))))
        layers = self._program.layers
        layer = layers[op.layer].name if 0 <= op.layer < len(layers) else ""
        self.contents.write(op.row.address(counters), layer, op.function is isa.Function.RAW)


def _words_of(mask: isa.Mask) -> isa.Mask:
    """A mask that names the same words, and equals every other that does so in the same way."""
    if not mask.count:
        return isa.Mask()
    return isa.Mask(offset=mask.offset, block=mask.block, stride=mask.stride, count=mask.count, blocks=mask.blocks)


@dataclass
class HopCount:
    """How far words go in one go: rotations that do nothing else, one after the other, and the one behind them with
    which units work, if there is one. What sets registers does not part them.
    """

    _tally: Tally[tuple[int, int, int]] = field(default_factory=Tally)
    _words: int = 0
    _slots: int = 0
    _layer: int = NONE

    def add(self, op: isa.Step | isa.Out) -> None:
        if not (isinstance(op, isa.Step) and op.rotate):
            self._end()
            return
        self._layer = op.layer
        if op.alu is isa.Alu.NONE and op.weights is None:
            self._words += op.rotate * op.repeat
            self._slots += op.repeat
            return
        self._words += op.rotate
        self._slots += 1
        self._end()
        if op.repeat > 1:
            self._tally[op.layer, op.rotate, 1] += op.repeat - 1

    def table(self) -> Hops:
        self._end()
        rows = np.array([(*key, count) for key, count in sorted(self._tally.items())], np.int64).reshape(-1, 4)
        return Hops(*rows.T)

    def _end(self) -> None:
        if self._slots:
            self._tally[self._layer, self._words, self._slots] += 1
        self._words = self._slots = 0


def in_time(slots: MovingSlots, shown: tuple[MovingOp, ...], topology: Topology, trace: Trace | None) -> MovingSlots:
    """The slots in the cycles in which the array was busy; an element in which a slot waited becomes two."""
    if trace is None:
        return slots
    starts, cycles = _busy(trace)
    ends = np.cumsum(cycles)
    firsts = np.unique(np.concatenate([slots.cycle, ends - cycles]))
    total = min(int(ends[-1]) if ends.size else 0, int(slots.slots.sum()))
    firsts = firsts[firsts < total]
    of = np.searchsorted(slots.cycle, firsts, side="right") - 1
    span = np.searchsorted(ends, firsts, side="right")
    parts, later = slots.only(of), firsts - slots.cycle[of]
    rotate = np.array([op.rotate for op in shown], np.int64)[parts.op]
    step = np.array([op.weight_step for op in shown], np.int64)[parts.op]
    return MovingSlots(
        cycle=starts[span] + firsts - (ends - cycles)[span],
        slots=np.diff(firsts, append=total),
        op=parts.op,
        row=parts.row,
        moved=(parts.moved + later * rotate) % (topology.units.count // topology.units.segments),
        weight=parts.weight + later * step,
        weight_shift=parts.weight_shift,
        mask=parts.mask,
    )


def _busy(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First cycles and lengths of the spans of the run in which the array issued slots, in order."""
    if ARRAY not in trace.tracks or BUSY not in trace.kinds:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    ours = (trace.track == trace.tracks.index(ARRAY)) & (trace.kind == trace.kinds.index(BUSY))
    ours &= trace.start_cycle >= trace.start
    order = np.argsort(trace.start_cycle[ours], kind="stable")
    return (trace.start_cycle[ours] - trace.start)[order], trace.cycles[ours][order]
