"""What was measured of a run of the compiled engine: what the core timed, and instructions times what each does.

How often an instruction accesses a memory, and how many bytes it moves where, does not depend on time: it is in the
program. Each unit has it for one of the instructions of every layer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilesim.arithmetic import classify
from tilesim.machines.accounts import Accounts, Acted, Bus
from tilesim.sim.core.action import Action, Actions
from tilesim.sim.core.port import NEVER
from tilesim.sim.core.unit import Reason
from tilesim.tiled.dataflow.cuts import BEGAN, ROSE
from tilesim.tiled.flat.accounts import PROCESSOR
from tilesim.tiled.flat.columns import CAUSES, UNITS
from tilesim.tiled.flat.host import Outgoing, last_rows, sent
from tilesim.tiled.flat.listing import Headers, layers_of, requests_of
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.flat.rows import bus_bytes, reply_bytes
from tilesim.tiled.flat.tables import Numbers
from tilesim.tiled.isa.model.accesses import operands, words_per_access
from tilesim.tiled.isa.model.by_type import ByType
from tilesim.tiled.isa.model.fields import Engine, Side, bits, neighbour
from tilesim.tiled.isa.model.instructions import (
    Classify,
    Infeed,
    MeshIn,
    MeshOut,
    NarrowToWide,
    Outfeed,
    RingConsume,
    RingProduce,
    TensorOp,
    WideToNarrow,
)
from tilesim.tiled.isa.model.likeness import form_numbers
from tilesim.tiled.isa.model.loops import iterations
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.isa.model.tile_sets import tile_rows
from tilesim.tiled.run.measured import Measured
from tilesim.tiled.run.shares import Shares
from tilesim.tiled.units.classification import PER_COMPARISON, PER_ELEMENT
from tilesim.tiled.units.host.sendings import takes_from_host
from tilesim.tiled.units.memories import TileMemories
from tilesim.tiled.units.tensor.decoder import Decoder

NOT_THERE = Engine.RING_CONSUMER_B
"""What no chip has whose programs are covered."""
SHOWN = tuple(Reason.INSTRUCTION if cause == "idle" else cause for cause in CAUSES)


def counted(program: Program, timing: Timing, decoder: Decoder) -> Measured:
    """What there is to say of a run that came to its end."""
    assert timing.received is not None
    assert timing.steps is not None
    counter = _Counter(program, decoder)
    counter.count()
    cycles = {track: (timing.units or {}).get(track, {}) for track in tracks(program)}
    if program.steps:
        cycles[PROCESSOR] = _of_processor(timing)
    accounts = Accounts.of(cycles, counter.moved, [*counter.acted()], len(program.layers))
    began_at, ends_at = timing.steps.T.tolist()
    steps_began = dict(zip((step.label for step in program.steps), began_at, strict=True))
    made_at = dict(zip((step.makes for step in program.steps), ends_at, strict=True))
    arrivals = {number: made_at.get(tensor.index, 0) for number, tensor in enumerate(program.outputs)}
    arrivals |= {output: int(timing.received[rows - 1]) for output, rows in last_rows(program).items() if rows}

    def arrival(outputs: Iterable[int]) -> int:
        return max((arrivals.get(output, 0) for output in outputs), default=0)

    parts, came = _parts(program, timing), timing.programs
    assert came is not None
    announced = program.topology.host.announces_requests
    began = [max(part.start, there) for part, there in zip(parts, came.tolist(), strict=True)] if announced else []
    return Measured(accounts, _buses(cycles), parts, began, arrival, [], steps_began)


def _of_processor(timing: Timing) -> dict[str, int]:
    """Of the host's own processor: it waits for rows, takes the time of a step, and has no more to do at last."""
    assert timing.steps is not None
    began, ended = timing.steps.T
    busy, end = int((ended - began).sum()), int(ended[-1])
    idle = timing.start + timing.cycles - end
    cycles = {"busy": busy, Reason.FIFO.kind: end - timing.start - busy, "idle": idle}
    return {kind: count for kind, count in cycles.items() if count}


def tracks(program: Program) -> Iterator[str]:
    """The units of a chip, in its order."""
    topology = program.topology
    yield from (f"chip.ring.link{node}" for node in range(topology.ring_links))
    yield from (f"chip.{name}" for name in ("host.infeed", "host.outfeed", "infeed", "outfeed"))
    sides = [
        [side for side in Side if neighbour(topology.grid, tile, side) is not None] for tile in range(topology.tiles)
    ]
    engines = [engine for engine in Engine if not (engine.startswith("mesh_out") or engine is NOT_THERE)]
    for tile, there in enumerate(sides):
        yield from (f"chip.tile{tile}.{name}" for name in (engines[0], "mac_array", *engines[1:]))
        yield from (f"chip.tile{tile}.mesh_out_{side}" for side in there)
    yield from (f"chip.mesh.tile{tile}.{side}" for tile, there in enumerate(sides) for side in there)
    yield from ("chip.classifier", "chip.controller")
    yield from (f"chip.instruction_bus.stop{stop}" for stop in range(topology.instruction_bus_stops))
    yield from [PROCESSOR] if program.steps else []


def _buses(units: Iterable[str]) -> dict[str, Bus]:
    parts = ("chip.mesh.", "chip.ring.", "chip.instruction_bus.", ".ring_producer")
    mesh, ring, stops, producers = ([track for track in units if part in track] for part in parts)
    host = ["chip.host.infeed", "chip.host.outfeed"]
    return {
        "ring": Bus(["chip.infeed", *producers, "chip.classifier"], ring),
        "mesh": Bus(mesh, mesh),
        "instruction_bus": Bus(["chip.controller"], stops),
        "host": Bus(host, host),
    }


class _Counter:
    """Counts what each instruction of a run does, for the units that do it."""

    def __init__(self, program: Program, decoder: Decoder) -> None:
        self._program, self._decoder = program, decoder
        self._topology = program.topology
        self._row_bytes = program.topology.wide_memory.row_bytes
        self._word_bytes = program.topology.narrow_memory.word_bytes
        self._memories = TileMemories("counted", program.topology, 1)
        self._outgoing = Outgoing(program)
        self._acts: dict[str, dict[tuple[int, int], Counter[Action]]] = defaultdict(lambda: defaultdict(Counter))
        """By the unit's name, then by the tiles, none for a unit of the chip, and the layer."""
        self._sides: dict[tuple[type, str], list[tuple[str, Action]]] = {}
        self._layers = layers = len(program.layers) + 1
        """The last one is none."""
        self._layer_of = program.once(layers_of)[len(program.load) :]
        self.moved: dict[str, Numbers] = defaultdict(lambda: np.zeros(layers, np.int64))
        """By the unit's track, for each layer."""
        self._passed: Counter[tuple[int, int, int]] = Counter()
        """What goes over the ring, by the sender's node, the nodes that it is for, and the layer."""
        self._produced = np.zeros((self._topology.tiles, layers), np.int64)
        self._sent: Counter[tuple[Side, int, int]] = Counter()
        """What goes over the mesh, by the side, the tiles and the layer."""

    def count(self) -> None:
        for each in sent(self._program, self._program.run):
            self.moved["chip.host.infeed"][each.layer] += each.size_bytes
        by_type, begin = self._program.once(ByType), len(self._program.load)
        for kind, count in self._counters.items():
            own: Sequence[tuple[int, Any]] = by_type.of(kind)
            for op in (op for place, op in own if place >= begin):
                count(self, op)
        for op, times in self._moving():
            self._movers[type(op)](self, op, times)
        self._carry()
        self.moved |= {f"chip.ring.link{node}": passing for node, passing in enumerate(self._pass())}
        self.moved |= {f"chip.tile{tile}.ring_producer": sent for tile, sent in enumerate(self._produced)}
        self._send()

    def acted(self) -> Iterator[Acted]:
        """How often each unit took each action."""
        tiles = self._topology.tiles
        for name, acts in self._acts.items():
            bitmaps, layers = zip(*acts, strict=True)
            tracks = [f"chip.tile{tile}.{name}" for tile in range(tiles)] if bitmaps[0] else [f"chip.{name}"]
            rows = tile_rows(bitmaps, tiles) if bitmaps[0] else np.ones((len(acts), 1), bool)
            actions = [*dict.fromkeys(chain.from_iterable(acts.values()))]
            counts = [[each[action] for each in acts.values()] for action in actions]
            yield from map(Acted, repeat(tracks), actions, self._for_layers(rows, layers, counts))

    def _for_layers(self, rows: NDArray[np.bool_], layers: Sequence[int], counts: Sequence[Sequence[int]]) -> Numbers:
        """For each of several kinds of ``counts``, each unit and layer: ``rows`` say which units each count, for its
        layer, is of.
        """
        which, unit = np.nonzero(rows)
        place = unit * self._layers + np.array(layers)[which] % self._layers  # the last one is -1
        found = np.zeros((len(counts), rows.shape[1] * self._layers), np.int64)
        for own, each in zip(found, np.array(counts, np.int64), strict=True):
            np.add.at(own, place, each[which])
        return found.reshape(len(counts), rows.shape[1], self._layers)

    def _moving(self) -> Iterator[tuple[Any, int]]:
        """The instructions that move bytes of tiles: one for all that are alike, for the same tiles, layer and
        receivers, and how many these are.
        """
        begin, ops = len(self._program.load), self._program.run
        numbers = self._program.once(form_numbers)[begin:]
        headers = self._program.once(Headers).number[begin:].tolist()
        same = [*zip(numbers, headers, self._layer_of.tolist(), (getattr(op, "to", 0) for op in ops), strict=True)]
        times, first = Counter(same), dict(zip(reversed(same), reversed(ops), strict=True))
        return ((first[each], count) for each, count in times.items() if type(first[each]) in self._movers)

    def _carry(self) -> None:
        """Over the instruction bus, from stop to stop."""
        carried = np.zeros((self._topology.instruction_bus_stops + 1, self._layers), np.int64)
        begin, (_, sizes) = len(self._program.load), self._program.once(bus_bytes)
        np.add.at(carried, (self._program.once(Headers).stops[begin:], self._layer_of), sizes)
        passed = carried[::-1].cumsum(axis=0)[-2::-1]
        self.moved["chip.controller"] += carried.sum(axis=0)
        self.moved |= {f"chip.instruction_bus.stop{stop}": passing for stop, passing in enumerate(passed)}

    def _pass(self) -> Numbers:
        """Over each of the ring's links, up to the last of the nodes that it is for, for each layer."""
        passing, nodes = np.zeros((self._topology.ring_links, self._layers), np.int64), self._topology.tiles + 3
        for (sender, to, layer), size_bytes in self._passed.items():
            before = to & (1 << max(sender - 1, 0)) - 1  # those that it reaches beyond the last node
            reach = (before or to).bit_length() + nodes * (before > 0)
            passing[sender : min(reach, nodes), layer] += size_bytes
            passing[: max(0, reach - nodes), layer] += size_bytes
        return passing

    def _send(self) -> None:
        """Over the mesh."""
        for side in dict.fromkeys(side for side, _, _ in self._sent):
            own = [(tiles, layer, size) for (way, tiles, layer), size in self._sent.items() if way is side]
            bitmaps, layers, sizes = zip(*own, strict=True)
            [over] = self._for_layers(tile_rows(bitmaps, self._topology.tiles), layers, [sizes])
            self.moved |= {f"chip.mesh.tile{tile}.{side}": sent for tile, sent in enumerate(over) if sent.any()}

    def _count_tensorop(self, op: TensorOp) -> None:
        decoded = self._decoder.tensorop(op, self._memories)
        self._act(op.engine, op, decoded.effort.accesses)
        self._act("mac_array", op, decoded.effort.operations)

    def _count_accesses(self, op: Any, times: int) -> None:
        kind = type(op), getattr(op, "memory", "")
        if kind not in self._sides:
            self._sides[kind] = [(side.field, Action(side.access)) for side in operands(op, self._topology)]
        acts = self._acts[op.engine][op.tiles, op.layer]
        for field, access in self._sides[kind]:
            acts[access] += times * iterations(getattr(op, field).nest)

    def _count_ring_produce(self, op: RingProduce, times: int) -> None:
        self._count_accesses(op, times)
        size_bytes = times * iterations(op.read.nest) * self._row_bytes
        for tile in bits(op.tiles):
            self._produced[tile, op.layer] += size_bytes
            self._passed[tile + 1, op.to, op.layer] += size_bytes

    def _count_mesh_out(self, op: MeshOut, times: int) -> None:
        self._count_accesses(op, times)
        size_bytes = iterations(op.read.nest) * words_per_access(op, self._topology) * self._word_bytes
        self._sent[op.side, op.tiles, op.layer] += times * size_bytes

    def _count_outfeed(self, op: Outfeed) -> None:
        self.moved["chip.host.outfeed"][op.layer] += sum(self._outgoing.sizes(op))

    def _count_infeed(self, op: Infeed) -> None:
        size_bytes = op.rows * self._row_bytes
        self.moved["chip.infeed"][op.layer] += op.transfers * size_bytes
        for k in range(op.transfers):
            self._passed[0, op.to << k, op.layer] += size_bytes
        if op.source == "data" and not takes_from_host(op, self._topology):
            self._act("infeed", op, {Action.DATA_MEMORY_READ: op.total_rows})

    def _count_classify(self, op: Classify) -> None:
        size_bytes = -(-reply_bytes(op) // self._row_bytes) * self._row_bytes
        self.moved["chip.classifier"][op.layer] += size_bytes
        self._passed[self._topology.tiles + 1, 1 << self._topology.tiles + 1, op.layer] += size_bytes
        actions = PER_ELEMENT if op.function in classify.SOFTMAXES else PER_COMPARISON
        looks = op.elements * classify.passes(op.function, op.scaling)
        self._act("classifier", op, dict.fromkeys(actions, looks))

    def _act(self, name: str, op: Any, actions: Actions) -> None:
        acts = self._acts[name][getattr(op, "tiles", 0), op.layer]
        for action, count in actions.items():
            acts[action] += count

    _counters: ClassVar[Mapping[type, Callable[[_Counter, Any], None]]] = {
        Infeed: _count_infeed,
        Outfeed: _count_outfeed,
        Classify: _count_classify,
        TensorOp: _count_tensorop,
    }
    _movers: ClassVar[Mapping[type, Callable[[_Counter, Any, int], None]]] = {
        RingProduce: _count_ring_produce,
        MeshOut: _count_mesh_out,
        **dict.fromkeys((RingConsume, NarrowToWide, WideToNarrow, MeshIn), _count_accesses),
    }
    """Those of many instructions that are alike, at once."""


def _parts(program: Program, timing: Timing) -> list[Shares]:
    """When each request began, and what tiles did for its layers."""
    assert timing.run is not None
    assert timing.spent is not None
    assert timing.waits is not None
    events, ops = timing.run.events, (*program.load, *program.run)
    begins = {request.begins for request in program.requests if request.begins}
    first = [place for place, op in enumerate(ops) if op.label in begins] if begins else []
    issued = (events[:, 3] == len(Engine) + UNITS.index("controller")) & np.isin(events[:, 2], first)
    starts = [timing.start, *events[issued, 0].tolist()]
    who = np.stack([program.once(requests_of), program.once(layers_of)], axis=1)
    tile, op, cause, since, until = timing.waits.T
    waits = np.stack([tile, who[op, 1], cause, since, until], axis=1)
    spent, worked = np.roll(timing.spent.sum(axis=0), -1, axis=1), _worked(who, events)
    return [
        Shares(start, SHOWN, worked[worked[:, 0] == number, 1:], spent[number], waits[who[op, 0] == number])
        for number, start in enumerate(starts)
    ]


def _worked(who: Numbers, events: Numbers) -> Numbers:
    """A request's number, a tile, a layer, and from when to when the tile's tensor control worked for it. ``who`` are
    the number and the layer of each instruction.
    """
    of_tensor = (events[:, 3] == [*Engine].index(Engine.TENSOR)) & (events[:, 1] >= 0) & (events[:, 4] != ROSE)
    cycle, tile, op, _, what, _ = events[of_tensor].T
    rows = np.column_stack([who[op, 0], tile, who[op, 1]])
    span = rows.max(axis=0, initial=0) + 2  # layers begin at -1
    codes = (rows[:, 0] * span[1] + rows[:, 1]) * span[2] + rows[:, 2] + 1
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    start, end = np.full(len(first), NEVER), np.zeros(len(first), np.int64)
    np.minimum.at(start, which[what == BEGAN], cycle[what == BEGAN])
    np.maximum.at(end, which[what != BEGAN], cycle[what != BEGAN] + 1)
    return np.column_stack([rows[first], start, end])
