"""Who lets each unit of a chip go on, where it stalls for something that others have or bring.

A stall for a flag is not here: whoever raises the flag says so. Only the tail that passes a ring producer does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from tilesim.sim.core.unit import Reason
from tilesim.sim.trace.wakeups import WakeupSource
from tilesim.tiled.isa.model.fields import OPPOSITE, Engine, Side, channels_of, neighbour
from tilesim.tiled.isa.model.sheet import CLIENTS, CONSUMERS
from tilesim.tiled.topology import Topology

MAC_ARRAY = "mac_array"

Pairs = Iterator[tuple[str, Reason, WakeupSource]]


def wakeup_sources(topology: Topology, tracks: Collection[str]) -> dict[tuple[str, str], WakeupSource]:
    """By track, of those that there are, and kind of stall: on mesh and ring whoever is at the other end, for a port
    those who go first.
    """
    pairs = [*_host(topology), *_ring(topology), *_bus(topology)]
    for tile in range(topology.tiles):
        pairs += [*_mesh(topology, tile), *_ports(tile)]
    found = {}
    for name, reason, source in pairs:
        track = f"chip.{name}"
        if track in tracks:
            there = [*filter(tracks.__contains__, source.tracks)]
            found[track, reason.kind] = WakeupSource(there, source.holding)
    return found


def _with(*tracks: str) -> WakeupSource:
    return WakeupSource([f"chip.{track}" for track in tracks])


def _host(topology: Topology) -> Pairs:
    last = topology.tiles + 2
    yield "host.infeed", Reason.FIFO, _with("infeed")
    yield "host.infeed", Reason.HOST, _with("host.processor")
    yield "host.processor", Reason.FIFO, _with("host.outfeed")
    yield "infeed", Reason.HOST, _with("host.infeed")
    yield "controller", Reason.HOST, _with("host.infeed")
    yield "infeed", Reason.FIFO, _with("outfeed")
    yield "infeed", Reason.CREDIT, _with("ring.link0")
    yield "infeed", Reason.FLAG, _with(f"ring.link{last}")
    yield "outfeed", Reason.FIFO, _with(f"ring.link{last - 1}", "infeed")


def _ring(topology: Topology) -> Pairs:
    """Link k leaves node k: the infeed, then the tiles, the classifier, the outfeed."""
    consumers = [CONSUMERS[channel] for channel in channels_of(topology)]
    tiles = ([f"tile{k}.{consumer}" for consumer in consumers] for k in range(topology.tiles))
    takers = [[], *tiles, ["classifier"], ["outfeed"]]
    for node, here in enumerate(takers[1:]):
        yield f"ring.link{node}", Reason.CREDIT, _with(f"ring.link{node + 1}", *here)
    yield f"ring.link{len(takers) - 1}", Reason.CREDIT, _with("ring.link0")
    for tile in range(topology.tiles):
        for consumer in consumers:
            yield f"tile{tile}.{consumer}", Reason.FIFO, _with(f"ring.link{tile}")
        yield f"tile{tile}.ring_producer", Reason.CREDIT, _with(f"ring.link{tile + 1}")
        yield f"tile{tile}.ring_producer", Reason.FLAG, _with(f"ring.link{tile + 1}", f"ring.link{tile}")
    yield "classifier", Reason.FIFO, _with(f"ring.link{topology.tiles}")
    yield "classifier", Reason.CREDIT, _with(f"ring.link{topology.tiles + 1}")


def _bus(topology: Topology) -> Pairs:
    yield "controller", Reason.CREDIT, _with("instruction_bus.stop0")
    yield "controller", Reason.FIFO, _with("infeed", "outfeed")
    for stop in range(topology.tiles):
        yield f"instruction_bus.stop{stop}", Reason.CREDIT, _with(f"instruction_bus.stop{stop + 1}")


def _mesh(topology: Topology, tile: int) -> Pairs:
    for side in Side:
        other = neighbour(topology.grid, tile, side)
        if other is not None:
            receiver = _with(f"tile{other}.mesh_in_{OPPOSITE[side]}")
            yield f"tile{tile}.mesh_out_{side}", Reason.CREDIT, receiver
            yield f"mesh.tile{tile}.{side}", Reason.CREDIT, receiver
            yield f"tile{tile}.mesh_in_{side}", Reason.FIFO, _with(f"tile{other}.mesh_out_{OPPOSITE[side]}")


def _ports(tile: int) -> Pairs:
    for engine, others in _going_first().items():
        source = WakeupSource([f"chip.tile{tile}.{name}" for name in others], holding=True)
        yield f"tile{tile}.{engine}", Reason.PORT, source
        if engine is Engine.TENSOR:
            yield f"tile{tile}.{MAC_ARRAY}", Reason.PORT, source


@cache
def _going_first() -> Mapping[Engine, Sequence[str]]:
    """By engine, the others of its tile that go before it at a port."""
    clients = [[engine for _, engine in port] for port in CLIENTS.values()]
    found = {}
    for engine in dict.fromkeys(name for port in clients for name in port):
        before = [port[: len(port) - 1 - port[::-1].index(engine)] for port in clients if engine in port]
        found[engine] = [*dict.fromkeys(str(name) for port in before for name in port if name != engine)]
    return found
