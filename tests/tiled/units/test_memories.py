"""The ports of a tile are as wide as the topology says, and every client has a rank of its own."""

from tests.tiled.units.bench import chip_of
from tilesim.tiled.isa.model.sheet import CLIENTS, PortName
from tilesim.tiled.units.memories import TileMemories


def test_the_ports_have_the_capacity_of_the_topology() -> None:
    memories = TileMemories("tile", chip_of(wide_memory={"ports": 2}), samples=3)
    free = {name: port.free(len(CLIENTS[name]) - 1, 0)[0] for name, port in memories.ports.items()}
    assert free == {PortName.WIDE: 2, PortName.NARROW_READ: 1, PortName.NARROW_WRITE: 1}
    assert memories.narrow.bytes.shape == (3, 192 * 1024)
    assert memories.wide.bytes.shape == (3, 512 * 1024)
