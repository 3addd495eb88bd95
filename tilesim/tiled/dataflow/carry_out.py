"""A program's outputs, from its inputs and what the core says of when things happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilesim.tiled.dataflow.cuts import in_order, pieces
from tilesim.tiled.dataflow.data_memory import DataMemory
from tilesim.tiled.dataflow.effects import Effects
from tilesim.tiled.dataflow.host import Host, HostRows, Received
from tilesim.tiled.dataflow.meetings import Meetings
from tilesim.tiled.dataflow.mesh import Meshes
from tilesim.tiled.dataflow.order import Order, Turn
from tilesim.tiled.dataflow.products import Products
from tilesim.tiled.dataflow.ring import RingRows
from tilesim.tiled.dataflow.sent import Sent
from tilesim.tiled.dataflow.stacks import Stacks
from tilesim.tiled.flat.readout import Timing, Watched
from tilesim.tiled.isa.model.program import Program
from tilesim.tiled.units.tensor.decoder import Decoder

if TYPE_CHECKING:
    from tilesim.tiled.dataflow.probing import Probing


def carried_out(
    program: Program,
    timing: Timing,
    host: Host,
    decoder: Decoder,
    products: Products,
    watched: Watched | None = None,
    probing: Probing | None = None,
) -> Received:
    """What reaches the ``host`` in a run that came to its end, all of whose steps are done; ``watched`` is told how far
    it is, and ``probing`` what has retired.

    Raises:
        Refused: an instruction takes a part of what another one sends, whose rest depends on it; or something is
            written when the probe reads it.
        AccessError: an address outside its memory.
    """
    topology, ops, watched = program.topology, (*program.load, *program.run), watched or Watched()
    assert timing.load is not None
    assert timing.run is not None
    assert timing.transfers is not None
    sent, mesh, meetings = Sent(host.samples), Meshes(program), probing.meetings if probing else Meetings(program)
    steps = zip(program.steps, host.tasks(lambda: ring), strict=True)
    rows = HostRows(host.rows, steps, topology.wide_memory.row_bytes)
    ring = RingRows(program, timing.transfers, DataMemory(program), rows, sent)
    stacks = Stacks(topology, host.samples)
    effects = Effects(ops, stacks, decoder, products, sent, mesh, ring)
    if probing:
        probing.attach(stacks)
    turns: list[Turn] = []
    """The order is worked out as a whole: among copies of large arrays that takes a fifth longer."""
    order = Order(meetings, turns.append, (len(ops), topology.tiles))
    for section in (timing.load, timing.run):
        events = in_order(section.events)
        if probing:
            probing.must_stand(events)
        mesh.hear(events)
        ring.hear(section.deliveries)
        senders = effects.senders()
        order.follow(pieces(events, meetings, senders), senders)
        for place, tiles, first, end in turns:
            watched.layer = max(watched.layer, ops[place].layer)
            effects.carry(place, tiles, first, end)
            if probing:
                probing.carried(place, tiles, end)
        turns.clear()
    rows.finish()
    return ring
