"""The tensor traversal unit: loop counters in, addresses out.

A TTU keeps one counter a loop; all counters that roll over do so in the same cycle, and one address leaves a cycle.
In the adder form each counter holds an already multiplied number, which grows by a step, and an address is the base
plus a sum of counters. In the multiplier form it holds an index, which a multiplier turns into an offset on its way.

Source: US 19/025,090 [0038]-[0041], [0047]; US 9,875,100 (claim 1) for the multiplier form; US 10,248,908 (abstract)
for the alternate limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct, field

from tilesim.sim.core.memory import Places
from tilesim.tiled.isa.model.fields import Nest, Reference, Traversal
from tilesim.tiled.isa.model.loops import Indices, addresses, multiplied
from tilesim.tiled.topology import Tile

INSTRUCTIONS = 16384
"""How many are kept, and then all forgotten: many more than are on their way at any time."""


def stepped(bound: int, stride: int) -> Indices:
    """What a loop adds to the address, each time, in the adder form: a counter that begins at 0 and grows by a step."""
    counter = np.full(bound, stride, np.int64)
    counter[0] = 0
    return np.add.accumulate(counter)


FORMS: Mapping[str, Callable[[int, int], Indices]] = {"adder": stepped, "multiplier": multiplied}
"""How a loop's part of the address comes about, by the name that a topology has for it: both give the same."""


class TraversalForm(Struct, frozen=True):
    """How the TTUs of all tiles are built, and what they have last made of a DMA's traversals.

    Timing: one address a cycle; a multiplier's products pass through ``tile.multiplier_cycles`` registers, so that the
    first address of each instruction comes as many cycles after the instruction, while flags may already be waited for;
    an adder's is there at once. Source: assumption.
    """

    tile: Tile
    _places: dict[tuple[int, int, int], tuple[Traversal, Places]] = field(default_factory=dict)
    _alike: dict[tuple[Traversal, int, int], Places] = field(default_factory=dict)

    @property
    def fill_cycles(self) -> int:
        """Cycles from an instruction to its first address."""
        return self.tile.multiplier_cycles if self.tile.traversal == "multiplier" else 0

    def addresses(self, nest: Nest, reference: Reference) -> Indices:
        """The address stream of ``reference``."""
        return addresses(nest, reference, FORMS[self.tile.traversal])

    def places(self, traversal: Traversal, access_bytes: int, parts: int = 1) -> Places:
        """Where a DMA's accesses go, each taken as so many equal ``parts``."""
        key = id(traversal), access_bytes, parts
        known = self._places.get(key)
        if known is not None:  # with its traversal, so that no other one has its id
            return known[1]
        if len(self._places) >= INSTRUCTIONS:
            self._places.clear()
            self._alike.clear()
        same = traversal, access_bytes, parts
        places = self._alike.get(same)
        if places is None:
            addresses = self.addresses(traversal.nest, traversal.reference)
            if parts > 1:
                addresses = (addresses[:, None] + np.arange(parts) * (access_bytes // parts)).reshape(-1)
            places = self._alike[same] = Places(addresses, access_bytes // parts)
        self._places[key] = traversal, places
        return places
