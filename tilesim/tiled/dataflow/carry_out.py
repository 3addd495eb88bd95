"""A program's outputs, from its inputs and what the core says of when things happened."""

from __future__ import annotations

from collections.abc import Sequence

from tilesim.sim.core.memory import Bytes, Memory, joined
from tilesim.tiled.dataflow.cuts import in_order, pieces
from tilesim.tiled.dataflow.effects import Effects
from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.dataflow.mesh import Meshes
from tilesim.tiled.dataflow.order import Order
from tilesim.tiled.dataflow.ring import RingRows, stacked
from tilesim.tiled.dataflow.sent import Sent
from tilesim.tiled.dataflow.stacks import Stacks
from tilesim.tiled.flat.readout import Timing
from tilesim.tiled.isa.model.instructions import Outfeed
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.units.tensor.decoder import Decoder


def carried_out(program: Program, timing: Timing, rows: Sequence[Bytes], samples: int, decoder: Decoder) -> list[Bytes]:
    """The bytes of each output, (samples or 1, bytes), of a run that came to its end; ``rows`` come from the host.

    Raises:
        Refused: an instruction takes a part of what another one sends, whose rest depends on it.
        AccessError: an address outside its memory.
    """
    topology, ops = program.topology, (*program.load, *program.run)
    assert timing.load is not None
    assert timing.run is not None
    assert timing.transfers is not None
    sent, mesh, meetings = Sent(samples), Meshes(ops, topology), Meetings(ops, topology)
    host = stacked(rows, topology.wide_memory.row_bytes)
    ring = RingRows(ops, topology, timing.transfers, _data_memory(program), host, sent)
    effects = Effects(ops, Stacks(topology, samples), decoder, sent, mesh, ring)
    turns: list[tuple[int, Sequence[int], int, int]] = []
    """The order is worked out as a whole: among copies of large arrays that takes a fifth longer."""
    order = Order(meetings, effects.needs, lambda *turn: turns.append(turn), (len(ops), topology.tiles))
    for section in (timing.load, timing.run):
        events = in_order(section.events)
        mesh.hear(events)
        ring.hear(section.deliveries)
        order.follow(pieces(events, meetings, effects.needs, effects.senders()))
        for turn in turns:
            effects.carry(*turn)
        turns.clear()
    return [_output(program, ring, number) for number in range(len(program.outputs))]


def _data_memory(program: Program) -> Memory:
    memory = Memory("chip.data_memory", program.topology.data_memory.size_bytes)
    for segment in program.data:
        memory.check(segment.address, segment.address + segment.data.size)
        memory.bytes[:, segment.address : segment.address + segment.data.size] = segment.data
    return memory


def _output(program: Program, ring: RingRows, number: int) -> Bytes:
    loads = len(program.load)
    places = [loads + k for k, op in enumerate(program.run) if isinstance(op, Outfeed) and op.output == number]
    rows = joined([ring.at_sink(place) for place in places])
    return rows.reshape(len(rows), -1)
