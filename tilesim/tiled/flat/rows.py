"""The row of numbers that each instruction becomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic.classify import elements_made
from tilesim.machines.holds import NO_HOLDS, Holds
from tilesim.sim.pipe.costs import Costs
from tilesim.tiled.flat.columns import BEFORE_IT_BEGINS, COLUMNS, EVERYWHERE, ISSUES, OPS, SOURCES, WRITES
from tilesim.tiled.flat.host import Outgoing, owed
from tilesim.tiled.flat.listing import Headers, layers_of, requests_of
from tilesim.tiled.isa.model.accesses import words_per_access
from tilesim.tiled.isa.model.fields import Engine, Flag, Nest
from tilesim.tiled.isa.model.instructions import (
    WORD_BYTES,
    Classify,
    Copy,
    Infeed,
    Instruction,
    MeshIn,
    MeshOut,
    NarrowToWide,
    Outfeed,
    Record,
    RingConsume,
    RingProduce,
    ScalarFence,
    TensorOp,
    TileFence,
    WideToNarrow,
    Work,
    counted_nest,
    raised_flag,
)
from tilesim.tiled.isa.model.likeness import form_numbers
from tilesim.tiled.isa.model.loops import completions, gates, iterations
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.units.host.sendings import takes_from_host
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.decoder import Decoder
from tilesim.tiled.units.ttu import TraversalForm

Row = dict[str, int]
OWN = ("words", "header", "last_stop", "layer", "gates", "gate_count", "holds", "hold_count")
"""What instructions that do the same have of their own."""
ENGINES = {engine: k for k, engine in enumerate(Engine)}
FLAGS = {flag: k for k, flag in enumerate(Flag)}
KINDS = {op: k for k, op in enumerate(OPS)}
OF_CONTROLLER = (Infeed, Outfeed, ScalarFence)
UNLIKE = (Outfeed, ScalarFence)
"""No two of them do the same: what they do depends on those before, or on their labels."""


class RowMaker:
    """Makes rows, and keeps what they point at: equal lists and bitmaps once."""

    def __init__(self, program: Program, decoder: Decoder | None = None, holds: Holds = NO_HOLDS) -> None:
        self._program, topology = program, program.topology
        self.bitmap_words = ceil((topology.tiles + 3) / 64)
        self._topology = topology
        self._bus_bytes = topology.instruction_bus.width_bytes
        self._layers = len(program.layers) + 1
        self._begins = {request.begins for request in program.requests if request.begins}
        self._outgoing = Outgoing(program)
        self._memories = TileMemories("tables", topology, 1)
        self._decoder = decoder or Decoder(TraversalForm(topology.tile))
        self._pool: list[int] = []
        self._lists: dict[tuple[int, ...], int] = {}
        self._bitmaps: dict[int, int] = {}
        self._holds: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for (label, tile), cycle in holds.items():
            self._holds[label].append((EVERYWHERE if tile is None else tile, cycle))
        self._rows: list[Row] = []

    def pool(self) -> NDArray[np.int64]:
        """What the rows' lists hold."""
        return np.array(self._pool or [0], np.int64)

    def bitmaps(self) -> NDArray[np.uint64]:
        """The bitmaps, so many words each."""
        parts = [bitmap >> 64 * k & (1 << 64) - 1 for bitmap in self._bitmaps for k in range(self.bitmap_words)]
        return np.array(parts or [0], np.uint64)

    def rows(self) -> NDArray[np.int64]:
        """The rows of all instructions, of load and run, but for :data:`OWN`; those that do the same have the same."""
        none = (0,) * len(COLUMNS)
        chosen = [*self._chosen()]
        rows = [[*map(row.get, COLUMNS, none)] for row in self._rows]
        return np.array(rows, np.int64).reshape(-1, len(COLUMNS))[chosen]

    def _chosen(self) -> Iterator[int]:
        """Which of the rows each has."""
        known: dict[Hashable, tuple[int, Costs | None]] = {}
        ops = (*self._program.load, *self._program.run)
        for op, number in zip(ops, self._program.once(form_numbers), strict=True):
            if isinstance(op, UNLIKE):
                yield self._put(op)
                continue
            costs = self._decoder.tensorop(op, self._memories).effort.costs if isinstance(op, TensorOp) else None
            form = number, getattr(op, "to", 0), id(costs)
            if form not in known:
                known[form] = self._put(op), costs  # with its costs, so that no others have their id
            yield known[form][0]

    def _put(self, op: Any) -> int:
        self._rows.append({"kind": KINDS["work"], **self._makers[type(op)](self, op)})
        return len(self._rows) - 1

    def own(self) -> NDArray[np.int64]:
        """What each instruction has of its own, a row of :data:`OWN`."""
        program, ops = self._program, (*self._program.load, *self._program.run)
        headers, sizes = program.once(Headers), np.array([*chain(*program.once(bus_bytes))], np.int64)
        bitmaps = np.array([*map(self._bitmap, headers.unlike)], np.int64)[headers.number]
        layers = program.once(requests_of) * self._layers + program.once(layers_of) + 1
        gates = np.array([*map(self._gates, ops)], np.int64).reshape(-1, 2)
        holds = np.array([*map(self._held, ops)], np.int64).reshape(-1, 2) if self._holds else np.zeros_like(gates)
        return np.column_stack([-(-sizes // self._bus_bytes), bitmaps, headers.stops - 1, layers, gates, holds])

    def _gates(self, op: Any) -> tuple[int, int]:
        if not getattr(op, "wait", ()):
            return 0, 0
        waits = [(BEFORE_IT_BEGINS, FLAGS[each.flag], each.expected) for each in op.wait if each.loop is None]
        held = gates(self._nest(op), op.wait) if len(waits) < len(op.wait) else ()
        at = [*waits, *((gate.group, FLAGS[gate.flag], gate.expected) for gate in held)]
        return self._list(number for gate in at for number in gate), len(at)

    def _nest(self, op: Work) -> Nest:
        """That of what its flag counts."""
        if isinstance(op, TensorOp):
            return self._decoder.tensorop(op, self._memories).operands.group_nest
        return counted_nest(op)

    def _held(self, op: Instruction) -> tuple[int, int]:
        holds = sorted(self._holds.get(op.label, ()))  # those of a tile come after what is for all
        return (self._list(chain(*holds)), len(holds)) if holds else (0, 0)

    def _list(self, numbers: Iterable[int]) -> int:
        content = tuple(numbers)
        if content not in self._lists:
            self._lists[content] = len(self._pool)
            self._pool.extend(content)
        return self._lists[content]

    def _bitmap(self, bitmap: int) -> int:
        return self._bitmaps.setdefault(bitmap, len(self._bitmaps) * self.bitmap_words)

    def _tensorop(self, op: TensorOp) -> Row:
        decoded = self._decoder.tensorop(op, self._memories)
        nest, every = decoded.operands.group_nest, op.produce in (*op.reduce, op.nest.loops[-1].name)
        produce = range(1, decoded.operands.count + 1) if every else completions(nest, op.produce)
        runs = decoded.effort.costs.runs
        least_issues, least_writes = runs[:, [ISSUES, WRITES]].min(axis=0).tolist()
        return {
            **self._flags(op, produce),
            "runs": self._list(runs.reshape(-1).tolist()),
            "run_count": len(runs),
            "least_issues": least_issues,
            "least_writes": least_writes,
            "rounds": decoded.operands.count,
            "has_weights": op.weights is not None,
            "writes_wide": op.sums_out is not None,
        }

    def _ring_produce(self, op: RingProduce) -> Row:
        return {**self._counted(op), "to": self._bitmap(op.to), "destinations": op.to.bit_count()}

    def _copy(self, op: Copy) -> Row:
        words = self._memories.row_bytes // self._memories.word_bytes
        gathers = isinstance(op, NarrowToWide)
        return {
            **self._counted(op),
            "reads_a_row": words if gathers else 1,
            "writes_a_row": 1 if gathers else words,
        }

    def _mesh_in(self, op: MeshIn) -> Row:
        words = words_per_access(op, self._topology)
        fills = op.fill is not None
        parts = words if fills else words * self._topology.mesh_beats
        return {**self._counted(op), "fill": fills, "words_an_access": words, "parts_an_access": parts}

    def _mesh_out(self, op: MeshOut) -> Row:
        beats = words_per_access(op, self._topology) * self._topology.mesh_beats
        return {**self._counted(op), "beats_an_access": beats, "reads_wide": op.memory == "wide"}

    def _tile_fence(self, op: TileFence) -> Row:
        idle = sum(1 << ENGINES[engine] for engine in set(op.idle))
        reset = sum(1 << FLAGS[flag] for flag in set(op.reset))
        return {"kind": KINDS["fence"], "idle": idle, "reset": reset, "increment": op.increment}

    def _record(self, op: Record) -> Row:
        del op
        return {"kind": KINDS["record"]}

    def _classify(self, op: Classify) -> Row:
        times = op.scaling[0] if op.function.startswith("top_k") else 1
        row_bytes = self._topology.wide_memory.row_bytes
        return {
            "kind": KINDS["classify"],
            "rounds": op.rows,
            "classify_cycles": times * op.elements * self._topology.classifier.cycles_per_element,
            "reply_rows": ceil(reply_bytes(op) / row_bytes),
            "to": self._bitmap(1 << self._topology.tiles + 1),
        }

    def _infeed(self, op: Infeed) -> Row:
        return {
            "kind": KINDS["infeed"],
            "rounds": op.rows,
            "source": SOURCES.index("host" if takes_from_host(op, self._topology) else op.source),
            "transfers": op.transfers,
            "turn": op.turn,
            "to": self._bitmap(op.to),
            "destinations": op.to.bit_count(),
        }

    def _outfeed(self, op: Outfeed) -> Row:
        rate = self._topology.host.from_chip_bytes_per_second
        owes = self._list(owed(size, rate, self._topology) for size in self._outgoing.sizes(op))
        return {"kind": KINDS["outfeed"], "rounds": op.rows, "owes": owes}

    def _scalar_fence(self, op: ScalarFence) -> Row:
        return {
            "kind": KINDS["scalar_fence"],
            "count": op.count,
            "idle": len(op.idle),
            "begins": op.label in self._begins,
        }

    def _counted(self, op: Any) -> Row:
        nest = counted_nest(op)
        return {**self._flags(op, completions(nest, op.produce)), "rounds": iterations(nest)}

    def _flags(self, op: Any, rises: Sequence[int]) -> Row:
        period = _period(rises)
        return {
            "engine": ENGINES[op.engine],
            "flag": FLAGS[raised_flag(op)],
            "rises": 0 if period else self._list(rises),
            "rise_count": 0 if period else len(rises),
            "rise_period": period,
        }

    _makers: ClassVar[Mapping[type, Callable[[RowMaker, Any], Row]]] = {
        TensorOp: _tensorop,
        RingConsume: _counted,
        RingProduce: _ring_produce,
        NarrowToWide: _copy,
        WideToNarrow: _copy,
        MeshIn: _mesh_in,
        MeshOut: _mesh_out,
        TileFence: _tile_fence,
        Record: _record,
        Classify: _classify,
        Infeed: _infeed,
        Outfeed: _outfeed,
        ScalarFence: _scalar_fence,
    }


def _period(rises: Sequence[int]) -> int:
    """How far apart the rises of a flag are, and the first from the beginning; 0 if that differs or none is."""
    if isinstance(rises, range) or not rises:
        return len(rises[:1])
    return rises[0] if all(b - a == rises[0] for a, b in pairwise(rises)) else 0


def bus_bytes(program: Program) -> tuple[Sequence[int], Sequence[int]]:
    """What each instruction of load and of run takes on the instruction bus; none, if it is the controller's own."""
    return [*_bus_bytes(program.load)], [*_bus_bytes(program.run)]


def _bus_bytes(ops: Sequence[Instruction]) -> Iterator[int]:
    announced = 0
    for op in ops:
        kind, size_bytes = type(op), (op.words - (announced > 0)) * WORD_BYTES
        if announced or kind is Record:
            announced = op.parts if isinstance(op, Record) else announced - 1
        yield 0 if kind in OF_CONTROLLER else size_bytes


def reply_bytes(op: Classify) -> int:
    """What the classifier makes."""
    made = elements_made(op.function, op.elements, op.scaling)
    places = op.function in ("argmax", "top_k_indices")
    return made * (4 if places else op.output_type.bytes)
