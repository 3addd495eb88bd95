"""The buses of a systolic machine."""

from __future__ import annotations

from tilesim.machines.traffic import Bus
from tilesim.systolic.units.chip import Chip


def buses(chip: Chip) -> dict[str, Bus]:
    """The host's link for data, that of weight memory, the host's for instructions: as many bytes are carried as enter,
    for each has one link each way.
    """
    links = {
        "host": [chip.infeed, chip.outfeed],
        "weight_memory": [chip.weight_memory],
        "instructions": [chip.instructions],
    }
    return {name: Bus(units, units) for name, units in links.items()}
